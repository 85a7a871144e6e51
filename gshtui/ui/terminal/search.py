"""Looks for words in a terminal's lines, from the newest to the oldest, as far as they are loaded.

Pure. Refuses to load anything: it says when more lines are needed. Called by the terminal view.
"""

from __future__ import annotations

from gshtui.ui.terminal.past import Past
from gshtui.ui.terminal.rows import text_of


class Search:
    """Lines in which the words are, whatever their case.

    Attributes:
        hits: lines that were found, counted from the lowest line, which is 0; the newest first.
        at: which of them is in front; -1: none.
    """

    def __init__(self, words: str) -> None:
        self.words = words
        self.needle = words.casefold()
        self.hits: list[int] = []
        self.at = -1
        self._looked = 0

    def look(self, past: Past) -> int:
        """Look through what was loaded since the last time; gives how many lines were found."""
        found = [
            number
            for number in range(self._looked, len(past.lines))
            if self.needle in text_of(past.lines[-1 - number]).casefold()
        ]
        self._looked = len(past.lines)
        self.hits += found
        return len(found)

    def go(self, step: int, past: Past) -> bool:
        """Go to the next older (1) or newer (-1) line; at an end, to the other one. False: older lines are needed."""
        at = self.at + step
        if at >= len(self.hits) and not past.complete:
            return False
        self.at = at % len(self.hits) if self.hits else -1
        return True

    @property
    def here(self) -> int | None:
        """The line in front, counted from the lowest."""
        return self.hits[self.at] if 0 <= self.at < len(self.hits) else None
