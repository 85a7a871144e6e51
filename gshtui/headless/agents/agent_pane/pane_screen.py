"""The screen of an agent's own pane: lines scroll up and stay, a few rows at the bottom are redrawn in place.

Takes only sanitised text. Where the output is no terminal, it prints only the lines. Held by the pane.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import Final, Literal

from gshtui.text import cells
from gshtui.text.sanitise import CleanText, clean_text

_FRAME: Final = 0.05
"""Seconds between two drawings of a pane that draws alone."""
_SHARE: Final = 0.2
"""What part of the loop's time the drawings of all panes may take."""
_LONGEST: Final = 0.1
"""Seconds that the others wait at most for one that took long."""
_BRACKETED_PASTE: Final = "\x1b[?2004h"
_NO_BRACKETED_PASTE: Final = "\x1b[?2004l"


class DrawingTurns:
    """Has the panes of a process draw one after the other, and does in between what else is due.

    The more panes have something to draw, the longer each waits, and the more it then draws at once.
    """

    def __init__(self) -> None:
        self._due: dict[Callable[[], None], float] = {}
        """When each draws at the earliest, in the loop's time; the first first."""
        self._free_at = 0.0
        self._turn: asyncio.TimerHandle | None = None

    def ask(self, draw: Callable[[], None]) -> None:
        """Call `draw` in its turn, once however often it is asked."""
        self._due.setdefault(draw, asyncio.get_running_loop().time() + _FRAME)
        self._plan()

    def forget(self, draw: Callable[[], None]) -> None:
        """It is done, or not wanted any more."""
        self._due.pop(draw, None)

    def _plan(self) -> None:
        if self._turn is None and self._due:
            at = max(next(iter(self._due.values())), self._free_at)
            self._turn = asyncio.get_running_loop().call_at(at, self._next)

    def _next(self) -> None:
        self._turn = None
        draw, loop = next(iter(self._due), None), asyncio.get_running_loop()
        if draw is None:
            return
        del self._due[draw]
        began = loop.time()
        try:
            draw()
        finally:
            ended = loop.time()
            self._free_at = ended + min((ended - began) * (1 / _SHARE - 1), _LONGEST)
            self._plan()


class PaneScreen:
    """See the module's text.

    Args:
        show: has a piece printed in the process of the agent's terminal.
        is_terminal: rows are redrawn, and keys are read.

    Attributes:
        clear: what takes the redrawn rows away.
    """

    def __init__(self, show: Callable[[CleanText], None], size: tuple[int, int], *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self.clear = clean_text()
        self._drawn: list[str] = []
        self._cursor_row = 0
        self._show = show
        self._size = size
        self._shown = self._seen = 0
        self._on_size: Callable[[], None] = lambda: None
        self._on_seen: Callable[[float], None] = lambda _: None

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)"""
        columns, rows = self._size
        return max(10, columns), max(4, rows)

    @property
    def behind(self) -> bool:
        """Some of the output is not on the screen yet."""
        return self._seen < self._shown

    def open(self, draw: Callable[[], None], seen: Callable[[float], None]) -> None:
        """Begin. `draw`: for a changed size. `seen`: called once it is no longer behind, with `time.monotonic()`."""
        self._on_size, self._on_seen = draw, seen
        if self.is_terminal:
            self._write(clean_text(_BRACKETED_PASTE))

    def close(self) -> None:
        """End, with the cursor after the last line."""
        if self.is_terminal:
            self.draw((), (), 0, 0)
            self._write(clean_text(_NO_BRACKETED_PASTE))

    def resize(self, size: tuple[int, int]) -> None:
        """Its size has changed."""
        self._size = size
        self._on_size()

    def note_seen(self, number: int, at: float) -> None:
        """So many pieces are on the screen."""
        self._seen = number
        if not self.behind:
            self._on_seen(at)

    def draw(self, lines: Sequence[CleanText], bottom: Sequence[CleanText], row: int, column: int) -> None:
        """Add permanent lines, and redraw the bottom.

        Args:
            lines: whole lines, in our own colours.
            bottom: rows that fit the width, in our own colours.
            row: the row of the bottom where the cursor goes.
            column: the cursor's column, in cells from the left.
        """
        if not self.is_terminal:
            self._write(clean_text(*(clean_text(line, "\n") for line in lines)))
            return
        # Each row is cleared as it is written, and the rest afterwards: so nothing flickers.
        out = [clean_text("\x1b[?25l"), _moved(self._rows_above_cursor(), "A"), clean_text("\r")]
        columns = self.size[0]
        out += [clean_text(_over(line, columns), "\r\n") for line in lines]
        out += [clean_text("\r\n" if at else "", _over(one, columns)) for at, one in enumerate(bottom)]
        out.append(clean_text("\x1b[J"))
        if bottom:
            out += [_moved(len(bottom) - 1 - row, "A"), clean_text("\r"), _moved(column, "C")]
        out.append(clean_text("\x1b[?25h"))
        self._drawn, self._cursor_row = [_bare(one) for one in bottom], row
        self.clear = clean_text(_moved(self._rows_above_cursor(), "A"), "\r\x1b[J")
        self._write(clean_text(*out))

    def _rows_above_cursor(self) -> int:
        """Rows between the bottom's first row and the cursor's, at the terminal's current width."""
        columns, most = self.size
        above = sum(max(1, -(-cells.width(one) // columns)) for one in self._drawn[: self._cursor_row])
        return min(above, most - 1)

    def _write(self, text: CleanText) -> None:
        self._shown += 1
        self._show(text)


def _moved(cells_or_rows: int, way: Literal["A", "C"]) -> CleanText:
    """Moves the cursor up (`A`) or right (`C`)."""
    return clean_text("\x1b[", cells_or_rows, way) if cells_or_rows else clean_text()


def _over(line: CleanText, columns: int) -> CleanText:
    """The line over whatever was there, in all rows that it takes."""
    width = cells.width(_bare(line))
    # At the right edge, clearing would take the last character.
    return clean_text("\x1b[K", line, "" if width and width % columns == 0 else "\x1b[K")


def _bare(row: str) -> str:
    """The row without our colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", row)
