"""A drafting text area that proposes: completions of the word at the cursor, and what was sent before.

It owns when lists open and close and what the arrow keys mean; candidates are the sources' and `history`'s. Base of
`PromptInput`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from textual.message import Message
from textual.widgets import TextArea

from gshtui.ui.prompt.completion import Candidate, Completer, CompletionSource
from gshtui.ui.prompt.drafting import DraftingArea
from gshtui.ui.prompt.history import History
from gshtui.ui.prompt.popup import CompletionPopup

HINT = "Ask for anything · / command · @ file · ! shell"
SEARCH_HINT = "Search what was sent · enter takes it · esc goes back"
FOUND = 50
LABEL = 500
"""Characters of a sent text that are searched and shown."""


class RecallingArea(DraftingArea):
    """See the module."""

    class Searched(Message):
        """A search in the history began or ended."""

        def __init__(self, searching: bool) -> None:
            super().__init__()
            self.searching = searching

    def __init__(
        self, *, project: Path, keep_drafts: bool, completions: Iterable[CompletionSource], popup: CompletionPopup
    ) -> None:
        self.past = History()
        self.popup = popup
        self.searching = False
        """Whether what is typed is looked for in the history."""
        self._completer = Completer(self._offer, self.complain)
        self._take_first = False
        self._completer.sources.extend(completions)
        super().__init__(id="prompt", placeholder=HINT, project=project, keep_drafts=keep_drafts)

    def add_source(self, source: CompletionSource) -> None:
        """Ask this source too from now on."""
        self._completer.sources.append(source)

    def written(self) -> None:
        """Follow what is typed."""
        self.past.stop()
        if self.searching:
            self._show_found()
        else:
            self._look()

    def _offer(self, candidates: Sequence[Candidate]) -> None:
        self.popup.show(candidates)
        if self._take_first and candidates:
            self.take(candidates[0])
        self._take_first = False

    def _look(self) -> None:
        self._take_first = False
        row, column = self.cursor_location
        if not self._completer.sources or not self._completer.update(self.document[row][:column], row):
            self.popup.close()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        """A list belongs to a word: it goes when the cursor leaves it."""
        event.stop()
        chosen = self.popup.chosen
        if chosen is not None and not self.searching and self.cursor_location[1] < chosen.start:
            self.close_list()

    def on_blur(self) -> None:
        """Whoever looks elsewhere needs no list."""
        self.close_list()

    async def on_unmount(self) -> None:
        """Nobody waits for candidates any more."""
        self._completer.cancel()

    def close_list(self) -> None:
        """Close the list and want no candidates that are still on their way."""
        self._completer.cancel()
        self.popup.close()

    def place(self, text: str, folds: dict[int, str] | None = None) -> None:
        """Show a text that nobody types; a list that was open was for another one."""
        self.close_list()
        super().place(text, folds)

    def back_out(self) -> bool:
        """Leave the search or the list; False: there was none."""
        if self.searching:
            self._end_search(None)
        elif self.popup.is_open:
            self.close_list()
        else:
            return False
        return True

    # Completion

    def enter_takes(self) -> bool:
        """Whether enter is for the list: something was chosen by key, or taking it would change the word."""
        chosen = self.popup.chosen
        if chosen is None or self.searching or self._completer.pending:
            return self.searching
        row, column = self.cursor_location
        return self.popup.moved or self.document[row][chosen.start : column] != chosen.insert

    def action_complete(self) -> None:
        """Take the marked candidate, the first one as soon as it is known, or look for some."""
        if self._completer.pending:
            self._take_first = True  # what is shown belongs to what was written before
        elif self.popup.is_open or self.searching:
            self.take(self.popup.chosen)
        else:
            self._look()

    def take(self, candidate: Candidate | None) -> None:
        """Put the candidate in place of the word at the cursor; from a search, in place of everything."""
        if self.searching:
            self._end_search(candidate)
        elif candidate is not None:
            row, column = self.cursor_location
            space = " " if candidate.ends_word and self.document[row][column : column + 1] != " " else ""
            self.close_list()
            self._replace_via_keyboard(candidate.insert + space, (row, candidate.start), (row, column))
            if candidate.ends_word:
                self.close_list()

    # History

    def action_cursor_up(self, select: bool = False) -> None:
        """Up in the list, in the text, or from its first line to what was sent before."""
        if self.popup.is_open:
            self.popup.move(-1)
        elif not select and self.wrapped_document.location_to_offset(self.cursor_location).y == 0:
            if (older := self.past.older(self.text)) is not None:
                self.place(older)
                self.move_cursor((0, len(self.document[0])))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down in the list, in the text, or from its last line back to what was being written."""
        last = self.wrapped_document.height - 1
        if self.popup.is_open:
            self.popup.move(1)
        elif not select and self.wrapped_document.location_to_offset(self.cursor_location).y == last:
            if (newer := self.past.newer()) is not None:
                self.place(newer)
        else:
            super().action_cursor_down(select)

    def action_search_history(self) -> None:
        """Search what was sent before, by what is typed now; again: on to the next one."""
        if self.searching:
            if self.popup.is_open:
                self.popup.move(1)
            return
        self.set_aside()
        self.searching = True
        self.placeholder = SEARCH_HINT
        self.post_message(self.Searched(True))
        self.place("")
        self._show_found()

    def _show_found(self) -> None:
        from gshtui.ui.kit.fuzzy import Match, best

        sent = {text[:LABEL]: text for text in self.past.newest_first()}
        query = self.text.strip()
        found = best(query, sent, FOUND) if query else [Match(label, 0) for label in list(sent)[:FOUND]]
        self.popup.show([Candidate(sent[m.text], 0, m.text, kind="history", marked=m.positions) for m in found])

    def _end_search(self, candidate: Candidate | None) -> None:
        self.searching = False
        self.placeholder = HINT
        self.post_message(self.Searched(False))
        self.bring_back()
        if candidate is not None:
            self.place(candidate.insert)
