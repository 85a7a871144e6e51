"""The kill ring: texts that were deleted as a whole, to be put back, as in every line editor of a shell.

Pure. Deletions that follow each other without anything between are one text. Called by `LineEditing`.
"""

from __future__ import annotations

SIZE = 32


class KillRing:
    """The last deleted texts."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        """Oldest first."""
        self._at = -1

    @property
    def newest(self) -> str:
        """What was deleted last; empty: nothing was."""
        return self._texts[-1] if self._texts else ""

    def add(self, text: str, *, backward: bool = False, joined: bool = False) -> None:
        """A text was deleted.

        Args:
            backward: it stood before the cursor.
            joined: it was deleted right after the newest one, and belongs to it.
        """
        if not text:
            return
        if joined and self._texts:
            self._texts[-1] = text + self._texts[-1] if backward else self._texts[-1] + text
        else:
            self._texts.append(text)
            del self._texts[:-SIZE]
        self._at = -1

    def yanked(self) -> str:
        """The newest text, from which `older` goes on."""
        self._at = len(self._texts) - 1
        return self.newest

    def older(self) -> str:
        """The text before the one that was last given out, the newest after the oldest."""
        if not self._texts:
            return ""
        self._at = (self._at - 1) % len(self._texts)
        return self._texts[self._at]
