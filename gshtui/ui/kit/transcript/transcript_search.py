"""Search in the transcript: the blocks that hold the words, found a slice of time at once, lit up where they are seen.

Owns the hits, their order and the way from one to the next. What is folded is searched too, and opened on the way. The
words come from the pane's search line.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from textual.message import Message

from gshtui.ui.kit.highlights import StyledRange, match_ranges
from gshtui.ui.kit.transcript.canvas import GUTTER
from gshtui.ui.kit.transcript.document import TranscriptDocument
from gshtui.ui.kit.transcript.entries import Entry, ThoughtEntry, ToolEntry
from gshtui.ui.kit.transcript.feed import TranscriptFeed
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.viewport import BlockCursor, ScreenRow


@dataclass(frozen=True, slots=True)
class TranscriptHit:
    """A block that holds the words."""

    sheet: Sheet
    block: int


class TranscriptSearch:
    """One search, from the newest entry to the oldest."""

    def __init__(self, document: TranscriptDocument, words: str) -> None:
        self.words = words
        self.needle = words.casefold()
        self.hits: list[TranscriptHit] = []
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
    def here(self) -> TranscriptHit | None:
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

    def go(self, step: int) -> TranscriptHit | None:
        """To the next (1) older or (-1) newer hit, round the end."""
        hits = self.hits
        for _ in range(len(hits)):
            self.at = (self.at + step) % len(hits) if self.at >= 0 or step > 0 else len(hits) - 1
            if self._document.has(hits[self.at].sheet):
                return self._opened(hits[self.at])
        return None

    def _in(self, sheet: Sheet) -> list[TranscriptHit]:
        entry = sheet.entry
        if isinstance(entry, ToolEntry) or (isinstance(entry, ThoughtEntry) and not sheet.opened):
            words = (
                [entry.text]
                if isinstance(entry, ThoughtEntry)
                else [entry.name, entry.subject, entry.output, entry.diff]
            )
            return [TranscriptHit(sheet, 0)] if any(self.needle in part.casefold() for part in words) else []
        if self.needle not in sheet.text.casefold():
            return []
        self._document.built(sheet)
        return [
            TranscriptHit(sheet, at) for at, block in enumerate(sheet.blocks) if self.needle in block.copied.casefold()
        ]

    def _opened(self, hit: TranscriptHit) -> TranscriptHit:
        """The hit as it can be seen: in a folded entry, which is opened, the first block that holds the words."""
        sheet = hit.sheet
        entry = sheet.entry
        if not isinstance(entry, (ToolEntry, ThoughtEntry)):
            return hit
        if not sheet.opened and not (
            isinstance(entry, ToolEntry) and self.needle in f"{entry.name} {entry.subject}".casefold()
        ):
            self._document.toggle(sheet, True)
        self._document.built(sheet)
        for at, block in enumerate(sheet.blocks):
            if at and self.needle in block.copied.casefold():
                return TranscriptHit(sheet, at)
        return hit


_SLICE = 0.008
_CONTEXT = 3


class SearchableTranscript(TranscriptFeed):
    """A feed that can be searched."""

    class Searched(Message):
        """A search has found more, or gone to another place. `at` counts from 1, 0: nowhere yet."""

        def __init__(self, words: str, at: int, hits: int, done: bool) -> None:
            super().__init__()
            self.words = words
            self.at = at
            self.hits = hits
            self.done = done

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.search: TranscriptSearch | None = None
        self.cursor = BlockCursor(self.document, self.viewport)

    def find(self, words: str) -> None:
        """Search for these words from the newest entry on, and go to the first place; no words end the search."""
        self.search = TranscriptSearch(self.document, words) if words.strip() else None
        self.refresh()
        if self.search is None:
            self._say()
        else:
            self._look()

    def find_more(self, step: int) -> None:
        """Go to the next older (1) or newer (-1) place."""
        if self.search is None:
            return
        hit = self.search.go(step)
        if hit is not None:
            self.cursor.place(hit.sheet, hit.block)
            self.viewport.hold()
            self.cursor.show(context=_CONTEXT)
            self.sync(whole=True)
        self._say()

    def prepend(self, entries: Iterable[Entry]) -> list[Sheet]:
        sheets = super().prepend(entries)
        if self.search is not None and sheets:
            done = self.search.done
            self.search.add_older(sheets)
            if done:
                self._look()
        return sheets

    def ranges(self, row: ScreenRow, y: int) -> list[StyledRange]:
        selected = super().ranges(row, y)
        search = self.search
        if search is None or row.line is None or selected:
            return selected
        palette = self.document.page.palette
        here = search.here
        look = palette.match_here if here is not None and self.cursor.on(row) else palette.match
        return match_ranges(row.line.text, search.needle, look, GUTTER)

    def forget(self) -> None:
        self.search = None
        self.cursor = BlockCursor(self.document, self.viewport)

    def _look(self) -> None:
        search = self.search
        if search is None:
            return
        found = bool(search.hits)
        search.look(_SLICE)
        if search.hits and not found:
            self.find_more(1)
        if not search.done:
            self.call_later(self._look_on, search)
        else:
            self._say()

    def _look_on(self, search: TranscriptSearch) -> None:
        if search is self.search:
            self._look()

    def _say(self) -> None:
        search = self.search
        if search is None:
            self.post_message(self.Searched("", 0, 0, True))
        else:
            self.post_message(self.Searched(search.words, search.at + 1, len(search.hits), search.done))
