"""What the wire of an API is to the server of a model: its routes and its frames."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

from gshtui.programs.check.model_answers import ModelAnswer
from gshtui.system.json_types import obj


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
