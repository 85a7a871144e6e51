"""The messages between the hub and an interpreter's process: a length in four bytes, then JSON.

What comes from the process is the work of whatever code ran in it, so it is checked like anything from outside: its
size, its form, and that it answers what was asked. Pure.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

HEAD = struct.Struct(">I")
LONGEST = 32 * 1024 * 1024
"""Bytes of a message at most."""


class ShownValue(msgspec.Struct, frozen=True):
    """The value of a block's last expression: a text, or the beginning of a table."""

    text: str = ""
    columns: list[str] = []
    rows: list[list[str]] = []
    total: int = 0
    """Rows of the whole table."""
    hidden: int = 0
    """Columns that are left out."""


class Figure(msgspec.Struct, frozen=True):
    """One figure that a block drew."""

    title: str = ""
    png: str = ""
    """The picture, base64-encoded; empty: there is none, as `error` says."""
    text: str = ""
    """A rough plot of it; empty: there is none."""
    columns: int = 0
    """Of the small copy in `colours`."""
    colours: str = ""
    """A small copy: three bytes a pixel, row by row, base64-encoded; empty: there is none."""
    error: str = ""
    """Why there is no picture, as the end of a sentence that begins with `the picture`."""


class Variable(msgspec.Struct, frozen=True):
    """One variable of an interpreter."""

    name: str
    type: str
    size: str = ""
    preview: str = ""


class KeptValue(msgspec.Struct, frozen=True):
    """One value to be kept, under all its names."""

    names: list[str]
    data: str
    """Its pickle, base64-encoded: for an interpreter alone."""


class KeptVariables(msgspec.Struct, frozen=True):
    """The variables of an interpreter, for a later one."""

    python: str
    """Which kind of Python can read them."""
    imports: dict[str, str] = {}
    values: list[KeptValue] = []

    @property
    def names(self) -> list[str]:
        return [*self.imports, *(name for value in self.values for name in value.names)]


class Unkept(msgspec.Struct, frozen=True):
    """A variable that is not kept, or did not come back; `why` as a clause."""

    name: str
    why: str


class InterpreterReady(msgspec.Struct, frozen=True, tag="ready", tag_field="is"):
    """The interpreter takes blocks."""

    version: str
    executable: str
    pid: int


class Done(msgspec.Struct, frozen=True, tag="done", tag_field="is"):
    """A block ran to its end, or a question was answered."""

    id: int
    ok: bool = True
    value: ShownValue | None = None
    kind: str = ""
    """The class of the error that ended it."""
    message: str = ""
    line: int = 0
    """The line of the block where the error came up; 0: unknown."""
    trace: str = ""
    seconds: float = 0.0
    names: list[str] = []
    """The variables that there are now."""
    variables: list[Variable] = []
    figures: list[Figure] = []
    figure_error: str = ""
    kept: KeptVariables | None = None
    """What is to be kept; `None`: the same as before."""
    unkept: list[Unkept] = []
    fault: str = ""
    """Why nothing could be kept or restored, as a clause."""


class Ask(msgspec.Struct, frozen=True, tag="ask", tag_field="is"):
    """A block asks the hub for something."""

    id: int
    what: str
    more: dict[str, Any] = {}


FromInterpreter = InterpreterReady | Done | Ask
_DECODER = msgspec.json.Decoder[FromInterpreter](FromInterpreter)


def decode(data: bytes) -> FromInterpreter:
    """A message. Raises `msgspec.DecodeError`."""
    return _DECODER.decode(data)


def encode(message: dict[str, Any]) -> bytes:
    """A message to the interpreter, with its length in front."""
    data = msgspec.json.encode(message)
    return HEAD.pack(len(data)) + data
