"""The transcript's search: words lit up where they are seen, and the way from one place to the next.

Owns what the reader sees of a search; the looking itself is `search.py`. Refuses to ask for words (the pane's search
line does). The transcript is built on it.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.message import Message

from gshtui.ui.kit.overlay import Range, found_in
from gshtui.ui.kit.transcript.canvas import GUTTER
from gshtui.ui.kit.transcript.cursor import Cursor
from gshtui.ui.kit.transcript.entries import Entry
from gshtui.ui.kit.transcript.feed import Feed
from gshtui.ui.kit.transcript.search import Search
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.viewport import Row

_SLICE = 0.008
_CONTEXT = 3


class Searching(Feed):
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
        self.search: Search | None = None
        self.cursor = Cursor(self.document, self.viewport)

    def find(self, words: str) -> None:
        """Search for these words from the newest entry on, and go to the first place; no words end the search."""
        self.search = Search(self.document, words) if words.strip() else None
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

    def ranges(self, row: Row, y: int) -> list[Range]:
        selected = super().ranges(row, y)
        search = self.search
        if search is None or row.line is None or selected:
            return selected
        palette = self.document.page.palette
        here = search.here
        look = palette.match_here if here is not None and self.cursor.on(row) else palette.match
        return found_in(row.line.text, search.needle, look, GUTTER)

    def forget(self) -> None:
        self.search = None
        self.cursor = Cursor(self.document, self.viewport)

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

    def _look_on(self, search: Search) -> None:
        if search is self.search:
            self._look()

    def _say(self) -> None:
        search = self.search
        if search is None:
            self.post_message(self.Searched("", 0, 0, True))
        else:
            self.post_message(self.Searched(search.words, search.at + 1, len(search.hits), search.done))
