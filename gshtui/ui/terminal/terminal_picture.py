"""A terminal's picture: the live screen, or its scrollback, paused while a person reads or searches.

`Scrollback` joins overlapping pages of history; `TerminalPicture` knows which line is in which row of the tab.
Neither fetches nor draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gshtui.ui.terminal.terminal_rows import text_of

if TYPE_CHECKING:
    from gshtui.tmux.frames import Frame
    from gshtui.tmux.panes import PaneInfo

PAGE = 1_000
"""Lines fetched at once; costs tmux some 12 ms."""
OVERLAP = 24
TORN = "\x1b[2m⋯ older output is gone: it did not fit the scrollback ⋯\x1b[0m"


class Scrollback:
    """The lines from the oldest known one to the bottom of the screen.

    Args:
        screen: the rows of the screen.
        history: number of lines above the screen at that time.
    """

    def __init__(self, screen: Sequence[str], history: int) -> None:
        self.lines = list(screen)
        """The loaded lines: always the lower end."""
        self.missing = history
        """Number of lines above those, as far as known."""
        self._height = len(screen)

    @property
    def total(self) -> int:
        """Number of lines, loaded or not."""
        return self.missing + len(self.lines)

    @property
    def complete(self) -> bool:
        """Whether everything is loaded."""
        return self.missing <= 0

    def line(self, at: int) -> str | None:
        """The line with this number, counted from the oldest; `None`: not loaded, or no such line."""
        index = at - self.missing
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def wanted(self, grown: int) -> tuple[int, int]:
        """First and last line of the next page, as tmux counts them: 0 is the top of the screen as it is now. `grown`:
        lines that have scrolled off since then.
        """
        top = self._height - len(self.lines) - grown
        return top - PAGE, top + self._overlap - 1

    def prepend_page(self, page: Sequence[str], *, whole: bool = False) -> bool:
        """Prepend a fetched page; False: it does not overlap the known lines, because more was printed. `whole`: it
        holds the terminal's whole history.
        """
        known = self.lines[: self._overlap]
        expected = max(0, len(page) - len(known))
        at = _place(page, known, expected)
        if at is None:
            return False
        # Fewer than asked for: they are the first of all.
        first = whole or expected < PAGE or not at
        self.missing = 0 if first else max(0, self.missing - at)
        self.lines[:0] = page[:at]
        return True

    def tear(self) -> None:
        """The lines above are gone."""
        if self.missing:
            self.lines.insert(0, TORN)
        self.missing = 0

    @property
    def _overlap(self) -> int:
        return min(OVERLAP, len(self.lines))

    def text(self, first: int, last: int) -> list[str]:
        """The text of these lines, as far as loaded."""
        return [text_of(line) for at in range(first, last + 1) if (line := self.line(at)) is not None]


def _place(page: Sequence[str], known: Sequence[str], expected: int) -> int | None:
    """Where the page contains the known lines, nearest to the expected place; `None`: nowhere."""
    words = [text_of(line) for line in page]
    wanted = [text_of(line) for line in known]
    places = sorted(range(len(words) - len(wanted) + 1), key=lambda at: abs(at - expected))
    return next((at for at in places if words[at : at + len(wanted)] == wanted), None)


_FAR = 10_000_000
"""For selections, rows are numbered from the lowest, which has this number: lines added above change nothing."""


class TerminalPicture:
    """The part of a terminal that a tab shows."""

    def __init__(self) -> None:
        self.height = 0
        """Height of the tab in rows."""
        self.frame: Frame | None = None
        """The newest frame, shown or not."""
        self.past: Scrollback | None = None
        """The lines shown while the picture is paused."""
        self.behind = False
        """Whether something was printed since the pause."""
        self._up = 0
        self._cursor_row = -1

    # What is where

    @property
    def info(self) -> PaneInfo | None:
        """The terminal's state when last seen."""
        return self.frame.info if self.frame is not None else None

    @property
    def runs(self) -> bool:
        """Whether there is a program to type into."""
        return self.frame is not None and not self.frame.info.dead

    @property
    def facts(self) -> tuple[object, ...]:
        """What the lines around the terminal depend on: first, whether it is dead; empty without a frame."""
        frame, info = self.frame, self.info
        if frame is None or info is None:
            return ()
        ends = (info.dead, frame.gone, self.behind, info.exit_status)
        return (*ends, info.alternate, info.attached, info.title, info.width, info.height, info.command)

    @property
    def lines(self) -> tuple[str, ...]:
        """The rows of the screen now."""
        return self.frame.lines if self.frame is not None else ()

    @property
    def total(self) -> int:
        """Number of rows, including history."""
        if self.past is not None:
            return self.past.total
        info = self.info
        return len(self.lines) + (0 if info is None or info.alternate else info.history)

    @property
    def top(self) -> int:
        """The number of the row at the top of the tab."""
        if self.past is not None:
            return max(0, self.past.total - self.height - self._up)
        return self.total - len(self.lines) + self.first

    @property
    def up(self) -> int:
        """Rows between the visible part and the end."""
        return self._up if self.past is not None else 0

    @property
    def first(self) -> int:
        """The first visible row of the screen: if the terminal is higher than the tab, its used end is shown."""
        frame, height = self.frame, self.height
        if frame is None or len(frame.lines) <= height:
            return 0
        used = max(frame.info.cursor_y, max((at for at, line in enumerate(frame.lines) if line.strip()), default=0))
        return max(0, min(len(frame.lines), used + 1) - height)

    def line(self, y: int) -> str | None:
        """The line in a row of the tab; `None`: none."""
        if self.past is not None:
            return self.past.line(self.top + y)
        at = self.first + y
        return self.lines[at] if at < len(self.lines) else None

    def missing(self, y: int) -> bool:
        """Whether the line in a row of the tab must still be fetched."""
        return self.past is not None and self.top + y < self.past.missing

    def cursor(self, y: int) -> bool:
        """Whether the terminal's cursor is in a row of the tab."""
        return self.frame is not None and self.past is None and y == self.frame.info.cursor_y - self.first

    def number(self, y: int) -> int:
        """The selection number of a row of the tab."""
        return _FAR + self.top + y - self.total

    def numbered(self, first: int | None, last: int | None) -> list[tuple[int, str]]:
        """The lines with these numbers, as far as loaded; `None`: from the oldest, to the newest."""
        past = self.past or Scrollback(self.lines, self.total - len(self.lines))
        least = 0 if first is None else first - _FAR + self.total
        most = past.total - 1 if last is None else last - _FAR + self.total
        rows = range(max(least, past.missing), most + 1)
        return [(at - past.total + _FAR, past.line(at) or "") for at in rows]

    # What changes it

    def show(self, frame: Frame) -> set[int] | None:
        """Take a frame; returns the rows of the tab to redraw, `None`: all. No rows while paused."""
        before, first = self.frame, self.first
        self.frame = frame
        if self.past is not None:
            self.behind = self.behind or bool(frame.changed)
            return set()
        was, self._cursor_row = self._cursor_row, frame.info.cursor_y - self.first
        if before is None or self.first != first or len(before.lines) != len(frame.lines):
            return None
        return {at - first for at in frame.changed} | {was, self._cursor_row}

    def forget(self) -> None:
        """Show nothing until a frame of another terminal comes."""
        self.frame = None

    def hold(self) -> Scrollback:
        """Pause the picture."""
        if self.past is None:
            info = self.info
            history = 0 if info is None or info.alternate else info.history
            first = self.first
            self.past = Scrollback(self.lines, history)
            self._up = max(0, len(self.lines) - self.height - first)
            self.behind = False
        return self.past

    def let_go(self) -> None:
        """Show the live screen."""
        self.past = None
        self._up = 0
        self.behind = False

    def move(self, rows: int) -> None:
        """Scroll down by this many rows (negative: up) in the paused picture."""
        self._up = max(0, min(self.hold().total - self.height, self._up - rows))
