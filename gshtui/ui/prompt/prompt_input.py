"""The input line: a multi-line prompt with completion, history, an external editor and drafts.

Decides which part handles a key (`Drafts`, `WordCompletion`, `PromptHistory`, `Folds`) and posts what was sent
(`Intent`, `CommandLine`); `prompt_routing` decides where a text goes.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Location

from gshtui.bus.events.agent_events import PromptBegun, PromptEditRequested
from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import CommandLine, Intent, TypesInCall
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.kit.widgets.front_scroll import FrontScroll, ScrollWish
from gshtui.ui.prompt.drafts import DraftKeeper, Drafts, PromptDraft
from gshtui.ui.prompt.key_hints import KeyUse
from gshtui.ui.prompt.line_editing import LineEdit, LineEditing
from gshtui.ui.prompt.prompt_completion import CompletionItem, CompletionPopup, CompletionSource, WordCompletion
from gshtui.ui.prompt.prompt_history import PromptHistory, SentHistory
from gshtui.ui.prompt.prompt_routing import Addressee, Commands, NothingToSend, ToAgent, route, sent_as
from gshtui.ui.prompt.quick_keys import QuickKeys

if TYPE_CHECKING:
    from gshtui.ui.prompt.vi_editing import ViEditing

_DROPPED = ("/", "~", "'", '"', "f")
"""What the path of a dropped file begins with, as terminals paste it."""
_BEGUN = re.compile(r"/[^/\s]*")
"""A command that may not be whole."""
_TYPING_EVERY = 3.0
"""Seconds between two notes that the person types in a call."""


class PromptInput(FoldingArea):
    """See the module.

    Args:
        agent: the recipient.
        project: where `@file` and drafts belong; the current folder unless given.
        completions: sources of completions at the cursor; `add_source` adds more.
        commands: names of commands and their parameters; may be set later.
        popup, keys: the list of candidates and the sheet of keys; the parent composes them.
        keep_drafts: whether drafts are stored on disk.
    """

    BINDINGS = [
        bind("prompt.submit", "submit"),
        bind("prompt.newline", "newline"),
        bind("prompt.complete", "complete"),
        bind("prompt.history", "search_history"),
        bind("prompt.editor", "edit_outside"),
        bind("prompt.paste", "paste_picture"),
        bind("prompt.open_paste", "open_paste"),
        bind("prompt.word_left", "cursor_word_left"),
        bind("prompt.word_right", "cursor_word_right"),
        bind("prompt.line_start", "cursor_line_start"),
        bind("prompt.line_end", "cursor_line_end"),
        bind("prompt.right", "cursor_right"),
        bind("prompt.delete_to_end", "line('kill_to_end')"),
        bind("prompt.delete_to_start", "line('kill_to_start')"),
        bind("prompt.delete_back", "line('kill_to_space')"),
        bind("prompt.delete_word_left", "line('kill_word_left')"),
        bind("prompt.delete_word_right", "line('kill_word_right')"),
        bind("prompt.yank", "line('yank')"),
        bind("prompt.yank_older", "line('yank_older')"),
        bind("prompt.undo", "undo"),
        bind("prompt.redo", "redo"),
        bind("chat.page_up", "page(-1)"),
        bind("chat.page_down", "page(1)"),
        bind("chat.home", "beginning"),
        bind("chat.end", "end"),
        bind("chat.previous_prompt", "scroll('previous_prompt')"),
        bind("chat.next_prompt", "scroll('next_prompt')"),
    ]

    class Sent(Message):
        """A text, in full, for this folder's history."""

        def __init__(self, text: str, *, now: bool = True) -> None:
            super().__init__()
            self.text = text
            self.now = now

    class KeysChanged(Message):
        """Keys do something else now: `key_use` is another."""

    def __init__(
        self,
        agent: str = "main",
        *,
        project: Path | None = None,
        completions: Iterable[CompletionSource] = (),
        commands: Commands | None = None,
        popup: CompletionPopup | None = None,
        keys: QuickKeys | None = None,
        keep_drafts: bool = True,
    ) -> None:
        super().__init__(id="prompt")
        self.agent = agent
        self.addressee = Addressee(agent)
        """Who gets the prompts."""
        self.look_up: Callable[[Addressee], Addressee] = lambda addressee: addressee
        """How an addressee is now; the window's screen sets it."""
        self._typed = float("-inf")
        self._begun = False
        """Whether it was announced that the prompt in the input is being written."""
        self.commands: Commands = commands or {}
        self.project = project or Path.cwd()
        self.editing = ""
        """Id of the waiting prompt being edited; empty: a new prompt."""
        self._edited_agent = agent
        self.failed = False
        """Whether the turn of the agent's last prompt has failed."""
        self._prompts: dict[str, str] = {}
        """What was sent to each agent last."""
        self.popup = popup or CompletionPopup()
        self._sheet = keys or QuickKeys()
        self.drafts = Drafts(self, self.place, DraftKeeper(self.project, self.complain) if keep_drafts else None)
        self._completion = WordCompletion(self, self.popup, completions, self.complain)
        self._history = PromptHistory(self, self.popup, self.drafts, self.place)
        self._placing = False
        self._use = ""
        self._lines = LineEditing(self)
        self._vi: ViEditing | None = None
        self._used: tuple[KeyUse, bool] = "writing", False
        """What keys did when that was announced last."""
        self._show_addressee()
        self.popup.changed = lambda: self.call_next(self._look_at_keys)  # once its candidates count
        self._cleared = False
        self.front_scroll: FrontScroll | None = None
        """What the keys for scrolling scroll; the window's screen sets it."""

    @property
    def past(self) -> SentHistory:
        """Sent prompts."""
        return self._history.sent

    def on_mount(self) -> None:
        self.run_worker(self.drafts.restore(self._remember), exit_on_error=False, group="draft")

    async def on_unmount(self) -> None:
        self._completion.cancel()
        await self.drafts.close()

    def complain(self, why: str) -> None:
        """Tell the person what failed."""
        self.notify(why, severity="warning", markup=False)

    def add_source(self, source: CompletionSource) -> None:
        """Also ask this source for completions from now on."""
        self._completion.add_source(source)

    def address(self, addressee: Addressee) -> None:
        """Send prompts to this agent from now on."""
        if addressee != self.addressee:
            self.addressee = addressee
            self.drafts.turn_to(addressee.key, addressee.known_as)
            self._show_addressee()

    def show_use(self, words: str) -> None:
        """Name, beside who gets it, what else can be done with what is written; empty: nothing."""
        if words != self._use:
            self._use = words
            self._show_addressee()

    def _show_addressee(self) -> None:
        self.border_title = self.addressee.title(self._use)
        self.on_resize()
        self._look_at_keys()

    def on_resize(self) -> None:
        self._history.hint = self.addressee.placeholder(self.content_size.width)

    # The text

    def place(self, text: str, folds: dict[int, str] | None = None) -> None:
        """Show a text that nobody typed; closes the list, which was for another text."""
        self._completion.close()
        self._placing = True
        try:
            self.put(text, folds)
        finally:
            self._placing = False
        self._look_at_keys()

    def changed(self) -> None:
        if not self.is_mounted:
            return
        self.drafts.keep_soon()
        self._begun = self._begun and bool(self.text)
        if self._placing:
            return
        if self.text and not self._begun:
            self._begun = True
            self.post_message(Intent(PromptBegun(agent=self.addressee.agent)))
        if self.addressee.call and self.text and not self.text.startswith("/"):
            self._note_typing()
        if self.front_scroll is not None:
            self.front_scroll.go_back()
        self._history.update()
        if not self._history.searching:
            self._completion.update()
        self._look_at_keys()

    def _note_typing(self) -> None:
        """Let the others in the call know, now and then."""
        now = time.monotonic()
        if now - self._typed > _TYPING_EVERY:
            self._typed = now
            self.post_message(TypesInCall())

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._completion.close_before_word()

    def on_blur(self) -> None:
        self._completion.close()
        self._sheet.close()

    # Keys

    @property
    def key_use(self) -> KeyUse:
        """What keys do now."""
        if self._history.searching:
            return "searching"
        if self.popup.is_open:
            if not (self._completion.stands_whole or self._completion.wants_enter):
                return "listing"
            return "running" if self._completion.stands_whole or self._completion.wants_to_run else "choosing"
        if self._vi is not None and not self._vi.types:
            return "normal"
        if self.failed and not self.text and self.addressee.agent in self._prompts:
            return "failed"
        if self.editing:
            return "editing"
        return "ended" if self.addressee.ended and self._is_prompt else "writing"

    @property
    def _is_prompt(self) -> bool:
        target = route(self.value, self.commands, self.addressee.offers, typed=self.addressee.program)
        return not self.addressee.call and isinstance(target, ToAgent | NothingToSend)

    @property
    def leaves_nothing_first(self) -> bool:
        """Whether it has the focus, and escape leaves nothing in it before it ends what goes on."""
        first = self._vi is not None and self._vi.types
        standing = self.front_scroll is not None and self.front_scroll.standing
        first = first or standing or self.popup.display
        return self.screen.focused is self and not first and self.key_use in ("writing", "normal", "failed", "ended")

    def _look_at_keys(self) -> None:
        # While candidates for the newest letter are awaited, the ones before it are still in sight.
        if not self._completion.pending and (use := (self.key_use, bool(self.text))) != self._used:
            self._used = use
            self.post_message(self.KeysChanged())

    async def run_bound(self, key: str, action: str) -> bool:
        """Handle a bound key; `tab` moves to the next widget while the input is empty."""
        if key == "tab" and not self.text and not self.popup.is_open:
            return False
        return await super().run_bound(key, action)

    def appends(self, key: events.Key) -> bool:
        return self._types() and super().appends(key)

    def shortens(self, key: events.Key) -> bool:
        return self._types() and super().shortens(key)

    def _types(self) -> bool:
        """Whether keys go into the text, and none does something else first."""
        return not (self._sheet.display or self._history.searching or (self._vi is not None and not self._vi.types))

    async def on_key(self, event: events.Key) -> None:
        await self._take_key(event)
        self._look_at_keys()

    async def _take_key(self, event: events.Key) -> None:
        if self._sheet_takes(event) or self._vi_takes(event):
            event.stop()
            event.prevent_default()
            return
        if event.key == "escape":
            if self._back_out():
                event.stop()
            event.prevent_default()
            return
        await super().on_key(event)

    def insert_pasted(self, text: str, start: Location | None = None, end: Location | None = None) -> None:
        """As above, and the path of a picture, PDF or sound that was dropped becomes a mention of it."""
        if text[:1] in _DROPPED:
            from gshtui.media.mentions import dropped  # few pastes are paths

            text = dropped(text) or text
        super().insert_pasted(text, start, end)

    async def on_paste(self, event: events.Paste) -> None:
        await super().on_paste(event)
        if not event.text:  # what terminals send if there is no text on the clipboard, such as a picture
            self.run_worker(self._paste_picture(quiet=True), exit_on_error=False, group="paste", exclusive=True)

    def action_paste_picture(self) -> None:
        """Mention the picture that is on the clipboard; without one, paste the text that was copied in the window."""
        self.run_worker(self._paste_picture(), exit_on_error=False, group="paste", exclusive=True)

    async def _paste_picture(self, *, quiet: bool = False) -> None:
        from gshtui.ui.prompt.picture_paste import paste_picture  # few people paste any

        await paste_picture(self, quiet=quiet)

    def use_vi(self, wanted: bool = True) -> None:
        """Edit with the keys of vi from now on, or not with them."""
        if wanted and self._vi is None:
            from gshtui.ui.prompt.vi_editing import ViEditing  # few people want them

            self._vi = ViEditing(self, self._completion.close)
        elif not wanted and self._vi is not None:
            self._vi = None
            self.border_subtitle = ""
        self._look_at_keys()

    def _vi_takes(self, event: events.Key) -> bool:
        """Whether vi's keys are in use, and this is one; what escape leaves first keeps it."""
        if self._vi is None or self._history.searching or (event.key == "escape" and self.popup.is_open):
            return False
        return self._vi.takes(event)

    def _sheet_takes(self, event: events.Key) -> bool:
        """`?` in an empty input shows the sheet of keys; the next key closes it, and only escape does nothing else."""
        if self._sheet.display:
            self._sheet.close()
            return event.key == "escape"
        if event.character == "?" and not self.text and not self._history.searching:
            self._sheet.show()
            return True
        return False

    def _back_out(self) -> bool:
        """Leave the search, the list, the editing of a waiting prompt, or a prompt in the conversation; False: none."""
        if self._leave_list():
            return True
        if self.front_scroll is not None and self.front_scroll.go_back():
            return True
        if self.editing:
            self.end_edit()
            return True
        return False

    def _leave_list(self) -> bool:
        if self._history.searching:
            self._history.end_search(None)
        elif self.popup.display:
            self._completion.close()
        else:
            return False
        return True

    def action_cursor_up(self, select: bool = False) -> None:
        """Go up in the list, in the text, or from its first line to earlier prompts."""
        if self.popup.is_open:
            self.popup.move(-1)
        elif select or not self._history.show_older():
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Go down in the list, in the text, or from its last line to later prompts and the draft."""
        if self.popup.is_open:
            self.popup.move(1)
        elif select or not self._history.show_newer():
            super().action_cursor_down(select)

    # Editing

    def action_line(self, edit: LineEdit) -> None:
        """Edit as at a shell's prompt."""
        self._lines.do(edit)

    def clear_line(self) -> bool:
        """Leave the search or the editing of a waiting prompt, else delete the text; False: there is none.

        What was deleted comes back by undo, from the kill ring, and from the history.
        """
        if self._history.searching or self.editing:
            return self._back_out()
        if not self.text:
            return False
        value = self.value
        self._completion.close()
        self._lines.kill_all()
        self.past.add(value)
        if not self._cleared:
            self._cleared = True
            self.notify(f"Cleared. {key_of(self, 'prompt.yank')} to bring it back.", timeout=3, markup=False)
        return True

    # Scrolling: the list, a draft that is larger than the input, or else what is above

    async def action_scroll(self, wish: ScrollWish) -> None:
        """Scroll what is in front."""
        if self.front_scroll is not None:
            await self.front_scroll.go(wish)

    async def action_page(self, step: int) -> None:
        """Go a page up or down."""
        if self.popup.is_open:
            self.popup.move_page(step)
        elif self.wrapped_document.height > self.size.height:
            (super().action_cursor_page_up if step < 0 else super().action_cursor_page_down)()
        else:
            await self.action_scroll("page_up" if step < 0 else "page_down")

    async def action_beginning(self) -> None:
        """Go to the beginning of a draft of several lines, or else of what is in front."""
        await self._to_edge((0, 0), "home")

    async def action_end(self) -> None:
        """Go to the end of a draft of several lines, or else of what is in front."""
        await self._to_edge(self.document.end, "end")

    async def _to_edge(self, edge: tuple[int, int], wish: ScrollWish) -> None:
        if self.document.line_count > 1 and self.cursor_location != edge:
            self.move_cursor(edge)
        else:
            await self.action_scroll(wish)

    # Completion and search

    def action_complete(self) -> None:
        """Insert the marked candidate, or look for some."""
        if self._history.searching:
            self._history.end_search(self.popup.chosen)
        else:
            self._completion.complete()

    def tell_completion_news(self, source: CompletionSource, note: str) -> None:
        """See `WordCompletion.tell_news`."""
        self._completion.tell_news(source, note)

    def take_clicked(self, candidate: CompletionItem) -> None:
        """The person clicked a candidate."""
        if self._history.searching:
            self._history.end_search(candidate)
        else:
            self._completion.insert(candidate)
        self.focus()

    def action_search_history(self) -> None:
        """Search sent prompts by what is typed; again: the next match."""
        self._history.search()

    # Sending

    def action_newline(self) -> None:
        """Start a new line."""
        self.insert_typed("\n")

    async def action_submit(self) -> None:
        """Send, unless the list wants the key, or a backslash at the end of the line asks for another line."""
        if _BEGUN.fullmatch(self.text) and self.text[1:] not in self.commands:
            await self._completion.listed()  # what was begun is named there
        row, column = self.cursor_location
        if self._history.searching or self._completion.wants_enter:
            runs = not self._history.searching and self._completion.wants_to_run
            self.action_complete()
            if runs:
                self._send()
        elif column and self.document[row][column - 1 :] == "\\":
            self.type_over("\n", (row, column - 1), (row, column))
        else:
            self._send()

    def _send(self) -> None:
        from gshtui.ui.prompt.secret_question import ask_first  # the first frame does without it

        if ask_first(self, app_of(self)):
            return
        text = self._prompts[self.addressee.agent] if self.key_use == "failed" else self.value
        if self.editing:
            self.edit_waiting(text)
        elif self.send_to(text, self.addressee):
            self.put_away(text)

    def edit_waiting(self, text: str) -> None:
        """Replace the waiting prompt that is being edited."""
        self.post_message(Intent(PromptEditRequested(prompt=self.editing, agent=self._edited_agent, text=text)))
        self.end_edit()

    def send_to(self, text: str, addressee: Addressee) -> bool:
        """Send this; False: it can't be, and the person knows why."""
        target = route(text, self.commands, addressee.offers, typed=addressee.program)
        if isinstance(target, ToAgent) and addressee.ended and not addressee.call:
            target = NothingToSend(f"{addressee.gone}.")  # what was written stays
        if isinstance(target, NothingToSend):
            if target.why:
                self.complain(target.why)
            return False
        message = sent_as(target, addressee, self.project)
        if isinstance(message, CommandLine) and not self.commands and _BEGUN.fullmatch(text):
            message.meant = partial(self._completion.meant_by, text)
        self.post_message(message)
        if isinstance(target, ToAgent):
            self._prompts[addressee.agent] = text
        self.past.add(text)
        self.post_message(self.Sent(text))
        return True

    def _remember(self, text: str) -> None:
        self.past.add(text)
        self.post_message(self.Sent(text, now=False))

    @property
    def whose(self) -> str:
        """The `Addressee.key` of those for whom the text in the input is."""
        return self.draft_key(self._edited_agent) if self.editing else self.addressee.key

    def draft_key(self, agent: str) -> str:
        """The `Addressee.key` of an agent."""
        return "" if agent == self.agent else agent

    def put_away(self, text: str) -> None:
        """Empty it, since this text has been used; it is in the history."""
        self.past.add(text)
        self.place("")
        if self._vi is not None:
            self._vi.begin()
        self.drafts.keep()

    # Waiting prompts

    def take_back(self, texts: Sequence[str], agent: str) -> None:
        """Put prompts to an agent that were not sent before what is being written to it."""
        self.drafts.give(PromptDraft("\n\n".join(texts)), self.draft_key(agent))

    def begin_edit(self, prompt: str, text: str, agent: str = "") -> None:
        """Edit a waiting prompt of an agent, the window's own unless given; the draft comes back afterwards."""
        self._leave_list()
        self.drafts.set_aside()
        self.editing = prompt
        self._edited_agent = agent or self.agent
        self.add_class("-editing")
        self.place(text)
        self.focus()

    def end_edit(self, *, keep_text: bool = False) -> None:
        """Stop editing. `keep_text`: the prompt has left the queue, and the text stays to be sent as a new one."""
        whose, self.editing = self.whose, ""
        self.remove_class("-editing")
        if not keep_text:
            self.drafts.bring_back()
        elif whose != self.whose:
            self.drafts.give(PromptDraft(self.text, self.folds.used(self.text)), whose)
            self.drafts.bring_back()
        elif (aside := self.drafts.take_aside()) is not None and aside.text:
            self.past.add(aside.text)
        self._look_at_keys()

    # Editor

    def action_edit_outside(self) -> None:
        """Continue in the person's editor."""
        self.drafts.keep()
        self.run_worker(self._edit_outside(), exclusive=True, exit_on_error=False, group="editor")

    async def _edit_outside(self) -> None:
        from gshtui.system.editor_command import EditorError
        from gshtui.ui.kit.terminal_handoff import edit_text

        before = self.value
        try:
            text = await edit_text(app_of(self), before)
        except EditorError as error:
            self.complain(str(error))
            return
        if text != before:
            self.place(text)
