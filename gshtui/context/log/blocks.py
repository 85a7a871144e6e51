"""Makes blocks of what is sent: id, source for people, tokens, hash of the text. Pure.

Decides what the block of a message, a tool or a passage is called and which text represents it, and estimates its
tokens: bytes / 4 plus 4 per message, corrected once a provider has counted. Called by the log and the assembly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from gshtui.bus.context_data import Block, BlockKind, Change, SectionName
from gshtui.bus.messages import (
    Audio,
    Document,
    Image,
    Medium,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)
from gshtui.bus.messages import Block as Part
from gshtui.media import media_files
from gshtui.media.media_tokens import ANY_MODEL, MediaRule
from gshtui.providers.port import ToolSpec, estimate

MESSAGE_TOKENS = 4
_LEAST, _MOST = 0.25, 6.0
"""Bounds of a correction: beyond them the provider counts something else (nothing at all, a whole conversation)."""


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def text_tokens(text: str) -> int:
    return estimate(size_of(text))


def block_tokens(block: Part, rule: MediaRule = ANY_MODEL) -> int:
    """The estimate for a block of a message. `rule`: how its model takes pictures, documents and sounds."""
    match block:
        case Text(text) | Thinking(text):
            return text_tokens(text)
        case ToolCall():
            return text_tokens(block.name) + text_tokens(str(block.arguments)) + text_tokens(block.broken)
        case ToolResult():
            return text_tokens(block.content)
        case Image() | Document() | Audio():
            return rule.tokens(block)


class Correction(msgspec.Struct):
    """How an agent's estimates compare with what its provider counts for the same requests.

    Only the newest request decides: its content was counted exactly, and only later content is estimated.
    """

    model: str = ""
    ratio: float = 1.0
    _off: float = 0.0
    _counted: int = 0

    def note(self, model: str, estimated: int, usage: Usage) -> None:
        """A request of `estimated` tokens was counted by its provider."""
        sent = usage.input + usage.cache_read + usage.cache_write
        if sent <= 0 or estimated <= 0:
            return
        ratio = sent / estimated
        if not _LEAST <= ratio <= _MOST:
            return
        self.model, self.ratio = model, ratio
        self._off += abs(estimated - sent)
        self._counted += sent

    def expected(self, model: str, estimated: int) -> int:
        """The estimate as the provider would count it; unchanged for a model without counts so far."""
        return round(estimated * self.ratio) if model == self.model else estimated

    @property
    def error(self) -> float | None:
        """Mean error of the plain estimate so far, as a fraction of what was counted; `None` before the first count."""
        return self._off / self._counted if self._counted else None


_SUBJECTS = ("path", "file", "file_path", "command", "pattern", "query", "url", "name", "agent", "key")
_PATHS = ("path", "file", "file_path")
_SUBJECT_LENGTH = 120
_sorted = msgspec.json.Encoder(order="deterministic")
_as_given = msgspec.json.Encoder()


class Passage(msgspec.Struct, frozen=True):
    """A text for the system, call or memory section, from a contributor."""

    section: SectionName
    source: str
    text: str
    path: str = ""
    kind: BlockKind = "system"
    needs: str = ""
    """The tool without which the text is useless."""


def hash_of(text: str) -> str:
    """The key of a text: 32 hexadecimal digits."""
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).hexdigest()


def text_of(part: Part) -> str:
    """The inspector's text for a part of a message: its text, a call's JSON, or a description of anything else."""
    match part:
        case Text(text) | Thinking(text):
            return text
        case ToolCall():
            return part.broken or _json({"name": part.name, "arguments": part.arguments})
        case ToolResult():
            return part.content
        case Image() | Document() | Audio():
            return _described(part)


def _described(part: Medium) -> str:
    """A picture, document or sound: what it is, its size, and which one."""
    key = part.key or hashlib.blake2b(part.data.encode(errors="replace"), digest_size=8).hexdigest()
    what, size = "document", ""
    if isinstance(part, Image):
        what, size = "image", f"{part.width} × {part.height} pixels, " if part.width else ""
    elif isinstance(part, Audio):
        what, size = "sound", f"{part.seconds:.0f} s, " if part.seconds else ""
    elif part.pages:
        size = f"{part.pages} page{'s' if part.pages > 1 else ''}, "
    words = f"[{what} {part.name or part.media_type}, {size}{media_files.size(part):,} bytes, {key}]"
    return f"{words}\n({part.note})" if part.note else words


def tool_text(spec: ToolSpec) -> str:
    """A tool as described to a model, in the order of its schema, so that the same text can be sent again."""
    return _json({"name": spec.name, "description": spec.description, "schema": spec.schema}, _as_given)


def _json(value: Any, encoder: msgspec.json.Encoder = _sorted) -> str:
    try:
        return encoder.encode(value).decode()
    except (TypeError, UnicodeEncodeError):
        return str(value)


def subject_of(call: ToolCall) -> str:
    """The argument that best describes a call to people, on one line."""
    for name in _SUBJECTS:
        if isinstance(value := call.arguments.get(name), str) and value:
            return _line(value)
    return _line(next((str(v) for v in call.arguments.values() if isinstance(v, str | int) and v), ""))


def _line(text: str) -> str:
    first = " ".join(text[: 4 * _SUBJECT_LENGTH].split())
    return first if len(first) <= _SUBJECT_LENGTH else first[: _SUBJECT_LENGTH - 1] + "…"


def path_of(call: ToolCall) -> str:
    """The file that a call names, if it names one."""
    return next((value for name in _PATHS if isinstance(value := call.arguments.get(name), str)), "")


def speaker(message: Message) -> str:
    if message.role == "user":
        return "you" if message.agent in ("", "person") else message.agent
    return message.agent or "agent"


def message_blocks(message: Message, calls: Mapping[str, ToolCall], rule: MediaRule = ANY_MODEL) -> tuple[Block, ...]:
    """The blocks of a message as logged. `calls`: the calls that its results answer, by id; `rule` as of the model."""
    return tuple(block_of(message, number, part, calls, rule) for number, part in enumerate(message.blocks))


def block_of(
    message: Message, number: int, part: Part, calls: Mapping[str, ToolCall], rule: MediaRule = ANY_MODEL
) -> Block:
    """One block of a message. The 4 tokens of a message are in its first."""
    kind: BlockKind
    source, call, path, changes = speaker(message), "", "", ()
    match part:
        case Text():
            kind = "text"
        case Thinking():
            kind = "thinking"
        case ToolCall():
            kind, call, path = "tool_call", part.id, path_of(part)
            source = f"{part.name} {subject_of(part)}".strip()
        case ToolResult():
            kind, call = "tool_result", part.call_id
            made = calls.get(part.call_id)
            source = f"{part.name} {subject_of(made)}".strip() if made else part.name
            path = path_of(made) if made else ""
            if part.output and part.bytes:
                changes = (Change("truncated", before=estimate(part.bytes), after=text_tokens(part.content)),)
        case Image() | Document() | Audio():
            kind = "image" if isinstance(part, Image) else "audio" if isinstance(part, Audio) else "document"
            source = part.name or source
    return Block(
        id=f"{message.id}/{number}",
        section="history",
        kind=kind,
        source=source,
        tokens=block_tokens(part, rule) + (0 if number else MESSAGE_TOKENS),
        hash=hash_of(text_of(part)),
        at=message.at,
        message=message.id,
        call=call,
        turn=message.turn,
        iteration=message.iteration,
        path=path,
        changes=changes,
        role=message.role,
        picture=part if isinstance(part, Image) and part.key else None,
    )


def passage_block(number: int, passage: Passage) -> Block:
    """The block of a passage. `number` counts those of its section."""
    return Block(
        id=f"{passage.section}/{passage.path or number}",
        section=passage.section,
        kind=passage.kind,
        source=passage.source,
        tokens=text_tokens(passage.text),
        hash=hash_of(passage.text),
        path=passage.path,
    )


def tool_block(spec: ToolSpec) -> Block:
    """The block of a tool's declaration."""
    text = tool_text(spec)
    return Block(
        id=f"tool/{spec.name}",
        section="tools",
        kind="tool",
        source=spec.name,
        tokens=text_tokens(text),
        hash=hash_of(text),
    )
