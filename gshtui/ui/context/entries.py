"""The lines of an outline as data: what folds, what belongs to what, and long texts that are cut into rows when drawn.

Plain structs; refuses to draw. Made by the outlines of the inspector and of receipts, shown by `OutlineView`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

import msgspec

from gshtui.ui.context.text_rows import TextRow, TextRows

Part = tuple[str, str]
"""A style of the palette by name, and words."""
Look = Literal["text", "diff"]


class Entry(msgspec.Struct, frozen=True):
    """One line, or, where it has a text, as many rows as that needs."""

    id: str
    kind: str
    level: int = 0
    data: Any = None
    opened: bool | None = None
    """`None`: there is nothing to open."""
    text: str | None = None
    look: Look = "text"


class Words(msgspec.Struct, frozen=True):
    """An entry's line: words, and columns at the right end that keep their place."""

    left: tuple[Part, ...]
    right: tuple[Part, ...] = ()


class Outline:
    """Entries with their rows at a width. `indent`: cells before a text, by the level of its entry."""

    def __init__(self, entries: Sequence[Entry], width: int, before: Outline | None = None) -> None:
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

    def at(self, row: int) -> tuple[Entry, int] | None:
        """The entry that a row belongs to, and which of its rows that is."""
        if not 0 <= row < self.height:
            return None
        place = bisect_right(self._tops, row) - 1
        return self.entries[place], row - self._tops[place]

    def top(self, id: str) -> int | None:
        """The first row of an entry."""
        place = self._places.get(id)
        return None if place is None else self._tops[place]

    def rows(self, id: str) -> int:
        """How many rows an entry has; 0: it is not here."""
        place = self._places.get(id)
        return 0 if place is None else self._tops[place + 1] - self._tops[place]

    def text_row(self, entry: Entry, inside: int) -> TextRow:
        """A row of an entry's text."""
        return self._texts[entry.id].row(inside)

    def row_of(self, id: str, offset: int) -> int | None:
        """The row in which a character of an entry's text stands."""
        top, text = self.top(id), self._texts.get(id)
        return None if top is None or text is None else top + text.row_of(offset)

    def parent(self, entry: Entry) -> Entry | None:
        """The entry that it belongs to."""
        place = self._places[entry.id]
        return next((one for one in reversed(self.entries[:place]) if one.level < entry.level), None)


def indent_of(entry: Entry) -> int:
    """Cells before an entry's words."""
    return 2 * entry.level + (2 if entry.text is not None else 0)
