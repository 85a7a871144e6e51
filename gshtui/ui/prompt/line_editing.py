"""Editing as at a shell's prompt: deletes to the ends of the line and by words, and puts back what was deleted.

Works on a text area, in steps that undo takes back one by one. Whether two deletions belong together is seen by the
text and the cursor between them, so that no key needs to report itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from textual.widgets.text_area import Location

from gshtui.ui.kit.widgets.folding_area import FoldingArea

SIZE = 32


class KillRing:
    """The last deleted texts."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        """Oldest first."""
        self._at = -1

    @property
    def newest(self) -> str:
        """What was deleted last; empty: nothing was."""
        return self._texts[-1] if self._texts else ""

    def add(self, text: str, *, backward: bool = False, joined: bool = False) -> None:
        """A text was deleted.

        Args:
            backward: it stood before the cursor.
            joined: it was deleted right after the newest one, and belongs to it.
        """
        if not text:
            return
        if joined and self._texts:
            self._texts[-1] = text + self._texts[-1] if backward else self._texts[-1] + text
        else:
            self._texts.append(text)
            del self._texts[:-SIZE]
        self._at = -1

    def yanked(self) -> str:
        """The newest text, from which `older` goes on."""
        self._at = len(self._texts) - 1
        return self.newest

    def older(self) -> str:
        """The text before the one that was last given out, the newest after the oldest."""
        if not self._texts:
            return ""
        self._at = (self._at - 1) % len(self._texts)
        return self._texts[self._at]


LineEdit = Literal[
    "kill_to_end", "kill_to_start", "kill_to_space", "kill_word_left", "kill_word_right", "yank", "yank_older"
]
_State = tuple[str, Location]


class LineEditing:
    """The editing of one input. Each method does what one key does."""

    def __init__(self, area: FoldingArea) -> None:
        self.ring = KillRing()
        self._area = area
        self._killed: _State | None = None
        """How the last deletion left the input."""
        self._yanked: tuple[_State, Location] | None = None
        """How the last text that was put back left the input, and where it begins."""

    def do(self, edit: LineEdit) -> None:
        """Edit."""
        edits: dict[LineEdit, Callable[[], None]] = {
            "kill_to_end": self.kill_to_end,
            "kill_to_start": self.kill_to_start,
            "kill_to_space": self.kill_to_space,
            "kill_word_left": self.kill_word_left,
            "kill_word_right": self.kill_word_right,
            "yank": self.yank,
            "yank_older": self.yank_older,
        }
        edits[edit]()

    # Deleting

    def kill_to_end(self) -> None:
        """Delete to the end of the line; at the end, the end of the line itself."""
        row, column = self._area.cursor_location
        end = len(self._area.document[row])
        self._kill((row, column), (row, end) if column < end else (row + 1, 0))

    def kill_to_start(self) -> None:
        """Delete to the beginning of the line; at the beginning, the end of the line above."""
        row, column = self._area.cursor_location
        self._kill((row, 0) if column else self._end_above(row), (row, column), backward=True)

    def kill_to_space(self) -> None:
        """Delete the word before the cursor, up to a space."""
        row, column = self._area.cursor_location
        start = (row, _word_start(self._area.document[row][:column])) if column else self._end_above(row)
        self._kill(start, (row, column), backward=True)

    def kill_word_left(self) -> None:
        """Delete to the beginning of the word."""
        here = self._area.cursor_location
        self._kill(self._area.get_cursor_word_left_location(), here, backward=True)

    def kill_word_right(self) -> None:
        """Delete to the end of the word."""
        area = self._area
        row, column = area.cursor_location
        line = area.document[row]
        at = column
        while at < len(line) and not (line[at].isalnum() or line[at] == "_"):
            at += 1
        while at < len(line) and (line[at].isalnum() or line[at] == "_"):
            at += 1
        self._kill((row, column), (row, at) if column < len(line) else (row + 1, 0))

    def kill_all(self) -> None:
        """Delete everything."""
        self._kill((0, 0), self._area.document.end, all_of_it=True)

    # Putting back

    def yank(self) -> None:
        """Insert what was deleted last."""
        self._insert(self.ring.yanked(), *self._area.selection)

    def yank_older(self) -> None:
        """Replace what was just put back by what was deleted before it; else, like `yank`."""
        if self._yanked is None or self._yanked[0] != self._state():
            self.yank()
        else:
            self._insert(self.ring.older(), self._yanked[1], self._area.cursor_location)

    # Inside

    def _kill(self, start: Location, end: Location, *, backward: bool = False, all_of_it: bool = False) -> None:
        area = self._area
        selected = area.selection
        if not selected.is_empty and not all_of_it:
            start, end = sorted((selected.start, selected.end))
        end = min(end, area.document.end)
        start, end = area.folds.around(area.document, start, end)
        if start >= end:
            return
        joined = self._killed == self._state()
        self.ring.add(area.folds.expand(area.get_text_range(start, end)), backward=backward, joined=joined)
        area.history.checkpoint()
        area.type_over("", start, end)
        area.history.checkpoint()
        self._killed = self._state()

    def _insert(self, text: str, start: Location, end: Location) -> None:
        if not text:
            return
        area = self._area
        start, end = sorted((start, end))
        area.history.checkpoint()
        area.insert_pasted(text, start, end)
        area.history.checkpoint()
        self._yanked = self._state(), start

    def _end_above(self, row: int) -> Location:
        return (row - 1, len(self._area.document[row - 1])) if row else (0, 0)

    def _state(self) -> _State:
        return self._area.text, self._area.cursor_location


def _word_start(before: str) -> int:
    """Where the last word of a text begins, spaces behind it included."""
    words = before.rstrip()
    at = len(words)
    while at and not words[at - 1].isspace():
        at -= 1
    return at
