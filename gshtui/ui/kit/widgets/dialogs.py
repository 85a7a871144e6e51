"""The small dialogs: choose from a list, write a line or a few, confirm what is hard to undo, read a folded paste.

Each returns its answer and does nothing itself. A yes counts only if the question was readable before the key was
pressed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from typing import ClassVar, TypeVar

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Input, Log, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from gshtui.guard.approval.answer_keys import AnswerKeys, KeyChosen
from gshtui.ui.kit.keys.bound_keys import BoundKeys, with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widgets.box import Box
from gshtui.ui.kit.widgets.filtered_list import FilteredList
from gshtui.ui.kit.widgets.line_field import LineField
from gshtui.ui.kit.widgets.list_rows import NAMES, ListRow, list_lines

F = TypeVar("F")


class PickerChoice(msgspec.Struct, frozen=True):
    """One entry. All texts are shown as they are, never as markup.

    `columns` stand one below the other in all entries, as far as there is room, in place of `detail`, which is then
    below the list for the entry that is highlighted.
    """

    id: str
    name: str
    detail: str = ""
    current: bool = False
    columns: tuple[str, ...] = ()
    state: str = ""
    key: str = ""
    group: str = ""
    """A heading above the first entry of each group; empty: none."""
    lists: bool = False
    """`detail` is a list of names, of which none is cut."""


class Picker(FilteredList[str | None]):
    """Type to filter, arrows to move, enter to choose. The answer is the entry's id.

    Args:
        choices: the entries.
        empty: what the list says when it has none.
        headings: what the columns are, the names' first.
        preview: called with the id of each entry that is highlighted; the window stays bright behind the list.
        look: classes of the dialog, see `styles/screens.tcss`.
    """

    NAMES: ClassVar[int] = NAMES
    """The most cells that names take where something follows them."""
    GIVES: ClassVar[tuple[str, ...]] = ()
    """The headings of the columns that are left out where not all have room, the first one first."""
    RIGHT: ClassVar[tuple[str, ...]] = ()
    """The headings of the columns whose texts end at the right."""

    def __init__(
        self,
        title: str,
        choices: Sequence[PickerChoice],
        *,
        empty: str,
        hint: str = "",
        headings: tuple[str, ...] = (),
        preview: Callable[[str], None] | None = None,
        look: str = "",
    ) -> None:
        about = any(choice.columns and choice.detail for choice in choices)
        look = "-preview" if preview else look
        super().__init__(title=title, prompt="Type to filter", hint=hint, look=look, about=about)
        self._choices = list(choices)
        self._also: Container[str] = ()
        self._empty = empty
        self._headings = headings
        self._preview = preview
        self._tried = next((choice.id for choice in choices if choice.current), "")
        self.set_class(preview is not None, "-bright")

    def replace(
        self, choices: Sequence[PickerChoice], headings: tuple[str, ...] = (), also: Container[str] = ()
    ) -> None:
        """Have other entries from the next `fill` on. `also`: ids of entries that have the words elsewhere."""
        self._choices = list(choices)
        self._headings = headings
        self._also = also

    def fill(self) -> None:
        wanted = self.words.lower().split()
        fitting = [
            choice
            for choice in self._choices
            if choice.id in self._also or all(word in _searched(choice) for word in wanted)
        ]
        rows = self._rows(fitting)
        kept = self.chosen
        self.show(rows, f"No matches for “{self.words}”." if self._choices else self._empty)
        if fitting:
            current = next((choice for choice in fitting if choice.current), self.first(fitting))
            here = next((choice for choice in fitting if choice.id == kept and not wanted), current)
            self.choices.highlighted = self.choices.get_option_index(here.id)
        elif self._about:
            self.query_one("#about", Static).update("")

    def _rows(self, fitting: Sequence[PickerChoice]) -> list[Option]:
        entries = [
            ListRow(
                choice.name,
                choice.detail,
                choice.state,
                choice.key,
                "● " if choice.current else "  ",
                columns=choice.columns,
                lists=choice.lists,
            )
            for choice in fitting
        ]
        headings = [ListRow(self._headings[0], columns=self._headings[1:])] if self._headings else []
        gives, right = (
            [self._headings.index(name) - 1 for name in names if name in self._headings]
            for names in (self.GIVES, self.RIGHT)
        )
        lines = list_lines([*headings, *entries], self.room, most=self.NAMES, gives=gives, right=right)
        rows: list[Option] = []
        if headings:
            heading = lines.pop(0)
            rows += [Option(Content.styled(heading.plain, "$foreground-muted"), disabled=True)] if fitting else []
        group = ""
        for choice, line in zip(fitting, lines, strict=True):
            if choice.group and choice.group != group:
                group = choice.group
                rows.append(Option(Content.styled(group, "$foreground-muted"), disabled=True))
            rows.append(Option(line, id=choice.id))
        return rows

    @on(OptionList.OptionHighlighted, "#choices")
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        id = self.chosen
        if self._about:
            said = next((choice.detail for choice in self._choices if choice.id == id), "")
            self.query_one("#about", Static).update(said)
            self.call_after_refresh(self.fit_list)
        if self._preview is not None and id is not None and id == event.option_id != self._tried:
            self._tried = id
            self._preview(id)

    def first(self, fitting: Sequence[PickerChoice]) -> PickerChoice:
        """The entry on which the mark stands at first, where none is the current one."""
        return fitting[0]

    def choose(self, id: str) -> None:
        self.dismiss(id)


def _searched(choice: PickerChoice) -> str:
    return " ".join((choice.name, choice.detail, choice.state, choice.key, *choice.columns)).lower()


class FormScreen(Box[F | None]):
    """A form: its button `close` and `escape` leave it with `None`, every other button and enter submit it."""

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "dismiss(None)")]

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "close":
            self.dismiss(None)
        else:
            self.action_submit()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        """Dismiss it with what was filled in, or say what is wrong with it."""
        raise NotImplementedError


class InputScreen(Box[str | None]):
    """Returns the text entered; empty: cancelled.

    Args:
        text: the initial text.
        lines: whether several lines are allowed.
        exact: the text is a file's: its blanks count, and nothing is an answer too (`None`: cancelled).
        secret: what is typed is not shown.
        does: what the key that ends it does with several lines, as a verb.
    """

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "cancel")]

    def __init__(
        self,
        title: str,
        *,
        text: str = "",
        hint: str = "",
        lines: bool = False,
        exact: bool = False,
        secret: bool = False,
        does: str = "send",
    ) -> None:
        super().__init__()
        self._secret = secret
        self._does = does
        self._exact = exact
        self._title = title
        self._said = Static()
        self._said.display = False
        self._text = text
        self._hint = hint
        self._lines = lines

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content(_one_line(self._title)), classes="dialog-title")
            if self._lines:
                yield TextArea(self._text, id="words", compact=True, soft_wrap=True)
            else:
                yield LineField(self._text, id="words", password=self._secret)
            yield self._said
            sends = f"{{form.submit}} to {self._does}" if self._lines else "enter to confirm"
            hint = " · ".join(filter(None, (sends, "{form.close} to cancel", self._hint)))
            yield Static(Content(with_keys(self, hint)), classes="dialog-hint")

    def on_mount(self) -> None:
        self.query_one("#words", Widget).focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def show_message(self, text: str, *, wrong: bool = False) -> None:
        """Say this below the line: what is done with it, or what is wrong with it."""
        self._said.update(Content.styled(_one_line(text), "$text-error" if wrong else "$text-muted"))
        self._said.display = True

    def action_submit(self) -> None:
        field = self.query_one("#words", Widget)
        text = field.text if isinstance(field, TextArea) else field.value if isinstance(field, Input) else ""
        if self._exact:
            self.dismiss(text)
        elif text.strip():
            self.dismiss(text.strip())

    def action_cancel(self) -> None:
        self.dismiss(None if self._exact else "")


_YES = frozenset({"once"})


class YesKeys:
    """Whether a key that agrees is about what a screen asks: it was readable before the key was pressed, all of it."""

    def __init__(self) -> None:
        self._keys = AnswerKeys()

    def show(self, *, whole: bool = True) -> None:
        """Note that the question is on the screen; `whole`: to its end."""
        self._keys.show_question("this", _YES, time.monotonic(), unread=frozenset() if whole else _YES)

    def see_again(self) -> None:
        """Note that nothing covers it any more."""
        self._keys.question_seen(time.monotonic())

    def press(self, meaning: str, at: float) -> bool:
        """Handle a key, see `AnswerKeys.press`: `once` agrees."""
        return isinstance(self._keys.press(meaning, at), KeyChosen)

    def click(self, at: float) -> bool:
        """What agrees was clicked."""
        return isinstance(self._keys.click("once", "this", at), KeyChosen)


class AskedChoice(Picker):
    """A choice counts once the question could be read."""

    def __init__(self, title: str, choices: Sequence[PickerChoice], *, empty: str, hint: str) -> None:
        super().__init__(title, choices, empty=empty, hint=hint)
        self._keys = YesKeys()
        self._bound = BoundKeys()
        self._down = 0.0

    def on_mount(self) -> None:
        self.call_after_refresh(self._keys.show)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    @on(OptionList.OptionSelected, "#choices")
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        """A choice was clicked: the list never has the keys."""
        if not self._keys.click(self._down):
            event.stop()
            event.prevent_default()

    def on_key(self, event: events.Key) -> None:
        chooses = event.key == "enter" or self._bound.action(self, event.key) == "choose"
        if chooses and not self._keys.press("once", event.time):
            event.stop()
            event.prevent_default()


_SCROLLS: dict[str, Callable[[VerticalScroll], None]] = {
    "down": lambda body: body.scroll_down(animate=False),
    "up": lambda body: body.scroll_up(animate=False),
    "pagedown": lambda body: body.scroll_page_down(animate=False),
    "pageup": lambda body: body.scroll_page_up(animate=False),
    "end": lambda body: body.scroll_end(animate=False),
}


class ConfirmScreen(Box[bool]):
    """`y` or the first button confirms, once all of the question was seen; everything else cancels.

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
        self._keys = YesKeys()
        self._seen = False
        """Whether its end was on the screen."""
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
            yield Static(id="unseen")
            with Horizontal(classes="dialog-buttons"):
                yield Button(Content(f"{self._yes} (y)"), id="yes", variant="error", compact=True)
                yield Button("Cancel (n)", id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()
        body = self._body
        for reactive in ("scroll_y", "virtual_size", "size"):
            self.watch(body, reactive, self._look, init=False)
        self.call_after_refresh(self._look)

    @property
    def _body(self) -> VerticalScroll:
        return self.query_one(VerticalScroll)

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Leave the buttons their rows: what is asked scrolls."""
        others = [child for child in self.query_one(".dialog").children if child is not self._body]
        taken = sum(child.outer_size.height + child.styles.margin.height for child in others if child.id != "unseen")
        self._body.styles.max_height = max(1, self.most_rows - 3 - taken)

    def _look(self) -> None:
        """Say how much is below what is seen; agreeing counts once nothing is."""
        body = self._body
        below = body.virtual_size.height - body.scroll_offset.y - body.scrollable_content_region.height
        if below <= 0 and body.size and not self._seen:
            self._seen = True
            self._keys.see_again()
        unseen = self.query_one("#unseen", Static)
        unseen.display = below > 0
        unseen.update(f"{below} more · ↓")
        self._keys.show(whole=self._seen)

    def on_screen_resume(self) -> None:
        self._keys.see_again()

    def on_key(self, event: events.Key) -> None:
        """A yes, by `y` or by enter on its button, counts only if the question was readable before the key press."""
        if (scroll := _SCROLLS.get(event.key)) is not None:
            event.stop()
            event.prevent_default()
            scroll(self._body)
            return
        action = self._bound.action(self, event.key)
        agrees = action == "yes" or (event.key == "enter" and self.focused is self.query_one("#yes"))
        if agrees:
            event.stop()
            event.prevent_default()
        if self._keys.press("once" if agrees else "move" if action else "words", event.time):
            self.dismiss(True)
        elif agrees and not self._seen:
            self._body.scroll_page_down(animate=False)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def action_yes(self) -> None:
        """The yes in the key bar was clicked. Keys arrive in `on_key`."""
        if self._keys.click(self._down):
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


class FoldScreen(Box[None]):
    """The text, scrollable; escape closes."""

    BINDINGS = [bind("text.close", "dismiss")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A title and the text."""
        with Vertical(classes="dialog -wide"):
            yield Static(self._title, markup=False, classes="dialog-title")
            yield Log(id="text", auto_scroll=False)

    def on_mount(self) -> None:
        """Write all lines at once: writing them one by one takes a hundred times as long."""
        self.query_one(Log).write_lines(self._text.split("\n"), scroll_end=False).focus()
