"""A terminal's lines held still: the screen as it was at one moment, and above it as much of the past as was asked for.

Pure. The past is fetched in pages from below; the program may print meanwhile, so each page overlaps what is known and
is put where it fits. Called by the terminal view, which fetches.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.ui.terminal.rows import text_of

PAGE = 1_000
"""Lines that are fetched at once; costs tmux some 12 ms."""
OVERLAP = 24
TORN = "\x1b[2m⋯ what was above is gone: more has been printed than the terminal keeps ⋯\x1b[0m"


class Past:
    """Lines from the oldest that is known to the lowest of the screen.

    Args:
        screen: the rows of the screen.
        history: lines above it when it was taken.
    """

    def __init__(self, screen: Sequence[str], history: int) -> None:
        self.lines = list(screen)
        """What is loaded: always the lower end."""
        self.missing = history
        """Lines above those, as far as is known."""
        self._height = len(screen)

    @property
    def total(self) -> int:
        """Lines there are, loaded or not."""
        return self.missing + len(self.lines)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.missing <= 0

    def line(self, at: int) -> str | None:
        """The line of this number, counted from the oldest; `None`: it is not loaded, or there is none."""
        index = at - self.missing
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def wanted(self, grown: int) -> tuple[int, int]:
        """First and last line of the next page, as tmux counts them: 0 is the top of the screen as it is now.

        Args:
            grown: lines that have gone up into the past since this was taken.
        """
        top = self._height - len(self.lines) - grown
        return top - PAGE, top + self._overlap - 1

    def take(self, page: Sequence[str], *, whole: bool = False) -> bool:
        """Put the page that was asked for above; False: what is known is not in it, more was printed than thought.

        Args:
            whole: it holds all that the terminal keeps.
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
        """What was above is not kept any more."""
        if self.missing:
            self.lines.insert(0, TORN)
        self.missing = 0

    @property
    def _overlap(self) -> int:
        return min(OVERLAP, len(self.lines))

    def text(self, first: int, last: int) -> list[str]:
        """The words of these lines, as far as they are loaded."""
        return [text_of(line) for at in range(first, last + 1) if (line := self.line(at)) is not None]


def _place(page: Sequence[str], known: Sequence[str], expected: int) -> int | None:
    """Where in the page the known lines are, nearest to where they should be; `None`: nowhere."""
    words = [text_of(line) for line in page]
    wanted = [text_of(line) for line in known]
    places = sorted(range(len(words) - len(wanted) + 1), key=lambda at: abs(at - expected))
    return next((at for at in places if words[at : at + len(wanted)] == wanted), None)
