"""The search through what was sent: what is typed into the input line is looked for, and the matches are its list.

Owns whether a search is on and which matches are shown; what was being written is put aside meanwhile by `Drafts`.
"""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.widgets import TextArea

from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionPopup
from gshtui.ui.prompt.sent_history import SentHistory

SEARCH_HINT = "Search what was sent · enter takes it · esc goes back"
FOUND = 50
LABEL = 500
"""Characters of a sent text that are searched and shown."""


class HistorySearch:
    """The search of one area. The caller shows and brings back texts."""

    class Turned(Message):
        """A search began or ended."""

        def __init__(self, searching: bool) -> None:
            super().__init__()
            self.searching = searching

    def __init__(self, area: TextArea, sent: SentHistory, popup: CompletionPopup) -> None:
        self.is_on = False
        self._area = area
        self._sent = sent
        self._popup = popup
        self._hint = area.placeholder

    def begin(self) -> None:
        """What is typed is looked for from now on."""
        self._turn(True, SEARCH_HINT)

    def end(self) -> None:
        """What is typed is a prompt again."""
        self._turn(False, self._hint)

    def _turn(self, on: bool, hint: str | Content) -> None:
        self.is_on = on
        self._area.placeholder = hint
        self._area.post_message(self.Turned(on))

    def show_next(self) -> None:
        """Mark the next match."""
        if self._popup.is_open:
            self._popup.move(1)

    def show_matches(self) -> None:
        """Show what was sent that matches what is typed; with nothing typed, the newest."""
        from gshtui.ui.prompt.fuzzy import FuzzyMatch, best_matches

        sent = {text[:LABEL]: text for text in self._sent.newest_first()}
        query = self._area.text.strip()
        found = best_matches(query, sent, FOUND) if query else [FuzzyMatch(label, 0) for label in list(sent)[:FOUND]]
        self._popup.show([CompletionItem(sent[m.text], 0, m.text, kind="history", marked=m.positions) for m in found])
