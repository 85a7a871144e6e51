"""Sent prompts in the input line: the arrow keys walk through them, and typing searches them.

Owns the state of the search and its matches. `SentHistory` has the entries; `Drafts` puts the current text aside.
"""

from __future__ import annotations

from collections.abc import Callable

from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.prompt.drafts import Drafts
from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionPopup
from gshtui.ui.prompt.sent_history import SentHistory

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
