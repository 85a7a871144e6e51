"""An outline as data: entries that fold, and long texts as rows that are wrapped only when drawn.

Maps between offsets, rows and entries; no styles, no drawing. A text of a megabyte costs some milliseconds, and
a row only when it is shown.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from gshtui.text.sanitise import literal
from gshtui.ui.kit.drawing.styled_lines import kept_rows


def displayed(text: str) -> str:
    """The text as shown: control characters as symbols, tabs as spaces. Copying uses the text itself."""
    return literal(text).expandtabs(4)


class TextRow(NamedTuple):
    """A row. `offset`: its start in the text; `line`: the number of its line, from 0."""

    text: str
    offset: int
    line: int
    first: bool


class TextRows:
    """A displayed text wrapped at a width in cells, behind a blank where it can be; each is where it was sent."""

    def __init__(self, text: str, width: int) -> None:
        self.text = text
        self.width = max(4, width)
        self._lines = text.split("\n")
        self._pieces: dict[int, list[str]] = {}
        self._starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        self._tops = [0, *accumulate(self._height(number, line) for number, line in enumerate(self._lines))]

    @property
    def height(self) -> int:
        """The number of rows; at least one."""
        return self._tops[-1]

    def _height(self, number: int, line: str) -> int:
        if len(line) <= self.width // 2 or (len(line) <= self.width and line.isascii()):
            return 1
        pieces = kept_rows(line, self.width)
        if len(pieces) > 1:
            self._pieces[number] = pieces
        return len(pieces)

    def row(self, row: int) -> TextRow:
        """A row of the text."""
        number = min(len(self._lines) - 1, bisect_right(self._tops, row) - 1)
        inside = row - self._tops[number]
        line, start = self._lines[number], self._starts[number]
        pieces = self._pieces.get(number, [line])
        before = sum(len(piece) for piece in pieces[:inside])
        return TextRow(pieces[inside], start + before, number, inside == 0)

    def row_of(self, offset: int) -> int:
        """The row that a character of the text is in."""
        number = min(len(self._lines) - 1, bisect_right(self._starts, offset) - 1)
        inside = offset - self._starts[number]
        pieces, row = self._pieces.get(number, [""]), 0
        while row < len(pieces) - 1 and inside >= len(pieces[row]):
            inside -= len(pieces[row])
            row += 1
        return self._tops[number] + row


StyledPart = tuple[str, str]
"""A style of the palette, by name, and words."""
TextLook = Literal["text", "diff", "picture"]
"""`picture`: as many rows as the text has, which the view's own function draws."""


T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class OutlineEntry(msgspec.Struct, Generic[T_co], frozen=True):
    """One line, or, with a text, as many rows as it needs."""

    id: str
    level: int = 0
    data: T_co | None = None
    """Its subject; its type tells how to draw the line."""
    opened: bool | None = None
    """`None`: it cannot be opened."""
    text: str | None = None
    look: TextLook = "text"


class EntryWords(msgspec.Struct, frozen=True):
    """An entry's line: words, and right-aligned columns."""

    left: tuple[StyledPart, ...]
    right: tuple[StyledPart, ...] = ()


class Outline(Generic[T]):
    """Entries with their rows at a width. `indent`: cells before a text, by the level of its entry."""

    def __init__(self, entries: Sequence[OutlineEntry[T]], width: int, before: Outline[T] | None = None) -> None:
        self.entries = list(entries)
        self.width = width
        self._texts: dict[str, TextRows] = {}
        for entry in self.entries:
            if entry.text is not None:
                kept = before._texts.get(entry.id) if before is not None else None
                room = width - indent_of(entry)
                same = kept is not None and kept.width == max(4, room) and kept.text == entry.text
                self._texts[entry.id] = kept if kept is not None and same else TextRows(entry.text, room)
        heights = (self._texts[entry.id].height if entry.text is not None else 1 for entry in self.entries)
        self._tops = [0, *accumulate(heights)]
        self._places = {entry.id: at for at, entry in enumerate(self.entries)}

    @property
    def height(self) -> int:
        """Rows of all entries."""
        return self._tops[-1]

    def at(self, row: int) -> tuple[OutlineEntry[T], int] | None:
        """The row's entry, and the row's index in it."""
        if not 0 <= row < self.height:
            return None
        place = bisect_right(self._tops, row) - 1
        return self.entries[place], row - self._tops[place]

    def top(self, id: str) -> int | None:
        """The first row of an entry."""
        place = self._places.get(id)
        return None if place is None else self._tops[place]

    def rows(self, id: str) -> int:
        """How many rows an entry has; 0: not in the outline."""
        place = self._places.get(id)
        return 0 if place is None else self._tops[place + 1] - self._tops[place]

    def text_row(self, entry: OutlineEntry[T], inside: int) -> TextRow:
        """A row of an entry's text."""
        return self._texts[entry.id].row(inside)

    def row_of(self, id: str, offset: int) -> int | None:
        """The row of a character of an entry's text."""
        top, text = self.top(id), self._texts.get(id)
        return None if top is None or text is None else top + text.row_of(offset)

    def parent(self, entry: OutlineEntry[T]) -> OutlineEntry[T] | None:
        """The row's entry."""
        place = self._places[entry.id]
        return next((one for one in reversed(self.entries[:place]) if one.level < entry.level), None)


def indent_of(entry: OutlineEntry[object]) -> int:
    """Cells before an entry's words."""
    return 2 * entry.level + (2 if entry.text is not None else 0)
