"""Search in the transcript: finds the blocks with the words, a slice of time at once, and highlights them.

Owns the hits, their order and the steps between them. Folded entries are searched too, and opened when reached. The
words come from the pane's search line.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import msgspec
from textual.message import Message

from gshtui.ui.kit.drawing.highlights import StyledRange, match_ranges
from gshtui.ui.kit.drawing.styled_lines import StyledLine
from gshtui.ui.kit.transcript.document import TranscriptDocument
from gshtui.ui.kit.transcript.entries import FOLDING, ToolEntry
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.viewport import GUTTER, BlockCursor, ScreenRow, Viewport


class TranscriptHit(msgspec.Struct, frozen=True):
    """A block that contains the words."""

    sheet: Sheet
    block: int


class TranscriptSearch:
    """One search, from the newest entry to the oldest."""

    def __init__(self, document: TranscriptDocument, words: str) -> None:
        self.words = words
        self.needle = words.casefold()
        self.hits: list[TranscriptHit] = []
        """Newest first."""
        self.at = -1
        """Index of the current hit."""
        self._document = document
        self._left = list(document.sheets)

    @property
    def done(self) -> bool:
        """Whether everything has been searched."""
        return not self._left

    @property
    def here(self) -> TranscriptHit | None:
        return self.hits[self.at] if 0 <= self.at < len(self.hits) else None

    def search_more(self, seconds: float) -> None:
        """Search more of the conversation, for about this many seconds."""
        deadline = time.perf_counter() + seconds
        while self._left and time.perf_counter() < deadline:
            sheet = self._left.pop()
            if self._document.has(sheet):
                self.hits += reversed(self._in(sheet))

    def add_older(self, sheets: list[Sheet]) -> None:
        """Search entries loaded meanwhile last."""
        self._left = sheets + self._left

    def go(self, step: int) -> TranscriptHit | None:
        """Go to the next older (1) or newer (-1) hit, wrapping around."""
        hits = self.hits
        for _ in range(len(hits)):
            self.at = (self.at + step) % len(hits) if self.at >= 0 or step > 0 else len(hits) - 1
            if self._document.has(hits[self.at].sheet):
                return self._opened(hits[self.at])
        return None

    def _in(self, sheet: Sheet) -> list[TranscriptHit]:
        entry = sheet.entry
        if isinstance(entry, ToolEntry) or (isinstance(entry, FOLDING) and not sheet.opened):
            words = (
                [entry.name, entry.subject, entry.output, entry.diff] if isinstance(entry, ToolEntry) else [entry.text]
            )
            return [TranscriptHit(sheet, 0)] if any(self.needle in part.casefold() for part in words) else []
        if self.needle not in sheet.text.casefold():
            return []
        self._document.built(sheet)
        return [
            TranscriptHit(sheet, at) for at, block in enumerate(sheet.blocks) if self.needle in block.copied.casefold()
        ]

    def _opened(self, hit: TranscriptHit) -> TranscriptHit:
        """The visible form of a hit: in a folded entry, which is opened, the first block with the words."""
        sheet = hit.sheet
        entry = sheet.entry
        if not isinstance(entry, FOLDING):
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


class TranscriptSearched(Message):
    """A search found more, or moved to another hit. `at` counts from 1; 0: none yet."""

    def __init__(self, words: str, at: int, hits: int, done: bool) -> None:
        super().__init__()
        self.words = words
        self.at = at
        self.hits = hits
        self.done = done


class SearchedWidget(Protocol):
    """The searched widget."""

    def refresh(self) -> object: ...
    def sync(self, *, whole: bool = False) -> None: ...
    def call_later(self, callback: Callable[..., object], *args: object) -> object: ...
    def post_message(self, message: Message) -> bool: ...


class TranscriptFinder:
    """A search of a transcript, run in slices of time."""

    def __init__(
        self, document: TranscriptDocument, viewport: Viewport, cursor: BlockCursor, widget: SearchedWidget
    ) -> None:
        self.search: TranscriptSearch | None = None
        self._document = document
        self._viewport = viewport
        self._cursor = cursor
        self._widget = widget

    def find(self, words: str) -> None:
        """Search for these words from the newest entry, and go to the first hit; empty: end the search."""
        self.search = TranscriptSearch(self._document, words) if words.strip() else None
        self._widget.refresh()
        if self.search is None:
            self._report()
        else:
            self._look()

    def find_more(self, step: int) -> None:
        """Go to the next older (1) or newer (-1) hit."""
        if self.search is None:
            return
        hit = self.search.go(step)
        if hit is not None:
            self._cursor.place(hit.sheet, hit.block)
            self._viewport.hold()
            self._cursor.show(context=_CONTEXT)
            self._widget.sync(whole=True)
        self._report()

    def add_older(self, sheets: list[Sheet]) -> None:
        """Also search entries added above."""
        if self.search is not None and sheets:
            done = self.search.done
            self.search.add_older(sheets)
            if done:
                self._look()

    def end(self) -> None:
        """Stop silently: the searched entries are gone."""
        self.search = None

    def ranges(self, row: ScreenRow, line: StyledLine) -> list[StyledRange]:
        """Styles over the matches in a row of the screen and its line."""
        search = self.search
        if search is None:
            return []
        palette = self._document.page.palette
        here = search.here
        look = palette.match_here if here is not None and self._cursor.on(row) else palette.match
        return match_ranges(line.text, search.needle, look, GUTTER)

    def _look(self) -> None:
        search = self.search
        if search is None:
            return
        found = bool(search.hits)
        search.search_more(_SLICE)
        if search.hits and not found:
            self.find_more(1)
        if not search.done:
            self._widget.call_later(self._look_on, search)
        else:
            self._report()

    def _look_on(self, search: TranscriptSearch) -> None:
        if search is self.search:
            self._look()

    def _report(self) -> None:
        search = self.search
        if search is None:
            searched = TranscriptSearched("", 0, 0, True)
        else:
            searched = TranscriptSearched(search.words, search.at + 1, len(search.hits), search.done)
        self._widget.post_message(searched)
