"""Words of an answer as they come: whole lines go up into the transcript, the one that is not whole is drawn again.

Pure; every line is sanitised when it is whole, and what is drawn of an unfinished one too. Held by the pane.
"""

from __future__ import annotations

from gshtui.guard.sanitise import plain
from gshtui.headless.agent_pane.pane_lines import styled
from gshtui.text import cells

_LONGEST = 2_000
"""Characters of a line after which it goes up in pieces."""


class Words:
    """The unfinished line of one answer, words or thoughts."""

    def __init__(self) -> None:
        self._message = ""
        self._codes: tuple[str, ...] = ()
        self._line = ""
        self._begun = False

    def say(self, message: str, text: str, *codes: str) -> list[str]:
        """Take more words; the lines that are whole now."""
        found: list[str] = []
        if (message, codes) != (self._message, self._codes):
            found = self.rest()
            self._message, self._codes = message, codes
        if not self._begun and text:
            self._begun = True
            found.append("")
        *whole, self._line = (self._line + text).split("\n")
        for line in whole:
            found += self._shown(line)
        while len(self._line) > _LONGEST:
            at = self._line.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
            found += self._shown(self._line[:at])
            self._line = self._line[at:]
        return found

    def rest(self) -> list[str]:
        """The unfinished line, since nothing more comes of this answer."""
        line, self._line = self._line, ""
        self._begun = False
        return self._shown(line) if line else []

    def unfinished(self, width: int, most: int) -> list[str]:
        """The rows of the unfinished line, the last `most` of them."""
        if not self._line:
            return []
        shown = plain(self._line).replace("\n", " ").replace("\t", "    ")
        return [styled(row, *self._codes) for row in cells.rows(shown, width)[-most:]]

    def _shown(self, line: str) -> list[str]:
        return [styled(part, *self._codes) for part in plain(line).split("\n")]
