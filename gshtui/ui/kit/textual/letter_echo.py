"""A letter at the end of a text is on the terminal before anything has handled its key.

What such a key does to its row is known: the letter stands where the cursor was, and the cursor behind it; backspace
takes both one cell back. Owns when this is certain enough to be written. The key goes its way as ever, and so does the
frame behind it, which writes nothing where it draws just that, and what it draws otherwise. Refuses whatever could move
something else: a line that wraps, a sign of more than one cell, a row that is not on the terminal as it stands.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import NamedTuple, Protocol

from rich.segment import Segment
from textual import events
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.textual.compositor import PieceCompositor
from gshtui.ui.kit.textual.driver import write_ahead
from gshtui.ui.kit.textual.typed_app import app_of

_LETTER = re.compile(r"[ -~\u00a1-\u00ac\u00ae-\u02af\u0391-\u03a9\u03b1-\u03ff\u0400-\u0482\u048a-\u0556]")
"""Characters of one cell that stand beside each other and never in one another."""

CHECK = 0.25
"""Seconds after the last key in which the area is drawn anyway, should a key have become something else."""


class GrowingText(Protocol):
    """A text area that can say what a key would do."""

    foreseen: events.Key | None
    """The last key that was written; set here."""

    def appends(self, key: events.Key) -> bool:
        """Whether this key adds its character behind the last of the line, which has one, and does nothing else."""
        ...

    def shortens(self, key: events.Key) -> bool:
        """Whether this key takes the last character of the line, which has more, and does nothing else."""
        ...

    @property
    def cursor_offset(self) -> tuple[int, int]:
        """Column and row of the cursor in what can be seen of the text."""
        ...


class LetterEcho:
    """The echo of one text area."""

    def __init__(self, area: Widget, text: GrowingText, comes_next: Callable[[Widget], bool]) -> None:
        """`comes_next`: whether a key that comes now is the next thing that happens to a widget."""
        self._area = area
        self._text = text
        self._comes_next = comes_next
        self._check: asyncio.TimerHandle | None = None
        self._due = 0.0

    def show(self, key: events.Key) -> bool:
        """Write what the key will do, where that is certain; returns whether it was."""
        letter = key.character or ""
        deletes = key.key == "backspace"
        if not (deletes or _LETTER.fullmatch(letter)) or not self._is_free():
            return False
        if not (self._text.shortens(key) if deletes else self._text.appends(key)):
            return False
        gutter, (column, row) = self._area.styles.gutter, self._text.cursor_offset
        if not _write(self._area, gutter.left + column, gutter.top + row, "" if deletes else letter):
            return False
        self._text.foreseen = key
        loop = asyncio.get_running_loop()
        self._due = loop.time() + CHECK
        if self._check is None:
            self._check = loop.call_at(self._due, self._draw_again)
        return True

    def _draw_again(self) -> None:
        """Whatever has become of the keys: draw what stands there, once nobody types."""
        loop = asyncio.get_running_loop()
        self._check = loop.call_at(self._due, self._draw_again) if loop.time() < self._due else None
        if self._check is None and self._area.is_attached:
            self._area.refresh()

    def _is_free(self) -> bool:
        """Whether the key is the next thing that happens to the area, and the area is on the terminal as it is."""
        return self._comes_next(self._area) and _is_drawn(self._area)


def write_letter(widget: Widget, column: int, row: int, letter: str) -> bool:
    """Write a letter where the cursor is in a row of a widget, with nothing but blanks behind it, and the cursor behind
    it, if the widget is on the terminal as it is; whether it was. The frame that has it comes afterwards."""
    return bool(_LETTER.fullmatch(letter)) and _is_drawn(widget) and _write(widget, column, row, letter)


def _is_drawn(widget: Widget) -> bool:
    """Whether the widget is on the terminal as it is now."""
    screen, app = widget.screen, app_of(widget)
    return (
        app.screen is screen
        and not app._batch_count  # pyright: ignore[reportPrivateUsage]
        and widget not in screen._dirty_widgets  # pyright: ignore[reportPrivateUsage]
        and not widget._repaint_regions  # pyright: ignore[reportPrivateUsage]
    )


def _write(widget: Widget, column: int, row: int, letter: str) -> bool:
    """Write a letter at the cursor in this place of a widget, or take back the one before it (none)."""
    app, deletes = app_of(widget), not letter
    compositor = widget.screen._compositor  # pyright: ignore[reportPrivateUsage]
    written = compositor.written_row(widget, row) if isinstance(compositor, PieceCompositor) else None
    if written is None or not isinstance(compositor, PieceCompositor):
        return False
    at = column - written.hidden
    change = _shortened(written.strip, at) if deletes else _extended(written.strip, at, letter)
    if change is None:
        return False
    start = written.x + at - deletes
    cells = Strip(change.cells).render(app.console)
    line = f"\x1b[{written.y + 1};"
    if not write_ahead(app, f"{line}{start + 1}H{cells}{line}{start + 1 + (not deletes)}H"):
        return False
    compositor.wrote(written, Strip(change.row, written.strip.cell_length))
    return True


class _Change(NamedTuple):
    """A row as it will be, and those of its cells that are other ones then."""

    row: list[Segment]
    cells: list[Segment]


def _extended(strip: Strip, at: int, letter: str) -> _Change | None:
    """The row with the letter in the cell of the cursor; `None`: that is not all that would change."""
    found = _around(strip, at)
    if found is None:
        return None
    before, text, cursor, rest, behind = found
    if len(rest.text) < 2:
        return None
    longer, fewer = Segment(text.text + letter, text.style), Segment(rest.text[1:], rest.style)
    return _Change([*before, longer, cursor, fewer, *behind], [Segment(letter, text.style), cursor])


def _shortened(strip: Strip, at: int) -> _Change | None:
    """The row without the letter before the cursor; `None`: that is not all that would change."""
    found = _around(strip, at)
    if found is None:
        return None
    before, text, cursor, rest, behind = found
    if len(text.text) < 2 or not _LETTER.fullmatch(text.text[-1]):
        return None
    shorter, more = Segment(text.text[:-1], text.style), Segment(" " + rest.text, rest.style)
    return _Change([*before, shorter, cursor, more, *behind], [cursor, Segment(" ", rest.style)])


def _around(strip: Strip, at: int) -> tuple[list[Segment], Segment, Segment, Segment, list[Segment]] | None:
    """The row's segments: those before the text, the text up to the cursor, the cursor, blanks, and those behind."""
    segments, cells = list(strip), 0
    for number, segment in enumerate(segments[:-2]):
        cells += segment.cell_length
        if cells >= at:
            cursor, rest = segments[number + 1 : number + 3]
            if cells != at or cursor.text != " " or not rest.text or rest.text.strip(" "):
                return None
            return segments[:number], segment, cursor, rest, segments[number + 3 :]
    return None
