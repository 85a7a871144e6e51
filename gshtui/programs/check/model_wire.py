"""What a model on this machine answers, in words that know no API; and what the wire of an API is to its server."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gshtui.system.json_types import obj


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


class WireFrame(msgspec.Struct, frozen=True):
    """Some bytes of the answer; `delta` says whether they count as one for pacing and faults."""

    data: bytes
    delta: bool = False


class ModelWire(Protocol):
    """One API."""

    content_type: str

    def route(self, method: str, path: str) -> str:
        """`chat`, `models`, `count`, `show`, or nothing for a path that the API does not have."""
        ...

    def model(self, path: str, body: object) -> str:
        """The model that is asked for."""
        ...

    def frames(self, answer: ModelAnswer, model: str, chunk: int) -> Iterator[WireFrame]:
        """The whole answer."""
        ...

    def other(self, kind: str, models: list[str], body: object) -> object:
        """The body for a route that is not `chat`."""
        ...


class PlainWire:
    """What most of them have alike: their routes by method and path, and the model's name in the body."""

    content_type = "text/event-stream; charset=utf-8"
    ROUTES: Mapping[str, str] = {}

    def route(self, method: str, path: str) -> str:
        return self.ROUTES.get(f"{method} {path}", "")

    def model(self, path: str, body: object) -> str:
        return str(obj(body).get("model", ""))


def dumps(data: object) -> bytes:
    """JSON; surrogates stay escapes, as servers send them."""
    return json.dumps(data).encode()


def sse(data: object, event: str = "") -> bytes:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def sign(api: str, text: str) -> str:
    """The signature that only this server accepts, and only for this text."""
    return base64.b64encode(f"{api}:{hashlib.sha256(text.encode()).hexdigest()[:24]}".encode()).decode()
