"""What an API's room has to tell the server: its routes, its frames, its refusals, its checks."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tests.kit.loopback.script import Answer, Fault


class Refused(Exception):
    """The request breaks a rule of the API."""


@dataclass(frozen=True, slots=True)
class Frame:
    """Some bytes of the answer; `delta` says whether they count as one for pacing and faults."""

    data: bytes
    delta: bool = False


class Speech(Protocol):
    """One API."""

    content_type: str

    def route(self, method: str, path: str) -> str:
        """`chat`, `models`, `count`, `show`, or nothing for a path that the API does not have."""
        ...

    def model(self, path: str, body: Any) -> str:
        """The model that is asked for."""
        ...

    def key(self, headers: dict[str, str]) -> str:
        """The key that came along."""
        ...

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        """Raises `Refused`."""
        ...

    def frames(self, answer: Answer, model: str, chunk: int) -> Iterator[Frame]:
        """The whole answer."""
        ...

    def trouble(self) -> bytes:
        """An error within the answer: overloaded."""
        ...

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body for a fault."""
        ...

    def other(self, kind: str, models: list[str], body: Any) -> Any:
        """The body for a route that is not `chat`."""
        ...


def dumps(data: Any) -> bytes:
    """JSON; surrogates stay escapes, as servers send them."""
    return json.dumps(data).encode()


def sse(data: Any, event: str = "") -> bytes:
    """A server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def sign(api: str, text: str) -> str:
    """The signature that only this server accepts, and only for this text."""
    return base64.b64encode(f"{api}:{hashlib.sha256(text.encode()).hexdigest()[:24]}".encode()).decode()


def need(condition: object, message: str) -> None:
    """A rule."""
    if not condition:
        raise Refused(message)


def known(fields: dict[str, Any], allowed: set[str], where: str) -> None:
    """No field that the API does not have."""
    extra = set(fields) - allowed
    need(not extra, f"{where}: Extra inputs are not permitted: {sorted(extra)}")


def well_formed(value: Any, where: str = "body") -> None:
    """No lone surrogates anywhere."""
    if isinstance(value, str):
        need(not re.search("[\ud800-\udfff]", value), f"{where}: invalid Unicode")
    elif isinstance(value, dict):
        for key, item in value.items():
            well_formed(key, where)
            well_formed(item, f"{where}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            well_formed(item, f"{where}[{number}]")


def base64_data(value: Any, where: str) -> None:
    """Base64 that decodes to something."""
    try:
        need(isinstance(value, str) and base64.b64decode(value, validate=True), f"{where}: invalid base64")
    except ValueError as error:
        raise Refused(f"{where}: invalid base64") from error


def tool_name(value: Any, where: str, longest: int = 64) -> None:
    """A name as APIs allow it."""
    pattern = rf"[a-zA-Z_][a-zA-Z0-9_-]{{0,{longest - 1}}}"
    need(isinstance(value, str) and re.fullmatch(pattern, value), f"{where}: invalid name {value!r}")
