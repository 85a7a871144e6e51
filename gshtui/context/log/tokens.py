"""Tokens: our estimate for every block, corrected by the provider's count.

Pure. Defines the rule of bytes / 4 plus 4 per message; corrects nothing until a provider has counted. Called by the
assembly and the engine.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.messages import Audio, Block, Document, Image, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.media.media_tokens import ANY_MODEL, MediaRule
from gshtui.providers.port import estimate

MESSAGE_TOKENS = 4
_LEAST, _MOST = 0.25, 6.0
"""Bounds of a correction: beyond them the provider counts something else (nothing at all, a whole conversation)."""


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def text_tokens(text: str) -> int:
    return estimate(size_of(text))


def block_tokens(block: Block, rule: MediaRule = ANY_MODEL) -> int:
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
