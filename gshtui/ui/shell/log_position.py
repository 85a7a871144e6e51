"""Where the reader of a long list is: the rows on the screen, and the row under the cursor.

Pure; a row is its number. The newest row, the last one, is followed until the cursor leaves it.
"""

from __future__ import annotations


class LogPosition:
    """A cursor and a window of `height` rows on `total` rows. Both may change at any time; `settle` fits it to them."""

    def __init__(self) -> None:
        self.total = 0
        self.height = 0
        self.top = 0
        """The number of the first row on the screen."""
        self.follows = True
        """Whether the newest row is kept visible."""
        self._cursor = -1

    @property
    def cursor(self) -> int:
        """The row under the cursor; -1: there is none."""
        last = self.total - 1
        return last if self.follows or self._cursor < 0 else min(self._cursor, last)

    @property
    def held(self) -> int:
        """The row that the cursor was put on last, also where there are fewer rows now."""
        return self._cursor

    @property
    def bottom(self) -> int:
        """The lowest row on the screen."""
        return self.top + max(1, self.height) - 1

    def go(self, row: int) -> None:
        """Put the cursor on a row, and have it in sight."""
        last = self.total - 1
        self._cursor = max(0, min(last, row))
        self.follows = self._cursor == last
        if self._cursor < self.top:
            self.top = self._cursor
        elif self._cursor > self.bottom:
            self.top = self._cursor - self.height + 1

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self.go(self.cursor + rows)

    def page(self, pages: int) -> None:
        """Move the cursor by screens."""
        self.move(pages * max(1, self.height - 1))

    def scroll(self, rows: int) -> None:
        """Show other rows; the cursor stays where it is."""
        most = self._lowest_top
        if self.follows and rows < 0 and most:
            self._cursor = self.cursor
            self.follows = False
        self.top = max(0, min(most, self.top + rows))
        if self.top == most and self._cursor >= self.total - 1:
            self.follows = True

    def moved_to(self, row: int) -> None:
        """What was under the cursor has this number now; it stays where it is on the screen."""
        self.top += row - self._cursor
        self._cursor = row

    def settle(self) -> None:
        """Fit the screen to what there is."""
        most = self._lowest_top
        self.top = most if self.follows else max(0, min(most, self.top))

    @property
    def _lowest_top(self) -> int:
        return max(0, self.total - self.height)
