"""When a screen last showed words that it had not shown just before: what moves without them is an animation.

A spinner, a logo or a blinking cursor draws the same few cells again and again; a program that works writes something
new, if only the seconds that it takes. Held by the status watcher.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.programs.screen.screen_reading import without_styles

_REMEMBERED = 90.0
"""Seconds for which a row's words are known."""
_STATES = 64
"""Most words that are known of one row, the newest."""


class ScreenNews:
    """One screen. `at`: when it last showed something new, in the clock of `note`; 0 before the first look."""

    def __init__(self) -> None:
        self.at = 0.0
        self._rows: dict[int, dict[str, float]] = {}
        """Row → its words, and when it had them last; those of the last look stand last."""
        self._lines: tuple[str, ...] = ()

    def note(self, lines: Sequence[str], now: float) -> None:
        """Look at it.

        Args:
            lines: as captured, with their styles.
            now: seconds.
        """
        same, self._lines = self._lines, tuple(lines)
        for row, line in enumerate(lines):
            known = self._rows.setdefault(row, {})
            if row < len(same) and same[row] == line:
                known[next(reversed(known))] = now
                continue
            words = _words(line)
            before = known.pop(words, None)
            known[words] = now
            if before is None or now - before > _REMEMBERED:
                self.at = now
            if len(known) > _STATES:
                del known[next(iter(known))]
        for row in [row for row in self._rows if row >= len(lines)]:
            del self._rows[row]

    def shift(self, seconds: float) -> None:
        """The clock was set: all that is known happened so many seconds later."""
        self.at += seconds if self.at else 0.0
        for known in self._rows.values():
            known.update({words: at + seconds for words, at in known.items()})


def _words(line: str) -> str:
    """The letters and digits of a row, and nothing of where they stand or what is drawn around them."""
    return "".join(filter(str.isalnum, without_styles(line)))
