"""Text that a program writes at its cursor, in the frame before tmux is asked what the screen shows.

What a letter does behind the end of a row is known, if the frame shows everything written before it, and the last of
that in the style in which the program writes. Owns when that is certain. Refuses every control character, lines that
would wrap, and signs of more than one cell. The capture that follows has the last word.
"""

from __future__ import annotations

import re

from gshtui.text.cells import width
from gshtui.tmux.panes import PaneInfo

_TEXT = re.compile(r"[ -\[\]-~\u00a1-\u00ac\u00ae-\u02af\u0391-\u03a9\u03b1-\u03ff\u0400-\u0482\u048a-\u0556]+")
"""Characters of one cell that stand beside each other; tmux writes a backslash as it does controls, by its number."""
_DRAWN = frozenset("`afgijklmnopqrstuvwxyz{|}~")
"""Letters that are other signs while a program draws lines: one that is itself says that it does not."""
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_ENDS_IN_STYLE = re.compile(r"\x1b\[[0-9;:]*m\Z")


class WrittenText:
    """What is known of a pane's output since its last capture.

    Attributes:
        heard: pieces of output so far.
        shown: the number of the piece that was shown last without a capture.
    """

    def __init__(self) -> None:
        self.heard = 0
        self.shown = 0
        self._last = ""
        """The last character written; empty: not known, or something else was written behind it."""
        self._current = False
        """The frame shows all that was written."""
        self._styled = False
        """The program writes in the style of the cell before the cursor."""
        self._letters = False
        """All letters are themselves now."""

    def forget(self) -> None:
        """There may have been output that was not heard."""
        self.heard += 1
        self._last, self._current, self._styled, self._letters = "", False, False, False

    def add_output(self, said: bytes, row: str, info: PaneInfo | None) -> str:
        """Take a piece of output as tmux tells it; the text in it that goes behind the row, where that is certain.

        Args:
            row: the one with the cursor, as the newest frame has it.
            info: the pane in the newest frame; `None`: what was written is not to be shown.
        """
        try:
            text = said.decode()
        except UnicodeDecodeError:
            text = ""
        if not _TEXT.fullmatch(text):
            self.forget()
            return ""
        self.heard += 1
        self._current = (
            self._current
            and self._styled
            and (self._letters or _DRAWN.isdisjoint(text))
            and info is not None
            and _ends_at_cursor(row, info, self._last)
            and info.cursor_x + len(text) < info.width
        )
        self._last = text[-1]
        if self._current:
            self.shown = self.heard
        return text if self._current else ""

    def captured(self, row: str, info: PaneInfo, asked: int) -> None:
        """Take a capture: the row with the cursor. `asked`: what `heard` was when it was asked for."""
        self._current = self.heard == asked
        if self._current and _ends_at_cursor(row, info, self._last):
            self._styled = True
            self._letters = self._letters or self._last in _DRAWN


def _ends_at_cursor(row: str, info: PaneInfo, last: str) -> bool:
    """Whether the row ends with this character, and the cursor is behind it, where the program writes."""
    if not last or info.dead or info.in_mode or not row.endswith(last) or _ENDS_IN_STYLE.search(row):
        return False
    return width(_STYLE.sub("", row)) == info.cursor_x
