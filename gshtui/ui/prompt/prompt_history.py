"""Sent prompts in the input line: the arrow keys walk through them, and typing searches them.

Owns the search, its matches and the walk (`SentHistory`), which keeps the current text and returns it at its newer end;
the caller supplies the entries. `Drafts` puts the current text aside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.prompt.drafts import Drafts
from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionPopup

SEARCH_HINT = "Search sent prompts"
FOUND = 50
LABEL = 500
"""How many characters of a sent text are searched and shown."""


class PromptHistory:
    """The history of one input.

    Args:
        place: shows a text in place of what the area holds.
    """

    def __init__(self, area: FoldingArea, popup: CompletionPopup, drafts: Drafts, place: Callable[[str], None]) -> None:
        self.sent = SentHistory()
        self.searching = False
        """Whether typing searches."""
        self._area = area
        self._popup = popup
        self._drafts = drafts
        self._place = place
        self._hint = ""

    @property
    def hint(self) -> str:
        """The placeholder while nothing is searched."""
        return self._hint

    @hint.setter
    def hint(self, words: str) -> None:
        self._hint = words
        if not self.searching:
            self._area.placeholder = words

    # Walking

    def show_older(self) -> bool:
        """Show the previous entry, if the cursor is in the first row; False: it is not."""
        area = self._area
        if area.wrapped_document.location_to_offset(area.cursor_location).y != 0:
            return False
        if (older := self.sent.older(area.text)) is not None:
            self._place(older)
            area.move_cursor((0, len(area.document[0])))
        return True

    def show_newer(self) -> bool:
        """Show the next entry or the current draft, if the cursor is in the last row; False: it is not."""
        area = self._area
        if area.wrapped_document.location_to_offset(area.cursor_location).y != area.wrapped_document.height - 1:
            return False
        if (newer := self.sent.newer()) is not None:
            self._place(newer)
        return True

    # Searching

    def search(self) -> None:
        """Start a search; during a search, mark the next match."""
        if self.searching:
            if self._popup.is_open:
                self._popup.move(1)
            return
        self._drafts.set_aside()
        self._turn(True)
        self._place("")
        self._show_matches()

    def end_search(self, chosen: CompletionItem | None) -> None:
        """End the search with this entry in the input; `None`: with the earlier draft."""
        self._turn(False)
        self._drafts.bring_back()
        if chosen is not None:
            self._place(chosen.insert)

    def _turn(self, searching: bool) -> None:
        self.searching = searching
        self._area.placeholder = SEARCH_HINT if searching else self._hint
        self._popup.note("")

    def update(self) -> None:
        """The person changed the text: a walk ends, a search has new matches."""
        self.sent.stop()
        if self.searching:
            self._show_matches()

    def _show_matches(self) -> None:
        from gshtui.ui.prompt.fuzzy import FuzzyMatch, best_matches

        sent = {text[:LABEL]: text for text in self.sent.newest_first()}
        query = self._area.text.strip()
        found = best_matches(query, sent, FOUND) if query else [FuzzyMatch(label, 0) for label in list(sent)[:FOUND]]
        self._popup.show([CompletionItem(sent[m.text], 0, m.text, kind="history", marked=m.positions) for m in found])
        self._popup.note("" if found else "No sent prompt matches.")


LIMIT = 1_000


class SentHistory(msgspec.Struct):
    """Entries, oldest first, without duplicates: sending a text again makes it the newest."""

    entries: list[str] = msgspec.field(default_factory=list[str])
    _at: int = -1
    _draft: str = ""

    def load(self, newest_first: Iterable[str]) -> None:
        """Add older entries before those of this run."""
        known = set(self.entries)
        older: list[str] = []
        for entry in newest_first:
            if entry not in known:
                known.add(entry)
                older.append(entry)
        self.entries[:0] = older[::-1]
        del self.entries[: max(0, len(self.entries) - LIMIT)]
        self.stop()

    def add(self, entry: str) -> None:
        """A text was sent."""
        if entry in self.entries:
            self.entries.remove(entry)
        self.entries.append(entry)
        del self.entries[:-LIMIT]
        self.stop()

    @property
    def walking(self) -> bool:
        """Whether an older entry is shown."""
        return self._at >= 0

    def older(self, current: str) -> str | None:
        """The previous entry that starts like the text when the walk began; `None`: there is none."""
        start = self._at if self.walking else len(self.entries)
        prefix = self._draft if self.walking else current
        for at in range(start - 1, -1, -1):
            if self.entries[at].startswith(prefix) and self.entries[at] != current:
                if not self.walking:
                    self._draft = current
                self._at = at
                return self.entries[at]
        return None

    def newer(self) -> str | None:
        """The next entry, or the text from before the walk; `None`: no walk."""
        if not self.walking:
            return None
        for at in range(self._at + 1, len(self.entries)):
            if self.entries[at].startswith(self._draft):
                self._at = at
                return self.entries[at]
        draft = self._draft
        self.stop()
        return draft

    def stop(self) -> None:
        """End the walk: the person edited or sent the entry."""
        self._at = -1
        self._draft = ""

    def newest_first(self) -> list[str]:
        """All entries, for the search."""
        return self.entries[::-1]

    def commands(self) -> list[str]:
        """The names of the commands that were sent, `/name …`, the latest first."""
        names = (entry[1:].split(maxsplit=1)[:1] for entry in reversed(self.entries) if entry.startswith("/"))
        return list(dict.fromkeys(name for found in names for name in found if "/" not in name))
