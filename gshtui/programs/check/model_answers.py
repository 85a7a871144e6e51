"""What a model on this machine answers, in words that know no API. An answer is a list of steps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec


class AnswerStep(msgspec.Struct, frozen=True):
    """A piece of an answer."""


class Utterance(AnswerStep, frozen=True):
    """Words."""

    text: str


class Reasoning(AnswerStep, frozen=True):
    """Reasoning; signed where the API signs it."""

    text: str
    signed: bool = True


class ToolUse(AnswerStep, frozen=True):
    """A tool call. Several in a row are parallel. `raw` is sent in place of the arguments' JSON."""

    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    id: str = ""
    raw: str | None = None
    namespace: str = ""
    """The group that its tool is in, for the API that has groups of tools."""

    @property
    def json(self) -> str:
        """Its arguments as they are sent."""
        return json.dumps(self.arguments) if self.raw is None else self.raw


class TokenUse(AnswerStep, frozen=True):
    """Usage by our count: `input` leaves the cache out, `output` includes the reasoning."""

    input: int = 10
    output: int = 5
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def sent(self) -> int:
        """All that was sent, as the APIs count it that do not leave the cache out."""
        return self.input + self.cache_read + self.cache_write


class AnswerEnd(AnswerStep, frozen=True):
    """How the answer ends when not as usual: `max_tokens` or `refusal`."""

    why: str


ModelAnswer = Sequence[AnswerStep]


def spent(answer: ModelAnswer) -> TokenUse:
    """The usage that the answer tells of."""
    return next((step for step in answer if isinstance(step, TokenUse)), TokenUse())


def end(answer: ModelAnswer) -> str:
    """`end`, `tool_use`, `max_tokens` or `refusal`."""
    for step in answer:
        if isinstance(step, AnswerEnd):
            return step.why
    return "tool_use" if any(isinstance(step, ToolUse) for step in answer) else "end"


def pieces(text: str, size: int) -> list[str]:
    """The text as it is streamed."""
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]
