"""A long text as rows of a width: how many there are is known at once, what a row says only when it is drawn.

Owns the way between offsets and rows; refuses styles. A text of a megabyte costs some milliseconds, and each row that
is drawn a slice. Called by the inspector's view.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from gshtui.guard.sanitise import literal

_NARROW = re.compile(
    "[\x20-\x7e\xa0-\u02ff\u0370-\u0482\u048a-\u0558\u2010-\u2027\u2030-\u205e\u2500-\u25fc]*"
).fullmatch


def displayed(text: str) -> str:
    """The text as it is shown: every control character as a symbol, tabs as blanks. Copies take the text itself."""
    return literal(text).expandtabs(4)


class TextRow(NamedTuple):
    """A row. `offset`: where it begins in the text; `line`: the whole line's number, from 0."""

    text: str
    offset: int
    line: int
    first: bool


class TextRows:
    """A displayed text cut at a width in cells, spaces or not, so that every blank is where it is sent."""

    def __init__(self, text: str, width: int) -> None:
        self.text = text
        self.width = max(4, width)
        self._lines = text.split("\n")
        self._pieces: dict[int, list[str]] = {}
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._tops = [0, *accumulate(self._height(number, line) for number, line in enumerate(self._lines))]

    @property
    def height(self) -> int:
        """Rows; at least one."""
        return self._tops[-1]

    def _height(self, number: int, line: str) -> int:
        if len(line) <= self.width // 2 or (len(line) <= self.width and line.isascii()):
            return 1
        if line.isascii() or _NARROW(line):
            return -(-len(line) // self.width)
        if cell_len(line) <= self.width:
            return 1
        pieces = self._pieces[number] = chop_cells(line, self.width)
        return len(pieces)

    def row(self, row: int) -> TextRow:
        """A row of the text."""
        number = min(len(self._lines) - 1, bisect_right(self._tops, row) - 1)
        inside = row - self._tops[number]
        line, start = self._lines[number], self._starts[number]
        pieces = self._pieces.get(number)
        if pieces is not None:
            before = sum(len(piece) for piece in pieces[:inside])
            return TextRow(pieces[inside], start + before, number, inside == 0)
        if self._tops[number + 1] - self._tops[number] == 1:
            return TextRow(line, start, number, True)
        begin = inside * self.width
        return TextRow(line[begin : begin + self.width], start + begin, number, inside == 0)

    def row_of(self, offset: int) -> int:
        """The row that a character of the text is in."""
        number = min(len(self._lines) - 1, bisect_right(self._starts, offset) - 1)
        inside = offset - self._starts[number]
        pieces = self._pieces.get(number)
        if pieces is None:
            most = self._tops[number + 1] - self._tops[number] - 1
            return self._tops[number] + (min(most, inside // self.width) if most else 0)
        row = 0
        while row < len(pieces) - 1 and inside >= len(pieces[row]):
            inside -= len(pieces[row])
            row += 1
        return self._tops[number] + row
