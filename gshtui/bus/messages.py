"""The conversation's vocabulary: messages made of typed blocks, independent of any provider.

Provider adapters convert to and from these; the store keeps them as JSON; panes render them. What only one provider
can read again (a signed thought, an encrypted reasoning item) goes in `opaque` under that provider's name; other
providers ignore it, so a conversation can change providers midway.
"""

from __future__ import annotations

import base64
import time
from typing import Any, Literal

import msgspec

Role = Literal["user", "assistant", "tool"]
ResultStatus = Literal["ok", "error", "denied", "cancelled", "timeout", "lost"]
"""How a tool call ended. `lost`: the process died while it ran, and resuming closed the call."""
Stop = Literal["end", "tool_use", "max_tokens", "refusal", "context", "interrupted", "error", "max_iterations"]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens of one model request. `input` excludes tokens read from or written to the prompt cache."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    """The part of `output` spent on thinking, if the provider reports it."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )

    @property
    def context(self) -> int:
        """Tokens that this request put into the model's window: input and output."""
        return self.input + self.cache_read + self.cache_write + self.output


class Text(msgspec.Struct, frozen=True, tag="text", omit_defaults=True):
    """Text of a prompt or an answer, as Markdown."""

    text: str
    opaque: dict[str, Any] = {}
    """Provider name → what that provider needs back unchanged (a signature, the phase of the answer)."""
    named: str = ""
    """What a prompt named with `@`, of which this is the text; empty: these are somebody's own words."""


class Thinking(msgspec.Struct, frozen=True, tag="thinking", omit_defaults=True):
    """A model's reasoning, as far as its provider shows it."""

    text: str
    opaque: dict[str, Any] = {}
    """Provider name → what that provider needs back unchanged (signature, encrypted content)."""


class Image(msgspec.Struct, frozen=True, tag="image", omit_defaults=True):
    """A picture. Its bytes are kept under `key` (`media/media_files.py`), or are in `data`, base64-encoded."""

    media_type: str
    data: str
    name: str = ""
    key: str = ""
    bytes: int = 0
    width: int = 0
    """Pixels; 0: unknown."""
    height: int = 0
    small: str = ""
    """Key of a small copy for people: three bytes a pixel, row by row, packed by zlib."""
    columns: int = 0
    """Pixels of a row of the small copy."""
    note: str = ""
    """What was done to it before it was sent, as a sentence."""


class Document(msgspec.Struct, frozen=True, tag="document", omit_defaults=True):
    """A document such as a PDF, kept as an `Image` is."""

    media_type: str
    data: str
    name: str = ""
    key: str = ""
    bytes: int = 0
    pages: int = 0
    text: str = ""
    """Key of its text, for models that cannot read the document itself."""
    text_bytes: int = 0
    note: str = ""


class Audio(msgspec.Struct, frozen=True, tag="audio", omit_defaults=True):
    """A sound, kept as an `Image` is."""

    media_type: str
    data: str
    name: str = ""
    key: str = ""
    bytes: int = 0
    seconds: float = 0.0
    """Its length; 0: unknown."""
    note: str = ""


class ToolCall(msgspec.Struct, frozen=True, tag="tool_call", omit_defaults=True):
    """A model's request to run a command. Never run if `broken` is set: its arguments arrived incomplete."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    broken: str = ""
    """The raw argument text, if it was cut off or is not a JSON object."""
    opaque: dict[str, Any] = {}


class Picture(msgspec.Struct, frozen=True, omit_defaults=True):
    """A still picture that a call has drawn, for people; not sent to the model."""

    title: str
    key: str
    """Of the PNG in the store, as `png_text` writes it; empty: it could not be kept."""
    width: int
    """Pixels."""
    height: int
    bytes: int
    """Of the PNG."""
    columns: int = 0
    """Of the small copy in `colours`."""
    colours: str = ""
    """A small copy: three bytes a pixel, row by row, packed by zlib, base64-encoded; empty: there is none."""


PNG_TEXT = "data:image/png;base64,"
"""What the text of a picture in the store begins with."""


def png_text(data: bytes) -> str:
    """A PNG as the store keeps it among the outputs of calls."""
    return PNG_TEXT + base64.b64encode(data).decode()


class ToolResult(msgspec.Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """The one result of a tool call."""

    call_id: str
    name: str
    content: str
    status: ResultStatus = "ok"
    duration: float = 0.0
    """Seconds."""
    bytes: int = 0
    """Size of the full output, even if `content` is shortened."""
    output: str = ""
    """Key of the full output in the store, if `content` is shortened."""
    diff: str = ""
    """Unified diff of what the call changed, for people; not sent to the model."""
    sandboxed: bool = False
    """It ran in the sandbox."""
    pictures: tuple[Picture, ...] = ()
    """What the call has drawn."""
    reads: bool = False
    """The guard judged that the command only reads the project."""


Medium = Image | Document | Audio
"""What accompanies a prompt."""
Block = Text | Thinking | Image | Document | Audio | ToolCall | ToolResult


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry of the append-only conversation. A `tool` message holds the results for the assistant message before
    it.
    """

    id: str
    role: Role
    blocks: tuple[Block, ...]
    at: float = 0.0
    """Seconds since the epoch; for display only. The log defines the order."""
    agent: str = ""
    turn: str = ""
    iteration: int = 0
    provider: str = ""
    model: str = ""
    stop: str = ""
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """The words of the message, without thinking, tools and what a prompt named."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Text) and not block.named)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolCall))

    @property
    def results(self) -> tuple[ToolResult, ...]:
        return tuple(block for block in self.blocks if isinstance(block, ToolResult))


def user_message(text: str, *, id: str, turn: str = "", extra: tuple[Block, ...] = ()) -> Message:
    return Message(id=id, role="user", blocks=(Text(text), *extra), at=time.time(), turn=turn)
