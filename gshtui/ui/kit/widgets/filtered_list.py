"""The screen of a list that is filtered by typing: the input keeps the focus, arrows and page keys move in the list.

Owns the keys and the messages of both widgets; what is listed, and what a choice means, is the subclass's.
"""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from gshtui.ui.kit.keys.bound_keys import with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.box import Box
from gshtui.ui.kit.widgets.line_field import LineField

_R = TypeVar("_R")


_LEAST = 3


class FilteredList(Box[_R]):
    """Ends with what was chosen, or with nothing.

    Args:
        title: above the input; empty: none.
        prompt: what the empty input says.
        hint: below the list, with keys by their ids in braces.
        look: classes of the dialog, see `styles/screens.tcss`.
        about: whether something is said below the list of the row that is highlighted.
    """

    BINDINGS = [bind("list.choose", "choose"), bind("list.close", "dismiss(None)")]
    OF_KEY: ClassVar[str] = "This looks like an API key."
    """What is said in place of rows where a provider's key is typed."""

    def __init__(self, *, title: str = "", prompt: str, hint: str = "", look: str = "", about: bool = False) -> None:
        super().__init__()
        self._title = title
        self._prompt = prompt
        self._hint = hint
        self._look = look
        self._about = about
        self._filled = 0
        self.words = ""
        """What is typed."""

    def compose(self) -> ComposeResult:
        with Vertical(classes=f"dialog {self._look}".strip()):
            if self._title:
                yield Static(Content(self._title), classes="dialog-title")
            yield LineField(placeholder=self._prompt, id="filter")
            yield OptionList(id="choices", markup=False, compact=True)
            if self._about:
                yield Static(id="about", classes="dialog-about", markup=False)
            yield Static(Content(with_keys(self, self._hint)), classes="dialog-hint", markup=False)

    def on_mount(self) -> None:
        self.choices.can_focus = False
        self.query_one(Input).focus()
        self.fill()  # not once it is laid out: a list that is blank first says that there is nothing
        self.watch(self.choices, "virtual_size", self._laid_out)

    @property
    def choices(self) -> OptionList:
        """The list."""
        return self.query_one("#choices", OptionList)

    @property
    def room(self) -> int:
        """Cells of a row."""
        return max(20, self.choices.scrollable_content_region.width or self.room_to_be())

    def room_to_be(self) -> int:
        """Cells of a row in a dialog that is not laid out yet: what is painted first is right."""
        size, styles, listed = app_of(self).size, self.query_one(".dialog").styles, self.choices.styles
        widths = [one.resolve(size, size) for one in (styles.width, styles.max_width) if one is not None]
        bar = listed.scrollbar_size_vertical if listed.scrollbar_gutter == "stable" else 0
        return int(min(widths, default=size.width)) - styles.gutter.width - bar

    @property
    def chosen(self) -> str | None:
        """The id of the row that is highlighted; `None`: there is none to choose."""
        listed = self.choices
        option = listed.get_option_at_index(listed.highlighted) if listed.highlighted is not None else None
        return None if option is None or option.disabled else option.id

    @property
    def key(self) -> str:
        """The provider's key that is all that is typed; empty: it is something else."""
        from gshtui.settings.known_providers import lone_key

        return lone_key(self.words)

    def fill(self) -> None:
        """List what fits `words`."""
        raise NotImplementedError

    def choose(self, id: str) -> None:
        """End with this row."""
        raise NotImplementedError

    def show(self, options: list[Option], says: str) -> None:
        """Show these rows, or words that say why there are none. They are not shown if a key is in them."""
        says = self.OF_KEY if self.key else says
        self._filled = self.room
        self.choices.clear_options()
        self.choices.add_options(options or [Option(Content.styled(says, "$foreground-muted"), disabled=True)])

    def _laid_out(self) -> None:
        self.call_after_refresh(self._refit)

    def _refit(self) -> None:
        """List again what was listed for other cells: a scroll bar comes and goes with the rows."""
        if self._filled != self.room:
            self.fill()

    def on_resize(self) -> None:
        if not self._look:
            self.call_after_refresh(self.fit_list)

    def fit_list(self) -> None:
        """Give the list all rows that the dialog may have and nothing else needs: Textual counts what overflows."""
        others = [child for child in self.query_one(".dialog").children if child is not self.choices]
        taken = sum(child.outer_size.height + child.styles.margin.height for child in others)
        most = max(_LEAST, self.most_rows - 2 - taken)
        self.choices.styles.max_height = most

    @on(Input.Changed, "#filter")
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self.words != event.value:
            self.words = event.value
            self.query_one("#filter", Input).password = bool(self.key)  # nobody reads it over a shoulder
            self.fill()

    def on_key(self, event: events.Key) -> None:
        if move_in_list(self.choices, event.key):
            event.stop()

    @on(Input.Submitted, "#filter")
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    @on(OptionList.OptionSelected, "#choices")
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_choose()

    def action_choose(self) -> None:
        """End with the row that is highlighted."""
        if (id := self.chosen) is not None:
            self.choose(id)


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
