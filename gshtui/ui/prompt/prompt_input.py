"""The input line: many lines to write a prompt in, with completion, the history of what was sent, an editor and drafts.

Owns what is being written, when lists open and close and what the arrow keys mean. Says upwards what was sent
(`Intent`, `CommandLine`); where a text goes is decided by `prompt_routing`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from textual import events
from textual.message import Message
from textual.widgets import TextArea

from gshtui.bus.events.agent import PromptEditRequested, PromptSubmitted
from gshtui.system.ids import new_id
from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import CommandLine, Intent, Note
from gshtui.ui.prompt.drafts import DraftingArea
from gshtui.ui.prompt.prompt_completion import Completer, CompletionItem, CompletionPopup, CompletionSource
from gshtui.ui.prompt.prompt_routing import Commands, NothingToSend, ToAgent, ToLog, attachments, route
from gshtui.ui.prompt.sent_history import SentHistory

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
        self.past = SentHistory()
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

    def _offer(self, candidates: Sequence[CompletionItem]) -> None:
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

    def take(self, candidate: CompletionItem | None) -> None:
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
        from gshtui.ui.prompt.fuzzy import FuzzyMatch, best_matches

        sent = {text[:LABEL]: text for text in self.past.newest_first()}
        query = self.text.strip()
        found = best_matches(query, sent, FOUND) if query else [FuzzyMatch(label, 0) for label in list(sent)[:FOUND]]
        self.popup.show([CompletionItem(sent[m.text], 0, m.text, kind="history", marked=m.positions) for m in found])

    def _end_search(self, candidate: CompletionItem | None) -> None:
        self.searching = False
        self.placeholder = HINT
        self.post_message(self.Searched(False))
        self.bring_back()
        if candidate is not None:
            self.place(candidate.insert)


class PromptInput(RecallingArea):
    """See the module.

    Args:
        agent: who is asked.
        project: where `@file` and drafts belong; the current folder unless given.
        completions: who knows what may stand at the cursor; more by `add_source`.
        commands: names of commands and their parameters; may be set later.
        popup: the list, composed by whoever composes this.
        keep_drafts: whether what is being written is kept on disk.
    """

    BINDINGS = [
        bind("prompt.submit", "submit"),
        bind("prompt.newline", "newline"),
        bind("prompt.complete", "complete"),
        bind("prompt.history", "search_history"),
        bind("prompt.editor", "edit_outside"),
        bind("prompt.open_paste", "open_paste"),
        bind("prompt.word_left", "cursor_word_left"),
        bind("prompt.word_right", "cursor_word_right"),
        bind("prompt.delete_word_right", "delete_word_right"),
    ]

    class Sent(Message):
        """A text was sent, in full: something for the history of this folder."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class EditEnded(Message):
        """A waiting prompt is not being changed any more."""

    def __init__(
        self,
        agent: str = "main",
        *,
        project: Path | None = None,
        completions: Iterable[CompletionSource] = (),
        commands: Commands | None = None,
        popup: CompletionPopup | None = None,
        keep_drafts: bool = True,
    ) -> None:
        self.agent = agent
        self.commands: Commands = commands or {}
        self.editing = ""
        """Id of the waiting prompt that is being changed; empty: a new one is written."""
        super().__init__(
            project=project or Path.cwd(),
            keep_drafts=keep_drafts,
            completions=completions,
            popup=popup or CompletionPopup(),
        )

    async def run_bound(self, key: str, action: str) -> bool:
        """Act on a bound key; `tab` moves on to the next widget while nothing is written."""
        if key == "tab" and not self.text and not self.popup.is_open:
            return False
        return await super().run_bound(key, action)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "escape":
            if self.back_out():
                event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def back_out(self) -> bool:
        """Leave the search, the list, or the change of a waiting prompt; False: there was none of them."""
        if super().back_out():
            return True
        if self.editing:
            self.end_edit()
            return True
        return False

    # Sending

    def action_newline(self) -> None:
        """Begin a new line."""
        self._replace_via_keyboard("\n", *self.selection)

    def action_submit(self) -> None:
        """Send, unless the list wants the key or the line asks for another one by a backslash at its end."""
        if self.enter_takes():
            self.take(self.popup.chosen)
            return
        row, column = self.cursor_location
        line = self.document[row]
        if column == len(line) and line.endswith("\\"):
            self._replace_via_keyboard("\n", (row, column - 1), (row, column))
        elif self.editing:
            self.post_message(Intent(PromptEditRequested(prompt=self.editing, agent=self.agent, text=self.value)))
            self.end_edit()
        else:
            self._send()

    def _send(self) -> None:
        text = self.value
        target = route(text, self.commands)
        if isinstance(target, NothingToSend):
            if target.why:
                self.complain(target.why)
            return
        if isinstance(target, ToAgent):
            attached = attachments(target.text, self.project)
            prompt = PromptSubmitted(prompt=new_id(), agent=self.agent, text=target.text, attachments=attached)
            self.post_message(Intent(prompt))
        elif isinstance(target, ToLog):
            self.post_message(Note(target.text))
        else:
            self.post_message(CommandLine(target.line))
        self.post_message(self.Sent(text))
        self.past.add(text)
        self.place("")
        self.keep_draft()

    def take_clicked(self, candidate: CompletionItem) -> None:
        """A candidate was clicked."""
        self.take(candidate)
        self.focus()

    # Waiting prompts

    def begin_edit(self, prompt: str, text: str) -> None:
        """Change a prompt that still waits; what was being written comes back afterwards."""
        super().back_out()
        self.set_aside()
        self.editing = prompt
        self.add_class("-editing")
        self.place(text)
        self.focus()

    def end_edit(self, *, keep_text: bool = False) -> None:
        """Stop changing it. `keep_text`: it left the queue meanwhile, and what is written stays, to be sent anew."""
        self.editing = ""
        self.remove_class("-editing")
        if keep_text:
            if self.aside is not None and self.aside.text:
                self.past.add(self.aside.text)
            self.aside = None
        else:
            self.bring_back()
        self.post_message(self.EditEnded())

    # Editor

    def action_edit_outside(self) -> None:
        """Write on in the person's editor."""
        self.keep_draft()
        self.run_worker(self._edit_outside(), exclusive=True, exit_on_error=False, group="editor")

    async def _edit_outside(self) -> None:
        from gshtui.ui.kit.terminal_handoff import EditorError, edit_text

        before = self.value
        try:
            text = await edit_text(app_of(self), before)
        except EditorError as error:
            self.complain(str(error))
            return
        if text != before:
            self.place(text)
