"""The terminal of an agent's own pane: lines scroll up and stay, a few rows at the bottom are redrawn in place.

Owns the terminal's modes and restores them; takes only sanitised text. If standard
output is not a terminal, it writes only the lines. Held by the pane.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import termios
import tty
from collections.abc import Sequence
from typing import Final, Literal

from gshtui.text import cells
from gshtui.text.sanitise import CleanText, clean_text

_BRACKETED_PASTE: Final = "\x1b[?2004h"
_NO_BRACKETED_PASTE: Final = "\x1b[?2004l"
_PIECE = 16 * 1024
_MOST_WAITING = 1024 * 1024
"""Most bytes held for a terminal that is not reading."""


class PaneScreen:
    """Standard input and output, if they are a terminal."""

    def __init__(self) -> None:
        self.is_terminal = os.isatty(0) and os.isatty(1)
        self.gone = False
        """Nobody reads the output any more."""
        self._modes: list[object] | None = None
        self._waiting = bytearray()
        self._drawn: list[str] = []
        self._cursor_row = 0

    @property
    def behind(self) -> bool:
        """Some output is waiting to be written."""
        return bool(self._waiting) and not self.gone

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)"""
        size = shutil.get_terminal_size((100, 40))
        return max(10, size.columns), max(4, size.lines)

    def open(self) -> None:
        """Read keys as they are pressed, without echo."""
        if self.is_terminal:
            self._modes = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSANOW)
            os.set_blocking(1, False)
            self._write(clean_text(_BRACKETED_PASTE))

    def close(self) -> None:
        """Restore the terminal, with the cursor after the last line."""
        if self._modes is not None:
            self.draw((), (), 0, 0)
            self._write(clean_text(_NO_BRACKETED_PASTE))
            os.set_blocking(1, True)
            self.flush()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._modes)  # type: ignore[arg-type]
            self._modes = None

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
        self._write(clean_text(*out))

    def _rows_above_cursor(self) -> int:
        """Rows between the bottom's first row and the cursor's, at the terminal's current width."""
        columns, most = self.size
        above = sum(max(1, -(-cells.width(one) // columns)) for one in self._drawn[: self._cursor_row])
        return min(above, most - 1)

    def flush(self) -> None:
        """Write what the terminal has not yet taken."""
        while self._waiting and not self.gone:
            try:
                del self._waiting[: os.write(1, self._waiting[:_PIECE])]
            except BlockingIOError:
                return
            except OSError:
                self.gone = True

    def _write(self, text: CleanText) -> None:
        if len(self._waiting) < _MOST_WAITING:  # a terminal that does not read misses drawings, but holds nobody up
            self._waiting += text.encode("utf-8", "replace")
        self.flush()


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
