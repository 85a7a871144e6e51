"""Plain data of the shell log's rows: requests, a span of rows, and which rows pass a filter.

Rows are counted from 0, oldest first, commands and notes together in order of time.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.events.shell_events import FilesChanged
from gshtui.bus.shell_data import ShellNote, ShellRecord

Row = ShellRecord | ShellNote
NAMED = 3
"""Files named in a line about changed files."""


class Filter(msgspec.Struct, frozen=True):
    """Which rows are wanted; empty: all of them."""

    text: str = ""
    """All of its words occur in the command or the note."""
    failed: bool = False
    cwd: str = ""
    """In this folder or below it."""
    shell: str = ""
    """Id of the shell that it ran in."""

    def __bool__(self) -> bool:
        return self != Filter()

    @property
    def words(self) -> list[str]:
        """The words of the text, for matching regardless of case."""
        return self.text.casefold().split()

    def admits(self, row: Row) -> bool:
        inside = not self.cwd or row.cwd == self.cwd or row.cwd.startswith(self.cwd.rstrip("/") + "/")
        in_shell = not self.shell or row.shell == self.shell
        if isinstance(row, ShellNote):
            return inside and in_shell and not self.failed and self._has_words(row.text)
        if self.failed and not failed(row):
            return False
        return inside and in_shell and (self._has_words(row.command) or self._has_words(row.expanded))

    def _has_words(self, text: str) -> bool:
        folded = text.casefold() if self.text else ""
        return all(word in folded for word in self.words)


def failed(record: ShellRecord) -> bool:
    return record.exit is not None and record.exit != 0


def place(row: Row) -> int:
    """Sort key of rows: their time in microseconds; a record's own if a clock was set back."""
    return row.id if isinstance(row, ShellRecord) and row.id else int(row.at * 1e6)


def files_note(event: FilesChanged, project: str) -> ShellNote:
    """Changed files on one line, as the log keeps them: `src/a.py, +src/b.py and 12 more`; deleted ones get a minus."""
    marks = {"added": "+", "deleted": "−"}
    named = [marks.get(change.kind, "") + change.path for change in event.changes[:NAMED]]
    more = len(event.changes) - len(named) + event.more
    return ShellNote("file", ", ".join(named) + (f" and {more} more" if more else ""), event.at, cwd=project)


class Span(msgspec.Struct, frozen=True):
    """Consecutive rows of the log."""

    start: int = 0
    """Number of the first one."""
    total: int = 0
    """Number of rows that pass the filter."""
    rows: tuple[Row, ...] = ()
