"""The terminal of an agent's own pane: lines scroll up and stay, a few rows at the bottom are redrawn in place.

Owns the terminal's modes and restores them; writes only what it is given, which is already sanitised. If standard
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

from gshtui.text import cells

_BRACKETED_PASTE, _NO_BRACKETED_PASTE = "\x1b[?2004h", "\x1b[?2004l"
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
            self._write(_BRACKETED_PASTE)

    def close(self) -> None:
        """Restore the terminal, with the cursor after the last line."""
        if self._modes is not None:
            self.draw((), (), 0, 0)
            self._write(_NO_BRACKETED_PASTE)
            os.set_blocking(1, True)
            self.flush()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._modes)  # type: ignore[arg-type]
            self._modes = None

    def draw(self, lines: Sequence[str], bottom: Sequence[str], row: int, column: int) -> None:
        """Add permanent lines, and redraw the bottom.

        Args:
            lines: whole lines, in our own colours.
            bottom: rows that fit the width, in our own colours.
            row: the row of the bottom where the cursor goes.
            column: the cursor's column, in cells from the left.
        """
        if not self.is_terminal:
            self._write("".join(f"{line}\n" for line in lines))
            return
        # Each row is cleared as it is written, and the rest afterwards: so nothing flickers.
        out = ["\x1b[?25l", f"\x1b[{up}A" if (up := self._rows_above_cursor()) else "", "\r"]
        columns = self.size[0]
        out += [f"{_over(line, columns)}\r\n" for line in lines]
        out.append("\r\n".join(_over(row, columns) for row in bottom))
        out.append("\x1b[J")
        if bottom:
            below = len(bottom) - 1 - row
            out += [f"\x1b[{below}A" if below else "", "\r", f"\x1b[{column}C" if column else "", "\x1b[?25h"]
        else:
            out.append("\x1b[?25h")
        self._drawn, self._cursor_row = [_bare(one) for one in bottom], row
        self._write("".join(out))

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

    def _write(self, text: str) -> None:
        if len(self._waiting) < _MOST_WAITING:  # a terminal that does not read misses drawings, but holds nobody up
            self._waiting += text.encode("utf-8", "replace")
        self.flush()


def _over(line: str, columns: int) -> str:
    """The line over whatever was there, in all rows that it takes."""
    width = cells.width(_bare(line))
    # At the right edge, clearing would take the last character.
    return f"\x1b[K{line}" if width and width % columns == 0 else f"\x1b[K{line}\x1b[K"


def _bare(row: str) -> str:
    """The row without our colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", row)
