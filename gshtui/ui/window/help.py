"""The keys: those that work where help was opened, the focused widget's first, then the rest of the key table.

They can be searched. Builds the list from the screen's active bindings and the key table alone. Opened by F1 and `?`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from textwrap import wrap

import msgspec
from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from gshtui.ui.kit.keys.bound_keys import is_sent, key_of, printed_key
from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.keys.key_table import KEYS, bind
from gshtui.ui.kit.textual.driver import sends_every_key
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.box import Box
from gshtui.ui.kit.widgets.fitted_text import fit_parts
from gshtui.ui.kit.widgets.line_field import LineField

WIDEST = 92
KEYS_WIDTH = 22
"""Width of the key column in cells."""
EDITING = "Editing"
"""Group of the keys that Textual's own widgets bind."""


class HelpRow(msgspec.Struct, frozen=True):
    """One line of help."""

    group: str
    keys: str
    help: str
    id: str = ""
    """Its id in `[keybindings]`; empty for Textual's own keys."""

    def matches(self, words: Sequence[str]) -> bool:
        """Whether each of these words, in lower case, is in its keys, its help, its label, its group or its id."""
        label = KEYS[self.id].label if self.id else ""
        text = f"{self.keys} {self.help} {label} {self.group} {self.id}".lower()
        return all(word in text for word in words)


class HelpScreen(Box[None]):
    """The keys.

    Args:
        here: the rows that work where help was opened.
        elsewhere: those that work in other places.
    """

    BINDINGS = [bind("list.close", "dismiss(None)")]

    def __init__(self, here: Sequence[HelpRow], elsewhere: Sequence[HelpRow]) -> None:
        super().__init__()
        self._here = here
        self._elsewhere = elsewhere
        self._words: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide"):
            yield Static(Content("Keys that work here"), classes="dialog-title")
            yield LineField(placeholder="Type to search: a key, a word, an id", id="filter")
            yield VerticalScroll(Static(id="rows"), id="text", can_focus=False)
            yield Static(classes="dialog-hint")

    def on_mount(self) -> None:
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        self._show()

    @property
    def plain(self) -> str:
        """The text without styles."""
        return self._content().plain

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._words = event.value.lower().split()
        self._show()
        self.query_one("#text", Widget).scroll_home(animate=False)

    def on_key(self, event: events.Key) -> None:
        """Arrows and page keys scroll while the input has the focus."""
        text = self.query_one("#text", Widget)
        scroll = {
            "up": text.scroll_up,
            "down": text.scroll_down,
            "pageup": text.scroll_page_up,
            "pagedown": text.scroll_page_down,
        }.get(event.key)
        if scroll is not None:
            scroll(animate=False)
            event.stop()

    def _show(self) -> None:
        hint = f"grey: the name to use in [keybindings] · {key_of(self, 'list.close')} to close"
        self.query_one(".dialog-hint", Static).update(Content(fit_parts(hint, self._room)))
        self.query_one("#rows", Static).update(self._content())

    def _content(self) -> Content:
        here = [row for row in self._here if row.matches(self._words)]
        elsewhere = [row for row in self._elsewhere if row.matches(self._words)]
        if not here and not elsewhere:
            return Content.styled(f"Nothing found for “{' '.join(self._words)}”.", "$foreground-muted")
        return help_text(here, elsewhere, self._room)

    @property
    def _room(self) -> int:
        """Cells of a row."""
        return min(WIDEST, app_of(self).size.width * 96 // 100 - 6)


def help_screen(asked_on: Screen[object], off: Collection[str] = ()) -> HelpScreen:
    """Help for a screen as it is now, with its focus. `off`: keys that nothing here has."""
    active = [one for one in asked_on.active_bindings.values() if one.enabled and not one.binding.system]
    own = {one.binding.id for one in active if one.node is not asked_on and isinstance(one.node, Widget)}
    bindings = [one.binding for one in active]
    app = app_of(asked_on)
    first = {id for id in own if id}
    here = help_rows(bindings, first, extended=sends_every_key(app))
    working = {binding.id for binding in bindings if binding.id}
    return HelpScreen(here, other_rows(working.union(off), lambda id: shown_keys(asked_on, id)))


def help_rows(
    bindings: list[Binding],
    first: Collection[str] = frozenset(),
    *,
    extended: bool = True,
) -> list[HelpRow]:
    """The bindings by group, in the order of the key table; several keys for one action share a row.

    Args:
        first: the ids of the keys of the focused widget, whose groups come before all others.
        extended: the terminal sends every key; otherwise those that it cannot send are left out where others do it.
    """
    sent = {one.id or one.action for one in bindings if is_sent(one.key, extended=extended)}
    keys: dict[str, list[str]] = {}
    about: dict[str, tuple[str, str]] = {}
    for binding in bindings:
        name = binding.id or binding.action
        if not (binding.description or binding.tooltip):
            continue
        if name in sent and not is_sent(binding.key, extended=extended):
            continue
        row = KEYS.get(name)
        about[name] = (row.group, row.help) if row else (EDITING, binding.tooltip or binding.description)
        shown = keys.setdefault(name, [])
        if (key := printed_key(binding.key)) not in shown:
            shown.append(key)
    order = list(KEYS)
    ahead = {KEYS[id].group for id in first if id in KEYS}
    names = sorted(
        about,
        key=lambda name: (about[name][0] not in ahead, order.index(name) if name in KEYS else len(order)),
    )
    return [
        HelpRow(about[name][0], ", ".join(keys[name]), about[name][1], name if name in KEYS else "") for name in names
    ]


def other_rows(working: set[str], shown: Callable[[str], str]) -> list[HelpRow]:
    """The rows of the table that do not work here, so that people can find them from anywhere."""
    return [HelpRow(KEYS[id].group, shown(id), KEYS[id].help, id) for id in KEYS if id not in working]


def help_text(here: Sequence[HelpRow], other: Sequence[HelpRow], width: int) -> Content:
    """The rows as text of this width, under their groups; ids where there is room for them."""
    parts = _groups(here, "bold", width)
    if other:
        parts += [
            *([Content("")] if parts else []),
            Content.styled("Elsewhere", "bold underline"),
            Content(""),
            *_groups(other, "$foreground-muted", width),
        ]
    return Content("\n").join(parts)


def _groups(found: Sequence[HelpRow], style: str, width: int) -> list[Content]:
    lines: list[Content] = []
    for group in dict.fromkeys(row.group for row in found):
        lines += [*([Content("")] if lines else []), Content.styled(group, "bold $primary")]
        for row in (row for row in found if row.group == group):
            room = max(10, width - KEYS_WIDTH - 3)
            told = wrap(row.help, room) or [""]
            if cell_len(row.keys) > KEYS_WIDTH:
                lines.append(Content.styled(f"  {row.keys}", style))
                told.insert(0, "")
            else:
                lines.append(Content.assemble((f"  {row.keys:<{KEYS_WIDTH}}", style), " ", told[0]))
            lines += [Content(" " * (KEYS_WIDTH + 3) + line) for line in told[1:]]
            if row.id and len(told[-1]) + 2 + len(row.id) <= room:
                spare = " " * (room - cell_len(told[-1]) - len(row.id))
                lines[-1] = Content.assemble(lines[-1], spare, (row.id, "$foreground-muted"))
    return lines
