"""Search in a conversation: which blocks hold the words, found a slice at a time, and the way from one to the next.

Owns the hits and their order; refuses to scroll or to draw. What is folded is searched too, and opened when it is gone
to. Called by the transcript.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from gshtui.ui.kit.transcript.document import Document
from gshtui.ui.kit.transcript.entries import Thought, Tool
from gshtui.ui.kit.transcript.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Hit:
    """A block that holds the words."""

    sheet: Sheet
    block: int


class Search:
    """One search, from the newest entry to the oldest."""

    def __init__(self, document: Document, words: str) -> None:
        self.words = words
        self.needle = words.casefold()
        self.hits: list[Hit] = []
        """The newest first."""
        self.at = -1
        """Index of the hit that was gone to."""
        self._document = document
        self._left = list(document.sheets)

    @property
    def done(self) -> bool:
        """Whether everything has been looked through."""
        return not self._left

    @property
    def here(self) -> Hit | None:
        return self.hits[self.at] if 0 <= self.at < len(self.hits) else None

    def look(self, seconds: float) -> None:
        """Look through more of the conversation, for about so many seconds."""
        deadline = time.perf_counter() + seconds
        while self._left and time.perf_counter() < deadline:
            sheet = self._left.pop()
            if self._document.has(sheet):
                self.hits += reversed(self._in(sheet))

    def add_older(self, sheets: list[Sheet]) -> None:
        """Entries that were loaded meanwhile are looked through last."""
        self._left = sheets + self._left

    def go(self, step: int) -> Hit | None:
        """To the next (1) older or (-1) newer hit, round the end."""
        hits = self.hits
        for _ in range(len(hits)):
            self.at = (self.at + step) % len(hits) if self.at >= 0 or step > 0 else len(hits) - 1
            if self._document.has(hits[self.at].sheet):
                return self._opened(hits[self.at])
        return None

    def _in(self, sheet: Sheet) -> list[Hit]:
        entry = sheet.entry
        if isinstance(entry, Tool) or (isinstance(entry, Thought) and not sheet.opened):
            words = (
                [entry.text] if isinstance(entry, Thought) else [entry.name, entry.subject, entry.output, entry.diff]
            )
            return [Hit(sheet, 0)] if any(self.needle in part.casefold() for part in words) else []
        if self.needle not in sheet.text.casefold():
            return []
        self._document.built(sheet)
        return [Hit(sheet, at) for at, block in enumerate(sheet.blocks) if self.needle in block.copied.casefold()]

    def _opened(self, hit: Hit) -> Hit:
        """The hit as it can be seen: in a folded entry, which is opened, the first block that holds the words."""
        sheet = hit.sheet
        entry = sheet.entry
        if not isinstance(entry, (Tool, Thought)):
            return hit
        if not sheet.opened and not (
            isinstance(entry, Tool) and self.needle in f"{entry.name} {entry.subject}".casefold()
        ):
            self._document.toggle(sheet, True)
        self._document.built(sheet)
        for at, block in enumerate(sheet.blocks):
            if at and self.needle in block.copied.casefold():
                return Hit(sheet, at)
        return hit
