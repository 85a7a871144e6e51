"""The terminal of an agent's own pane: lines go up and stay, a few rows at the bottom are drawn again and again.

Owns the terminal's modes and puts them back; writes only what it is given, which is sanitised. Where standard output is
no terminal it writes the lines and nothing else. Held by the pane.
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
"""Bytes that may wait for a terminal that takes nothing."""


class PaneScreen:
    """Standard input and output, when they are a terminal."""

    def __init__(self) -> None:
        self.is_terminal = os.isatty(0) and os.isatty(1)
        self.gone = False
        """Nobody reads any more."""
        self._modes: list[object] | None = None
        self._waiting = bytearray()
        self._drawn: list[str] = []
        self._cursor_row = 0

    @property
    def behind(self) -> bool:
        """Something waits to be written."""
        return bool(self._waiting) and not self.gone

    @property
    def size(self) -> tuple[int, int]:
        """(columns, rows)"""
        size = shutil.get_terminal_size((100, 40))
        return max(10, size.columns), max(4, size.lines)

    def open(self) -> None:
        """Take keys as they come, without echo."""
        if self.is_terminal:
            self._modes = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSANOW)
            os.set_blocking(1, False)
            self._write(_BRACKETED_PASTE)

    def close(self) -> None:
        """Leave the terminal as it was, behind the last line."""
        if self._modes is not None:
            self.draw((), (), 0, 0)
            self._write(_NO_BRACKETED_PASTE)
            os.set_blocking(1, True)
            self.flush()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._modes)  # type: ignore[arg-type]
            self._modes = None

    def draw(self, lines: Sequence[str], bottom: Sequence[str], row: int, column: int) -> None:
        """Add lines for good, and draw the bottom anew.

        Args:
            lines: whole lines with colours of our own.
            bottom: rows that fit the width, with colours of our own.
            row: of the bottom, where the cursor goes.
            column: cells from the left.
        """
        if not self.is_terminal:
            self._write("".join(f"{line}\n" for line in lines))
            return
        out = ["\x1b[?25l", f"\x1b[{up}A" if (up := self._rows_above_cursor()) else "", "\r\x1b[J"]
        out += [f"{line}\r\n" for line in lines]
        out.append("\r\n".join(bottom))
        if bottom:
            below = len(bottom) - 1 - row
            out += [f"\x1b[{below}A" if below else "", "\r", f"\x1b[{column}C" if column else "", "\x1b[?25h"]
        else:
            out.append("\x1b[?25h")
        self._drawn, self._cursor_row = [_bare(one) for one in bottom], row
        self._write("".join(out))

    def _rows_above_cursor(self) -> int:
        """Rows between the bottom's first and the cursor's, at the width that the terminal has now."""
        columns, most = self.size
        above = sum(max(1, -(-cells.width(one) // columns)) for one in self._drawn[: self._cursor_row])
        return min(above, most - 1)

    def flush(self) -> None:
        """Write what the terminal did not take before."""
        while self._waiting and not self.gone:
            try:
                del self._waiting[: os.write(1, self._waiting[:_PIECE])]
            except BlockingIOError:
                return
            except OSError:
                self.gone = True

    def _write(self, text: str) -> None:
        if len(self._waiting) < _MOST_WAITING:  # a terminal that stands still loses drawings, and holds nobody up
            self._waiting += text.encode("utf-8", "replace")
        self.flush()


def _bare(row: str) -> str:
    """A row without our colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", row)
