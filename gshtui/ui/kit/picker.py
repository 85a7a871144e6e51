"""A list to choose from, with a line to filter it: conversations, models, themes.

Owns the choosing; refuses to know what is chosen. Base of the pickers; dismissed with the chosen entry's id, or `None`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gshtui.ui.kit.bindings import bind


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry. `name` and `detail` are shown as they are, never as markup."""

    id: str
    name: str
    detail: str = ""
    current: bool = False


class Picker(ModalScreen[str | None]):
    """Type to filter, arrows to move, enter to take."""

    BINDINGS = [bind("list.choose", "choose"), bind("list.close", "dismiss(None)")]

    def __init__(self, title: str, choices: Sequence[Choice], *, empty: str, hint: str = "") -> None:
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
        listed.add_options([Option(_line(choice), id=choice.id) for choice in fitting])
        if not fitting:
            says = f"Nothing here matches “{words}”." if self._choices else self._empty
            listed.add_option(Option(Content.styled(says, "$foreground-muted"), disabled=True))
            return
        listed.highlighted = next((at for at, choice in enumerate(fitting) if choice.current), 0)

    def on_key(self, event: events.Key) -> None:
        """Arrows and pages move in the list while the line has the focus."""
        listed = self.query_one(OptionList)
        move = {
            "up": listed.action_cursor_up,
            "down": listed.action_cursor_down,
            "pageup": listed.action_page_up,
            "pagedown": listed.action_page_down,
        }.get(event.key)
        if move is not None and self.focused is not listed:
            move()
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


def _line(choice: Choice) -> Content:
    mark = "● " if choice.current else "  "
    return Content.assemble(
        (mark, "$primary"), (choice.name, "bold"), (f"  {choice.detail}" if choice.detail else "", "$foreground-muted")
    )
