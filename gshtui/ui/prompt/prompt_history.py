"""What was sent before, in the input line: walked through with the arrow keys, and searched by what is typed.

Owns whether a search is on and which matches the list shows. The entries are `SentHistory`'s; what was being written is
put aside by `Drafts`.
"""

from __future__ import annotations

from collections.abc import Callable

from textual.message import Message

from gshtui.ui.kit.folding_area import FoldingArea
from gshtui.ui.prompt.drafts import Drafts
from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionPopup
from gshtui.ui.prompt.sent_history import SentHistory

SEARCH_HINT = "Search what was sent · enter takes it · esc goes back"
FOUND = 50
LABEL = 500
"""Characters of a sent text that are searched and shown."""


class PromptHistory:
    """The history of one input.

    Args:
        place: shows a text in place of what the area holds.
    """

    class Searched(Message):
        """A search began or ended."""

        def __init__(self, searching: bool) -> None:
            super().__init__()
            self.searching = searching

    def __init__(self, area: FoldingArea, popup: CompletionPopup, drafts: Drafts, place: Callable[[str], None]) -> None:
        self.sent = SentHistory()
        self.searching = False
        """Whether what is typed is looked for."""
        self._area = area
        self._popup = popup
        self._drafts = drafts
        self._place = place
        self._hint = area.placeholder

    # Walking

    def show_older(self) -> bool:
        """From the first row of the text, show the entry before; False: the cursor is in another row."""
        area = self._area
        if area.wrapped_document.location_to_offset(area.cursor_location).y != 0:
            return False
        if (older := self.sent.older(area.text)) is not None:
            self._place(older)
            area.move_cursor((0, len(area.document[0])))
        return True

    def show_newer(self) -> bool:
        """From the last row of the text, show the entry after, or what was being written; False: as above."""
        area = self._area
        if area.wrapped_document.location_to_offset(area.cursor_location).y != area.wrapped_document.height - 1:
            return False
        if (newer := self.sent.newer()) is not None:
            self._place(newer)
        return True

    # Searching

    def search(self) -> None:
        """Begin a search; where one is on, mark its next match."""
        if self.searching:
            if self._popup.is_open:
                self._popup.move(1)
            return
        self._drafts.set_aside()
        self._turn(True)
        self._place("")
        self._show_matches()

    def end_search(self, chosen: CompletionItem | None) -> None:
        """End the search, with this entry in the input; `None`: with what was being written before."""
        self._turn(False)
        self._drafts.bring_back()
        if chosen is not None:
            self._place(chosen.insert)

    def _turn(self, searching: bool) -> None:
        self.searching = searching
        self._area.placeholder = SEARCH_HINT if searching else self._hint
        self._area.post_message(self.Searched(searching))

    def update(self) -> None:
        """The person changed the text: a walk is over, a search has other matches."""
        self.sent.stop()
        if self.searching:
            self._show_matches()

    def _show_matches(self) -> None:
        from gshtui.ui.prompt.fuzzy import FuzzyMatch, best_matches

        sent = {text[:LABEL]: text for text in self.sent.newest_first()}
        query = self._area.text.strip()
        found = best_matches(query, sent, FOUND) if query else [FuzzyMatch(label, 0) for label in list(sent)[:FOUND]]
        self._popup.show([CompletionItem(sent[m.text], 0, m.text, kind="history", marked=m.positions) for m in found])
