"""The small dialogs: choose from a list, write a line or a few, confirm what is hard to undo, read a folded paste.

Each returns its answer and does nothing itself. A yes counts only if the question was readable before the key was
pressed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Button, Input, Log, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from gshtui.guard.answer_keys import AnswerKeys, KeyChosen
from gshtui.ui.kit.bound_keys import BoundKeys
from gshtui.ui.kit.key_table import bind


@dataclass(frozen=True, slots=True)
class PickerChoice:
    """One entry. `name` and `detail` are shown as they are, never as markup."""

    id: str
    name: str
    detail: str = ""
    current: bool = False


class Picker(ModalScreen[str | None]):
    """Type to filter, arrows to move, enter to choose."""

    BINDINGS = [bind("list.choose", "choose"), bind("list.close", "dismiss(None)")]

    def __init__(self, title: str, choices: Sequence[PickerChoice], *, empty: str, hint: str = "") -> None:
        super().__init__()
        self._title = title
        self._choices = list(choices)
        self._empty = empty
        self._hint = hint

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content(self._title), classes="dialog-title")
            yield Input(placeholder="Type to filter", id="filter", compact=True)
            yield OptionList(id="choices", markup=False, compact=True)
            yield Static(Content(self._hint), classes="dialog-hint")

    def on_mount(self) -> None:
        self._fill("")
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _filtered(self, event: Input.Changed) -> None:
        event.stop()
        self._fill(event.value)

    def _fill(self, words: str) -> None:
        listed = self.query_one(OptionList)
        listed.clear_options()
        wanted = words.lower().split()
        fitting = [
            choice
            for choice in self._choices
            if all(word in f"{choice.name} {choice.detail}".lower() for word in wanted)
        ]
        listed.add_options([Option(_choice_line(choice), id=choice.id) for choice in fitting])
        if not fitting:
            says = f"No matches for “{words}”." if self._choices else self._empty
            listed.add_option(Option(Content.styled(says, "$foreground-muted"), disabled=True))
            return
        listed.highlighted = next((at for at, choice in enumerate(fitting) if choice.current), 0)

    def on_key(self, event: events.Key) -> None:
        """Arrows and page keys move in the list while the input has the focus."""
        listed = self.query_one(OptionList)
        if self.focused is not listed and move_in_list(listed, event.key):
            event.stop()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option_id)

    def action_choose(self) -> None:
        listed = self.query_one(OptionList)
        if listed.highlighted is not None:
            option = listed.get_option_at_index(listed.highlighted)
            if not option.disabled:
                self.dismiss(option.id)


def move_in_list(listed: OptionList, key: str) -> bool:
    """Move the highlight as this key does, for a list that does not have the focus; false: the key does not move it."""
    move = {
        "up": listed.action_cursor_up,
        "down": listed.action_cursor_down,
        "pageup": listed.action_page_up,
        "pagedown": listed.action_page_down,
    }.get(key)
    if move is not None:
        move()
    return move is not None


def _choice_line(choice: PickerChoice) -> Content:
    mark = "● " if choice.current else "  "
    return Content.assemble(
        (mark, "$primary"), (choice.name, "bold"), (f"  {choice.detail}" if choice.detail else "", "$foreground-muted")
    )


class InputScreen(ModalScreen[str]):
    """Returns the text entered; empty: cancelled.

    Args:
        text: the initial text.
        lines: whether several lines are allowed.
    """

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "dismiss('')")]

    def __init__(self, title: str, *, text: str = "", hint: str = "", lines: bool = False) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._hint = hint
        self._lines = lines

    def compose(self) -> ComposeResult:
        from gshtui.text.sanitise import one_line

        with Vertical(classes="dialog"):
            yield Static(Content(one_line(self._title, 200)), classes="dialog-title")
            if self._lines:
                yield TextArea(self._text, id="words", compact=True, soft_wrap=True)
            else:
                yield Input(self._text, id="words", compact=True)
            sends = "ctrl+s sends" if self._lines else "enter confirms"
            hint = " · ".join(filter(None, (sends, "escape cancels", self._hint)))
            yield Static(Content(hint), classes="dialog-hint")

    def on_mount(self) -> None:
        self.query_one("#words", Widget).focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        field = self.query_one("#words", Widget)
        text = field.text if isinstance(field, TextArea) else field.value if isinstance(field, Input) else ""
        if text.strip():
            self.dismiss(text.strip())


_YES = frozenset({"once"})


class ConfirmScreen(ModalScreen[bool]):
    """`y` or the first button confirms; everything else cancels.

    Args:
        losses: what would be lost, one sentence each.
        note: what makes it less final, such as how long it can be undone.
        quoted: what is to be read before the answer, line for line.
    """

    BINDINGS = [bind("confirm.yes", "yes"), bind("confirm.no", "dismiss(False)")]

    def __init__(
        self, title: str, text: str, *, yes: str, losses: Sequence[str] = (), note: str = "", quoted: str = ""
    ) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._yes = yes
        self._losses = losses
        self._note = note
        self._quoted = quoted
        self._keys = AnswerKeys()
        self._bound = BoundKeys()
        self._down = 0.0

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -question"):
            yield Static(Content(_one_line(self._title)), classes="dialog-title")
            with VerticalScroll(classes="dialog-body", can_focus=bool(self._quoted)):
                if self._text or not self._quoted:
                    yield Static(Content(_one_line(self._text)))
                if self._quoted:
                    yield Static(Content(_lines(self._quoted)))
                if self._losses:
                    yield Static(Content.styled("Unsaved:", "bold $error"), classes="dialog-losses")
                for loss in self._losses:
                    yield Static(Content.assemble(("• ", "$error"), _one_line(loss)))
                if self._note:
                    yield Static(Content.styled(_one_line(self._note), "$foreground-muted"), classes="dialog-losses")
            with Horizontal(classes="dialog-buttons"):
                yield Button(Content(f"{self._yes} (y)"), id="yes", variant="error", compact=True)
                yield Button("Cancel (n)", id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()
        self.call_after_refresh(self._drawn)

    def _drawn(self) -> None:
        self._keys.show_question("this", _YES, time.monotonic())

    def on_screen_resume(self) -> None:
        self._keys.question_seen(time.monotonic())

    def on_key(self, event: events.Key) -> None:
        """A yes, by `y` or by enter on its button, counts only if the question was readable before the key press."""
        action = self._bound.action(self, event.key)
        agrees = action == "yes" or (event.key == "enter" and self.focused is self.query_one("#yes"))
        if agrees:
            event.stop()
            event.prevent_default()
        outcome = self._keys.press("once" if agrees else "move" if action else "words", event.time)
        if agrees and isinstance(outcome, KeyChosen):
            self.dismiss(True)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def action_yes(self) -> None:
        """The yes in the key bar was clicked. Keys arrive in `on_key`."""
        if isinstance(self._keys.click("once", "this", self._down), KeyChosen):
            self.dismiss(True)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "yes":
            self.action_yes()
        else:
            self.dismiss(False)


def _one_line(text: str) -> str:
    from gshtui.text.sanitise import one_line

    return one_line(text, 400)


def _lines(text: str) -> str:
    from gshtui.text.sanitise import plain

    return plain(text)


class FoldScreen(ModalScreen[None]):
    """The text, scrollable; escape closes."""

    BINDINGS = [bind("text.close", "dismiss")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A title and the text."""
        with Vertical(id="fold"):
            yield Static(self._title, markup=False, id="fold-title")
            yield Log(id="fold-text", auto_scroll=False)

    def on_mount(self) -> None:
        """Write all lines at once: writing them one by one takes a hundred times as long."""
        self.query_one(Log).write_lines(self._text.split("\n"), scroll_end=False).focus()
