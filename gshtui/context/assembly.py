"""Assembly: what one iteration sends, a pure function of log, tools and settings, in the order of DESIGN §6.

This is where prune and compact will stand before the history (they come with `gshtui/context`); until then the
history goes out whole, and a model whose window is too small says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gshtui.bus.events.agent import SectionSize
from gshtui.bus.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.context.pairing import paired
from gshtui.providers.port import Request, ToolSpec, estimate

_IMAGE_TOKENS = 1_500
"""A picture's usual price in tokens; providers resize what is larger."""


@dataclass(frozen=True, slots=True)
class Assembly:
    """A request, and the sizes of its sections by the house's estimate."""

    request: Request
    sections: tuple[SectionSize, ...]

    @property
    def tokens(self) -> int:
        return sum(section.tokens for section in self.sections)


class Meter:
    """Estimates messages once each: they never change, so a long history costs only what is new."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}

    def tokens(self, message: Message) -> int:
        """Estimated tokens of one message."""
        key = f"{message.id}:{len(message.blocks)}"
        if (known := self._sizes.get(key)) is None:
            known = self._sizes[key] = message_tokens(message)
        return known


def message_tokens(message: Message) -> int:
    """The estimate: bytes / 4 of what the model reads, and 4 for the message."""
    tokens, size = 4, 0
    for block in message.blocks:
        match block:
            case Text(text) | Thinking(text):
                size += len(text.encode(errors="replace"))
            case ToolCall():
                size += len(block.name) + len(str(block.arguments)) + len(block.broken)
            case ToolResult():
                size += len(block.content.encode(errors="replace"))
            case Image():
                tokens += _IMAGE_TOKENS
            case Document():
                size += len(block.data) * 3 // 4
    return tokens + estimate(size)


def assemble(
    *,
    model: str,
    system: tuple[str, ...],
    tools: tuple[ToolSpec, ...],
    messages: Sequence[Message],
    turn: str,
    meter: Meter,
    max_output: int = 0,
) -> Assembly:
    """One request: system · tools · history · input. Everything of the turn in progress is the input section."""
    sendable = paired(messages)
    history = sum(meter.tokens(m) for m in sendable if m.turn != turn or not turn)
    whole = sum(meter.tokens(m) for m in sendable)
    sections = (
        SectionSize("system", sum(estimate(len(block.encode())) for block in system)),
        SectionSize("tools", sum(estimate(len(t.name) + len(t.description) + len(str(t.schema))) for t in tools)),
        SectionSize("history", history),
        SectionSize("input", whole - history),
    )
    return Assembly(Request(model, system, sendable, tools, max_output), sections)
