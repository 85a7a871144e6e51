"""Read one configuration file: regular files of bounded size only, with a line for each key and a Problem for each
fault.
"""

from __future__ import annotations

import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.system.files.private_files import open_reader

Layer = Literal["default", "user", "project", "environment", "flag"]


class Origin(msgspec.Struct, frozen=True):
    """Where a value came from. `where`: the file, variable or flag; `line` counts from 1, 0: unknown."""

    layer: Layer
    where: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.where}:{self.line}" if self.line else self.where
        return f"{self.layer} ({place})" if place else self.layer


class Problem(msgspec.Struct, frozen=True):
    """A mistake in the configuration, and what was done about it."""

    text: str
    """One sentence: what is wrong."""
    hint: str = ""
    """What to do."""
    origin: Origin = Origin("default")
    key: str = ""
    level: Literal["warning", "info"] = "warning"
    """`info`: nothing is wrong, but the person may want to know that something is not used."""

    def __str__(self) -> str:
        place = f"{self.origin.where}:{self.origin.line}" if self.origin.line else self.origin.where
        return " ".join(part for part in (f"{place}:" if place else "", self.text, self.hint) if part)


_TOKEN = re.compile(
    r'"""(?:\\(?:.|\Z)|[^\\])*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:\\.|[^"\\\n])*+"?|\'[^\'\n]*+\'?|#[^\n]*|\n'
    r'|[\[\]{}=.,]|[^\s\[\]{}=.,#"\']+',
    re.DOTALL,
)

KeyPath = tuple[str, ...]


_PART = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*"""
_LONG_KEY = re.compile(rf"(?:^|[\[{{,])[ \t]*(?:{_PART}){{64}}", re.MULTILINE)
"""The time that Python's parser takes grows with the square of a key's parts."""


def load_toml(text: str) -> dict[str, Any]:
    """The tables. Raises `tomllib.TOMLDecodeError` alone, also for what Python's parser gives up at, or never ends."""
    if _LONG_KEY.search(text):
        raise tomllib.TOMLDecodeError("a key has too many parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from None
    except ValueError as error:
        if isinstance(error, tomllib.TOMLDecodeError):
            raise
        raise tomllib.TOMLDecodeError("a number has too many digits") from None


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line, counted from 1, of each header and key, by path."""
    found: dict[KeyPath, int] = {}
    table: KeyPath = ()
    parts: list[str] = []
    line, depth = 1, 0
    where = "key"  # key: before a `=`; header: inside `[…]`; value: from the `=` to the end of the line
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n" and depth == 0:
            where, parts = "key", []
        elif where == "value":
            depth += (token in "[{") - (token in "]}") if len(token) == 1 else 0
        elif token == "[" and not parts:
            where = "header"
        elif token == "]" and where == "header":
            if parts:
                table, parts = tuple(parts), []
                for end in range(1, len(table) + 1):
                    found.setdefault(table[:end], line)
        elif token == "=" and where == "key":
            found.setdefault(table + tuple(parts), line)
            where, parts = "value", []
        elif token != "." and not token.startswith("#"):
            parts.append(_unquoted(token))
        line += token.count("\n")
    return found


def line_of(lines: dict[KeyPath, int], path: KeyPath) -> int:
    """The line of the key, or of the nearest table that contains it; 0 if there is none."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), 0)


def _unquoted(token: str) -> str:
    if token[:1] not in "\"'":
        return token
    try:
        return next(iter(tomllib.loads(f"{token} = 0")))
    except tomllib.TOMLDecodeError:
        return token


MAX_BYTES = 1024 * 1024
_PLACE = re.compile(r"\(at line (\d+), column (\d+)\)")


class TomlFile(msgspec.Struct, frozen=True):
    """The content of a file. `exists` is also true if it could not be read; `data` is then empty and `problems` says
    why.
    """

    path: Path
    layer: Layer
    exists: bool = False
    raw: bytes = b""
    data: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    lines: dict[tuple[str, ...], int] = msgspec.field(default_factory=dict[tuple[str, ...], int])
    problems: tuple[Problem, ...] = ()

    def origin(self, *path: str) -> Origin:
        return Origin(self.layer, str(self.path), line_of(self.lines, path))


def read_bytes(path: Path) -> bytes | None:
    """The file's bytes; `None` if there is no such file. Raises `OSError`: it cannot be read, is not a regular file, or
    is larger than `MAX_BYTES`.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with open_reader(descriptor) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(0, "it is not a regular file")
        raw = file.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise OSError(0, f"it is larger than {MAX_BYTES // 1024} KB")
    return raw


def read_toml(path: Path, layer: Layer) -> TomlFile:
    """Read and parse a file; a missing one is an empty layer."""
    try:
        raw = read_bytes(path)
    except OSError as error:
        why = error.strerror or str(error)
        said = Problem(f"cannot read this file: {why}.", "It is ignored.", Origin(layer, str(path)))
        return TomlFile(path, layer, exists=True, problems=(said,))
    return TomlFile(path, layer) if raw is None else parse_toml(raw, path, layer)


def parse_toml(raw: bytes, path: Path, layer: Layer) -> TomlFile:
    """Parse these bytes; invalid TOML gives an empty file and the place of the mistake."""
    try:
        text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        data = load_toml(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = "this is not UTF-8 text."
    except tomllib.TOMLDecodeError as error:
        place = _PLACE.search(str(error))
        line = int(place[1]) if place else raw.rstrip().count(b"\n") + 1
        column = f" (column {place[2]})" if place else ""
        why = _PLACE.sub("", str(error)).replace("(at end of document)", "before the end").strip().rstrip(".")
        what = f"this is not valid TOML: {why}{column}."
    else:
        return TomlFile(path, layer, True, raw, data, key_lines(text))
    said = Problem(what, "The whole file is ignored until this is corrected.", Origin(layer, str(path), line))
    return TomlFile(path, layer, True, raw, problems=(said,))
