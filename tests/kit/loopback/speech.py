"""What an API's room has to tell the server of tests beside its wire: its refusals and its checks."""

import base64
import re
from typing import Any, Protocol

from gshtui.programs.check.model_wire import ModelWire, dumps, sign, sse
from gshtui.programs.check.model_wire import WireFrame as Frame
from tests.kit.loopback.script import Fault

__all__ = [
    "Frame",
    "Refused",
    "Speech",
    "base64_data",
    "dumps",
    "known",
    "need",
    "sign",
    "sse",
    "tool_name",
    "well_formed",
]


class Refused(Exception):
    """The request breaks a rule of the API."""


class Speech(ModelWire, Protocol):
    """One API, with what only tests need of it."""

    def key(self, headers: dict[str, str]) -> str:
        """The key that came along."""
        ...

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        """Raises `Refused`."""
        ...

    def trouble(self) -> bytes:
        """An error within the answer: overloaded."""
        ...

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        """Status, headers and body for a fault."""
        ...


def need(condition: object, message: str) -> None:
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
