"""The input line: many lines to write a prompt in, with history, completion, an editor and drafts.

It owns what is being written and nothing else: it says upwards what was sent (`Intent`, `CommandLine`) and never knows
what became of it. Composed in `PromptArea`; the rules of what goes where are `routing`'s.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual import events
from textual.message import Message

from gshtui.bus.events.agent import PromptEditRequested, PromptSubmitted
from gshtui.bus.ids import new_id
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.messages import CommandLine, Intent, Note
from gshtui.ui.kit.surroundings import app_of
from gshtui.ui.prompt.completion import Candidate, CompletionSource
from gshtui.ui.prompt.mentions import attachments
from gshtui.ui.prompt.popup import CompletionPopup
from gshtui.ui.prompt.recalling import RecallingArea
from gshtui.ui.prompt.routing import Commands, Nothing, ToAgent, ToLog, route


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
        if isinstance(target, Nothing):
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

    def take_clicked(self, candidate: Candidate) -> None:
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
        from gshtui.ui.kit.editor import EditorError, edited

        before = self.value
        try:
            text = await edited(app_of(self), before)
        except EditorError as error:
            self.complain(str(error))
            return
        if text != before:
            self.place(text)
