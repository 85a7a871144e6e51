"""Builds an answer: takes pieces, gives deltas and, at the end, one `Completed`.

Turns streamed pieces into blocks, and decides when a tool call is broken, and when an answer is longer than any model
means. Knows no API: each adapter names pieces by its own keys. Never guesses arguments: anything but a complete JSON
object is kept as plain text.

Reasoning that a server leaves in the text of an answer, between tags such as `<think>`: only what opens an answer is
taken for a tag: a model that writes about tags further on is quoted as it is.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Hashable
from typing import Any, Literal, cast

import msgspec

from gshtui.bus.messages import Block, Message, Stop, Text, Thinking, ToolCall, Usage
from gshtui.providers.port import CallPart, Completed, Delta, TextPart, ThinkingPart
from gshtui.providers.wire.provider_errors import ErrorOrigin, endless
from gshtui.providers.wire.wire_text import Joiner, ToolNames, data
from gshtui.system.ids import new_id

TAGS = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "[THINK]": "[/THINK]",
}


class TaggedThoughts:
    """Splits the text of one answer as it comes, wherever the pieces are cut."""

    def __init__(self) -> None:
        self._held = ""
        """Text that may still become a tag."""
        self._close = ""
        """The tag that ends the reasoning; empty: this is none."""
        self._open = True
        """A tag may begin here."""
        self._fresh = False
        """Nothing of the reasoning has come: the line end behind its tag is not part of it."""
        self._trim = False
        """Blank lines after the reasoning are not part of the text."""

    def split(self, words: str) -> list[tuple[bool, str]]:
        """(it is reasoning, the words) of what is known by now."""
        text, self._held = self._held + words, ""
        out: list[tuple[bool, str]] = []
        while text:
            if self._close:
                text = self._inside(text, out)
            elif self._open:
                text = self._before(text, out)
            else:
                out.append((False, text))
                break
        return out

    def rest(self) -> list[tuple[bool, str]]:
        """What was held back and never became a tag."""
        held, self._held = self._held, ""
        return [(bool(self._close), held)] if held.strip() or (held and not self._trim) else []

    def _inside(self, text: str, out: list[tuple[bool, str]]) -> str:
        if self._fresh and not (text := text.lstrip("\n")):
            return ""
        self._fresh = False
        thought, found, after = text.partition(self._close)
        if found:
            if thought:
                out.append((True, thought))
            self._close, self._trim = "", True
            return after
        keep = _overlap(text, self._close)
        self._held = text[len(text) - keep :]
        if len(text) > keep:
            out.append((True, text[: len(text) - keep]))
        return ""

    def _before(self, text: str, out: list[tuple[bool, str]]) -> str:
        start = text.lstrip()
        if tag := next((tag for tag in TAGS if start.startswith(tag)), ""):
            self._close, self._fresh = TAGS[tag], True
            return start[len(tag) :]
        if any(tag.startswith(start) for tag in TAGS):  # also where nothing but blanks has come
            self._held = text
            return ""
        self._open = False
        out.append((False, start if self._trim else text))
        return ""


def _overlap(text: str, tag: str) -> int:
    """How many of the last characters may be the beginning of the tag."""
    return next((size for size in range(min(len(text), len(tag) - 1), 0, -1) if text.endswith(tag[:size])), 0)


LARGEST = 2**63
LONGEST = 4_000_000
"""Characters of an answer that no model is meant to have, unless its own maximum of tokens is for more."""
_PER_TOKEN = 32
"""Characters of one token, at the very most over a whole answer."""


def parse_arguments(raw: str) -> tuple[dict[str, Any], str]:
    """The arguments of a call and, if the text is not a JSON object that can be stored, that text."""
    if raw.strip() in ("", "null"):
        return {}, ""
    try:
        value: Any = _value(raw)
        if isinstance(value, str):  # some servers encode it twice
            value = _value(value) if value.strip() else {}
    except (ValueError, RecursionError):
        return {}, raw
    if not isinstance(value, dict):
        return {}, raw
    return cast("dict[str, Any]", data(value)), ""


def _value(raw: str) -> Any:
    return json.loads(raw, parse_constant=_refuse, parse_int=_integer, parse_float=_number)


def is_object(raw: str) -> bool:
    """Whether the text is one whole JSON object."""
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _integer(text: str) -> int:
    value = int(text)
    if abs(value) >= LARGEST:
        raise ValueError("a number too large to be stored")
    return value


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number too large to be stored")
    return value


class _Piece(msgspec.Struct):
    kind: Literal["text", "thinking", "call"]
    index: int
    text: list[str] = msgspec.field(default_factory=list[str])
    joiner: Joiner = msgspec.field(default_factory=Joiner)
    call_id: str = ""
    name: str = ""
    opaque: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class AnswerBuilder:
    """Collects one answer. Every method that takes a piece returns the deltas to show for it.

    Args:
        provider: the provider's name, for the message.
        api: the key for data that only this API can read again.
        names: restores the tools' own names.
        origin: whose answer it is, for the sentence that it has no end.
        most: the model's maximum in tokens.
        tagged: the server may put reasoning into the text, between tags such as `<think>`.
    """

    def __init__(
        self,
        *,
        provider: str,
        api: str,
        model: str,
        names: ToolNames,
        origin: ErrorOrigin,
        most: int = 0,
        tagged: bool = False,
    ) -> None:
        self._provider = provider
        self._origin = origin
        self._left = max(LONGEST, most * _PER_TOKEN)
        self._thoughts = TaggedThoughts() if tagged else None
        self._raw: dict[Hashable, list[str]] = {}
        """Text as it came, with its tags."""
        self._api = api
        self._model = model
        self._names = names
        self._pieces: dict[Hashable, _Piece] = {}

    @property
    def empty(self) -> bool:
        return not self._pieces

    def _piece(self, key: Hashable, kind: Literal["text", "thinking", "call"]) -> _Piece:
        piece = self._pieces.get(key)
        if piece is None:
            piece = self._pieces[key] = _Piece(kind, len(self._pieces))
        return piece

    def add_text(self, key: Hashable, words: str) -> list[Delta]:
        """Add a piece of text. Reasoning between tags becomes a piece of its own."""
        if self._thoughts is None or not words:
            return self._text(key, words)
        self._raw.setdefault(key, []).append(words)
        out: list[Delta] = []
        for thought, part in self._thoughts.split(words):
            out += self.add_thinking((key, "tagged"), part) if thought else self._text(key, part)
        return out

    def _text(self, key: Hashable, words: str) -> list[Delta]:
        piece = self._piece(key, "text")
        shown = piece.joiner.feed(words)
        self._count(words)
        piece.text.append(shown)
        return [TextPart(shown)] if shown else []

    def _count(self, words: str) -> None:
        """Raises `ProviderError` (`garbage`) where this is longer than any answer."""
        self._left -= len(words)
        if self._left < 0:
            raise endless(self._origin)

    def add_thinking(self, key: Hashable, words: str) -> list[Delta]:
        piece = self._piece(key, "thinking")
        self._count(words)
        shown = piece.joiner.feed(words)
        piece.text.append(shown)
        return [ThinkingPart(shown)] if shown else []

    def add_call(self, key: Hashable, *, call_id: str = "", name: str = "") -> list[Delta]:
        """A tool call begins, or its id or name becomes known."""
        new = key not in self._pieces
        piece = self._piece(key, "call")
        piece.call_id = piece.call_id or call_id
        before = piece.name
        piece.name = self._named(before, name)
        if new or piece.name != before:
            return [CallPart(piece.index, name=self._names.from_wire(piece.name))]
        return []

    def _named(self, before: str, more: str) -> str:
        """A call's name with more of it: some servers send it in pieces, others again with each piece."""
        if not before or more.startswith(before):
            return more or before
        whole = before + more
        return whole if self._names.knows(whole) or not self._names.knows(before) else before

    def is_whole(self, key: Hashable) -> bool:
        """Whether the call has arguments, and they are one whole object."""
        piece = self._pieces.get(key)
        return piece is not None and is_object("".join(piece.text))

    def needs_name(self, key: Hashable) -> bool:
        """Whether the call's name, as far as it has come, is none of a tool."""
        piece = self._pieces.get(key)
        return piece is not None and not self._names.knows(piece.name)

    def add_arguments(self, key: Hashable, more: str) -> list[Delta]:
        """More of a call's JSON text."""
        piece = self._piece(key, "call")
        self._count(more)
        piece.text.append(more)
        return [CallPart(piece.index, arguments=data(more))] if more else []

    def set_call(self, key: Hashable, text: str) -> list[Delta]:
        """Set a whole piece at once. It replaces what arrived in parts, and is shown if nothing had arrived."""
        piece = self._pieces[key]
        if self._thoughts is not None and piece.kind == "text":
            raw = "".join(self._raw.get(key, ()))
            return [] if raw else self.add_text(key, text)
        if "".join(piece.text) == text:
            return []
        fresh = not any(piece.text)
        piece.text = [text] if piece.kind == "call" else [data(text)]
        piece.joiner = Joiner()
        if not fresh:
            return []
        match piece.kind:
            case "text":
                return [TextPart(piece.text[0])]
            case "thinking":
                return [ThinkingPart(piece.text[0])]
            case "call":
                return [CallPart(piece.index, arguments=data(text))]

    def set_opaque(self, key: Hashable, kind: Literal["text", "thinking", "call"], opaque: Any) -> None:
        """What the provider needs back with this piece."""
        self._piece(key, kind).opaque = {self._api: opaque}

    def finish(self, stop: Stop, usage: Usage) -> Completed:
        """The whole answer. A call that was cut off by a limit is broken, also where nothing of it had come."""
        if self._thoughts is not None:
            for thought, rest in self._thoughts.rest():
                key = next((k for k, p in reversed(self._pieces.items()) if p.kind == "text"), "rest")
                _ = self.add_thinking((key, "tagged"), rest) if thought else self._text(key, rest)
        cut = stop in ("max_tokens", "context")
        seen: set[str] = set()
        pieces = list(self._pieces.values())
        blocks = [self._block(piece, seen, cut=cut and piece is pieces[-1]) for piece in pieces]
        kept = tuple(block for block in blocks if block is not None)
        if stop == "end" and any(isinstance(block, ToolCall) for block in kept):
            stop = "tool_use"
        message = Message(
            id=new_id(),
            role="assistant",
            blocks=kept,
            at=time.time(),
            provider=self._provider,
            model=self._model,
            stop=stop,
            usage=usage,
        )
        return Completed(message, stop, usage)

    def _block(self, piece: _Piece, seen: set[str], *, cut: bool) -> Block | None:
        words = "".join(piece.text)
        if piece.kind != "call":
            words += piece.joiner.rest()
            if not words and not piece.opaque:
                return None
            kind = Text if piece.kind == "text" else Thinking
            return kind(words, data(piece.opaque))
        arguments, broken = parse_arguments(words)
        if not broken and (not piece.name or (cut and not words)):
            broken = words or "(nothing arrived)"
        call_id = piece.call_id
        if not call_id or call_id in seen:
            call_id = f"call_{new_id()}"
        seen.add(call_id)
        name = self._names.from_wire(piece.name)
        return ToolCall(call_id, name, {} if broken else arguments, data(broken), data(piece.opaque))
