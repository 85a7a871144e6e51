"""The screen of an agent's own pane: lines scroll up and stay, a few rows at the bottom are redrawn in place.

Takes only sanitised text. Where the output is no terminal, it prints only the lines. Held by the pane.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import select
import shutil
import signal
import termios
import time
import tty
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Final, Literal

from gshtui.system.face_mark import mark_face
from gshtui.text import cells
from gshtui.text.sanitise import CleanText, clean_text

_BRACKETED_PASTE: Final = "\x1b[?2004h"
_NO_BRACKETED_PASTE: Final = "\x1b[?2004l"
_PIECE = 64 * 1024
_AGAIN = 0.05
"""Seconds until a terminal that did not take a drawing is tried again."""


class PaneScreen(ABC):
    """See the module's text.

    Attributes:
        is_terminal: rows are redrawn, and keys are read.
        clear: what takes the redrawn rows away.
    """

    def __init__(self, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self.clear = clean_text()
        self._drawn: list[str] = []
        self._cursor_row = 0

    @property
    @abstractmethod
    def size(self) -> tuple[int, int]:
        """(columns, rows)"""

    @property
    @abstractmethod
    def behind(self) -> bool:
        """Some of the output is not on the screen yet."""

    @abstractmethod
    def _write(self, text: CleanText) -> None: ...

    def open(self, read: Callable[[bytes], None], draw: Callable[[], None], seen: Callable[[float], None]) -> None:
        """Begin.

        Args:
            read: is given what is typed.
            draw: called when its size has changed.
            seen: called once it is no longer behind, with the time of `time.monotonic`.
        """
        del read, draw, seen
        if self.is_terminal:
            self._write(clean_text(_BRACKETED_PASTE))

    @abstractmethod
    def read_waiting(self) -> None:
        """Have what is typed until now read."""

    def close(self) -> None:
        """End, with the cursor after the last line."""
        if self.is_terminal:
            self.draw((), (), 0, 0)
            self._write(clean_text(_NO_BRACKETED_PASTE))

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


class LinkedScreen(PaneScreen):
    """One in another process.

    Args:
        show: has it printed there.
    """

    def __init__(self, show: Callable[[CleanText], None], size: tuple[int, int], *, is_terminal: bool) -> None:
        super().__init__(is_terminal=is_terminal)
        self._show = show
        self._size = size
        self._shown = self._seen = 0
        self._on_size: Callable[[], None] = lambda: None
        self._on_seen: Callable[[float], None] = lambda _: None

    @property
    def size(self) -> tuple[int, int]:
        return _usable(*self._size)

    @property
    def behind(self) -> bool:
        return self._seen < self._shown

    def open(self, read: Callable[[bytes], None], draw: Callable[[], None], seen: Callable[[float], None]) -> None:
        self._on_size, self._on_seen = draw, seen
        super().open(read, draw, seen)

    def read_waiting(self) -> None:
        pass  # what is typed before a drawing is there comes before that it is

    def resize(self, size: tuple[int, int]) -> None:
        """Its size has changed."""
        self._size = size
        self._on_size()

    def note_seen(self, number: int, at: float) -> None:
        """So many pieces are on the screen."""
        self._seen = number
        if not self.behind:
            self._on_seen(at)

    def _write(self, text: CleanText) -> None:
        self._shown += 1
        self._show(text)


class TerminalScreen(PaneScreen):
    """Standard input and output, if they are a terminal, whose modes it sets and restores."""

    def __init__(self) -> None:
        super().__init__(is_terminal=os.isatty(0) and os.isatty(1))
        self._gone = False
        """Nobody reads the output any more."""
        self._modes: list[object] | None = None
        self._waiting = bytearray()
        self._again: asyncio.TimerHandle | None = None
        self._on_read: Callable[[bytes], None] = lambda _: None
        self._on_seen: Callable[[float], None] = lambda _: None

    @property
    def size(self) -> tuple[int, int]:
        return _usable(*shutil.get_terminal_size((100, 40)))

    @property
    def behind(self) -> bool:
        return bool(self._waiting) and not self._gone

    def open(self, read: Callable[[bytes], None], draw: Callable[[], None], seen: Callable[[float], None]) -> None:
        self._on_read, self._on_seen = read, seen
        if self.is_terminal:
            mark_face()
            self._modes = termios.tcgetattr(0)
            tty.setraw(0, termios.TCSANOW)
            os.set_blocking(1, False)
            loop = asyncio.get_running_loop()
            loop.add_reader(0, self._read)
            with contextlib.suppress(ValueError, RuntimeError):
                loop.add_signal_handler(signal.SIGWINCH, draw)
        super().open(read, draw, seen)

    def read_waiting(self) -> None:
        if self.is_terminal and select.select([0], [], [], 0)[0]:
            self._read()

    def close(self) -> None:
        super().close()
        if self._again is not None:
            self._again.cancel()
        if self._modes is not None:
            asyncio.get_running_loop().remove_reader(0)
            os.set_blocking(1, True)
            self._flush()
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSANOW, self._modes)  # type: ignore[arg-type]
            self._modes = None

    def _read(self) -> None:
        try:
            data = os.read(0, _PIECE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_read(data)
        else:
            asyncio.get_running_loop().remove_reader(0)  # the terminal is gone; SIGHUP will follow

    def _write(self, text: CleanText) -> None:
        self._waiting += text.encode("utf-8", "replace")
        self._flush()

    def _flush(self) -> None:
        """Write what the terminal has not yet taken."""
        was_behind, self._again = self._again is not None, None
        while self.behind:
            try:
                del self._waiting[: os.write(1, self._waiting[:_PIECE])]
            except BlockingIOError:
                self._again = asyncio.get_running_loop().call_later(_AGAIN, self._flush)
                return
            except OSError:
                self._gone = True
        if was_behind:
            self._on_seen(time.monotonic())


def _usable(columns: int, rows: int) -> tuple[int, int]:
    return max(10, columns), max(4, rows)


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
