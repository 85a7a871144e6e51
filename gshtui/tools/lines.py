"""Lines of a file out of its middle, in little memory: counts newlines in blocks, decodes only what is shown.

The file is open already and its type is known. Called by `read`.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import BinaryIO

from gshtui.commands.declaration import CommandError
from gshtui.guard.sanitise import literal
from gshtui.tools.filetype import FileType

_BLOCK = 1 << 20
_MARGIN = 11
"""Bytes of a number, the bar behind it and the newline."""
_LONGEST = 2_000
"""Characters of one line that are shown."""
_COUNTED = 256 << 20
"""Bytes up to which all lines of a file are counted, only to say how many there are."""
_WIDE = 32 << 20
"""Bytes up to which a file of two- or four-byte characters is read; it is decoded in whole."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines that are shown, sanitised and without newlines."""

    lines: list[str]
    first: int
    """Number of the first line, counting from 1."""
    total: int
    """Lines of the whole file; 0 when they were not counted."""
    more: bool
    """There are lines after these."""
    line_ends: str = ""
    """`CRLF` or `mixed CRLF and LF`; empty for the usual."""


def excerpt(file: BinaryIO, kind: FileType, start: int, end: int, most: int, limit: int) -> Excerpt:
    """Lines `start` to `end`, at most `most` lines and `limit` bytes of them; one line always.

    Args:
        limit: 0: any number.
        start: counts from 1; negative counts from the end.
        end: inclusive; 0: no end.

    Raises:
        CommandError: a file of wide characters is too large.
    """
    size = os.fstat(file.fileno()).st_size
    if kind.encoding.startswith(("utf-16", "utf-32")):
        return _wide(file, kind, size, start, end, most, limit)
    total = _count(file, size) if start < 0 or size <= _COUNTED else 0
    first = max(1, total + 1 + start) if start < 0 else max(1, start)
    _seek_line(file, first, len(kind.mark))
    taken = _Taken(kind.encoding, most if not end else min(most, max(0, end - first + 1)), limit)
    while taken.wants_more:
        raw = file.readline(_LONGEST * 4 + 2)
        if not raw:
            break
        size_of_line = len(raw)
        while not raw.endswith(b"\n") and (rest := file.readline(_BLOCK)):
            size_of_line += len(rest)
            raw = raw[: _LONGEST * 4] + (b"\n" if rest.endswith(b"\n") else b"")
            if rest.endswith(b"\n"):
                break
        taken.add(raw, size_of_line)
    more = taken.cut or bool(file.read(1))
    return Excerpt(taken.lines, first, total, more, taken.line_ends)


class _Taken:
    """The lines so far, and whether there is room for more."""

    def __init__(self, encoding: str, most: int, limit: int) -> None:
        self.lines: list[str] = []
        self._encoding = encoding
        self._most = most
        self._room = limit or sys.maxsize
        self._crlf = 0
        self._lf = 0
        self.cut = False
        """A line was offered that there was no room for."""

    @property
    def wants_more(self) -> bool:
        return len(self.lines) < self._most and not self.cut

    @property
    def line_ends(self) -> str:
        if not self._crlf:
            return ""
        return "mixed CRLF and LF" if self._lf else "CRLF"

    def add(self, raw: bytes, size: int) -> None:
        end = 2 if raw.endswith(b"\r\n") else 1 if raw.endswith(b"\n") else 0
        self._crlf += end == 2
        self._lf += end == 1
        self.add_text(raw[: len(raw) - end].decode(self._encoding, "replace"), size)

    def add_text(self, text: str, size: int) -> None:
        shown = literal(text)
        if len(shown) > _LONGEST or size > _LONGEST * 4 + 2:
            shown = f"{shown[:_LONGEST]}{_rest(size)}"
        cost = len(shown.encode("utf-8", "replace")) + _MARGIN
        if not self.lines and cost > self._room:
            said = _rest(size)
            room = max(0, self._room - _MARGIN - len(said.encode()))
            cut = shown.encode("utf-8", "replace")[: min(room, _LONGEST)].decode("utf-8", "ignore") + said
            shown = min(shown, cut, key=len)
            cost = self._room
        if self.lines and cost > self._room:
            self.cut = True
            return
        self._room -= cost
        self.lines.append(shown)


def _rest(size: int) -> str:
    return f"… ⟨a line of {size:,} bytes⟩"


def _wide(file: BinaryIO, kind: FileType, size: int, start: int, end: int, most: int, limit: int) -> Excerpt:
    if size > _WIDE:
        raise CommandError(f"A file of {size:,} bytes in {kind.description} is too large to read.", hint="Use iconv.")
    file.seek(len(kind.mark))
    text = file.read().decode(kind.encoding, "replace")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    first = max(1, len(lines) + 1 + start) if start < 0 else max(1, start)
    last = min(end or len(lines), len(lines))
    taken = _Taken(kind.encoding, min(most, max(0, last - first + 1)), limit)
    for line in lines[first - 1 : last]:
        if not taken.wants_more:
            break
        line = line.removesuffix("\r")
        taken.add_text(line, len(line.encode(kind.encoding, "replace")))
    more = first - 1 + len(taken.lines) < len(lines)
    return Excerpt(taken.lines, first, len(lines), more, "CRLF" if "\r\n" in text else "")


def _count(file: BinaryIO, size: int) -> int:
    """All lines; the last one counts also without its newline."""
    file.seek(0)
    count, last = 0, b"\n"
    while block := file.read(_BLOCK):
        count += block.count(b"\n")
        last = block[-1:]
    return count + (last != b"\n" and size > 0)


def _seek_line(file: BinaryIO, number: int, mark: int) -> None:
    """Put the file's place at the beginning of a line, or at the end when there is no such line."""
    file.seek(mark)
    missing = number - 1
    while missing > 0:
        block = file.read(_BLOCK)
        if not block:
            return
        found = block.count(b"\n")
        if found < missing:
            missing -= found
            continue
        at = -1
        for _ in range(missing):
            at = block.index(b"\n", at + 1)
        file.seek(at + 1 - len(block), os.SEEK_CUR)
        return
