"""The settings screen: a list that is filtered by typing, with the help of the highlighted row; and the key dialog.

Owns the screens alone: what a change does is handed in. The list stays open while its rows are changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from gshtui.text.sanitise import literal, one_line
from gshtui.ui.kit.keys.bound_keys import with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widgets.box import Box
from gshtui.ui.kit.widgets.filtered_list import FilteredList
from gshtui.ui.kit.widgets.fitted_text import fit_middle, fit_parts
from gshtui.ui.kit.widgets.list_rows import TableColumn, aligned, give_way, room_left
from gshtui.ui.settings.setting_rows import ORDER, SettingRow

_NARROW = 66
"""Cells of a row below which a value is worth more than where it comes from."""
_WIDE = 102
"""Cells above which raw names have room."""
Act = Callable[[SettingRow], None]


class SettingsScreen(FilteredList[None]):
    """See the module.

    Args:
        change: called with the row that is chosen.
        reset: called with the row whose default is to apply again.
        check: called with the row whose provider is to be checked.
    """

    BINDINGS = [bind("settings.reset", "reset"), bind("settings.check", "check")]

    def __init__(self, rows: Sequence[SettingRow], *, change: Act, reset: Act, check: Act) -> None:
        super().__init__(
            title="Settings", prompt="Type to search labels, names, values and help", look="-wide -settings"
        )
        self._rows = {row.id: row for row in rows}
        self._change = change
        self._reset = reset
        self._check = check

    def update_rows(self, rows: Sequence[SettingRow]) -> None:
        """Show these rows instead, at the same place."""
        self._rows = {row.id: row for row in rows}
        if self.is_mounted:
            self.fill()

    @property
    def row(self) -> SettingRow | None:
        """The highlighted row."""
        return self._rows.get(self.chosen or "")

    def fill(self) -> None:
        words = self.words.lower().removeprefix("/").split()
        kept = self.chosen
        fitting = [row for row in self._rows.values() if all(word in row.searched for word in words)]
        groups = {title: [row for row in fitting if row.group == title] for title in ORDER}
        options: list[Option] = []
        for title, rows in groups.items():
            if rows:
                options.append(Option(Content.styled(title, "bold $primary"), disabled=True))
                ordered = sorted(rows, key=lambda row: row.rank)
                options += [Option(_line(row, self.room), id=row.id) for row in ordered]
        self.show(options, f"No matches for “{self.words}”.")
        if fitting:
            ids = [option.id for option in options]
            self.choices.highlighted = ids.index(kept) if kept and kept in ids else 1
        self._tell()

    @on(OptionList.OptionHighlighted, "#choices")
    def _highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._tell()

    def _tell(self) -> None:
        row = self.row
        help = row.help if row is not None else ""
        fixed = f" {row.fixed} sets it, which your file does not change." if row is not None and row.fixed else ""
        does = ["{list.choose} to change"]
        if row is not None and row.kind not in ("persona", "profile", "new persona"):
            does.append("{settings.reset} to reset")
        if row is not None and row.provider:
            does.append("{settings.check} to check")
        said = f"{one_line(help, 400)}{fixed}"
        name = f"{row.id} · " if row is not None and "." in row.id else ""
        told = Content.assemble(
            (name if cell_len(name + said) <= self.room else "", "$foreground-muted"),
            (f"{said}\n", "$foreground"),
            fit_parts(with_keys(self, " · ".join([*does, "{list.close} to close"])), self.room),
        )
        self.query_one(".dialog-hint", Static).update(told)
        self.call_after_refresh(self.choices.scroll_to_highlight)  # a long help takes rows of the list

    def choose(self, id: str) -> None:
        self._change(self._rows[id])

    def action_reset(self) -> None:
        """Let the default of the row apply again."""
        if self.row is not None:
            self._reset(self.row)

    def action_check(self) -> None:
        """Check the provider that the row is about."""
        if self.row is not None:
            self._check(self.row)


def _line(row: SettingRow, room: int) -> Content:
    """A row: label, value, where it comes from, and the raw name in grey where there is room for it."""
    value = one_line(literal(row.words), 200) or "–"
    labels, sources = 32, 16 if room > _WIDE else 12 if room >= _NARROW else 0
    values = 28 if room > _WIDE else max(12, room - 36 - (sources and sources + 2))
    columns = [TableColumn(labels), TableColumn(values), TableColumn(sources, right=room <= _WIDE)]
    names = room_left(columns, room - 2) if room > _WIDE else 0
    cells = [
        [(row.label, "bold" if row.source else "")],
        [(value, "$foreground")],
        [(row.source or "default", "$primary" if row.source else "$foreground-muted")],
        [(row.id, "$foreground-muted")],
    ]
    columns = give_way(cells, [*columns, TableColumn(names, right=True)])
    cells[-1] = [(fit_middle(row.id, columns[-1].width), "$foreground-muted")]
    return Content.assemble("  ", *aligned(cells, columns, ""))


class _Keys(Static, can_focus=True):
    """Takes every key, so that one that means something to the window can be chosen too."""

    takes_every_key = True


class KeyScreen(Box[str]):
    """Press a key; the answer is its name, or nothing after escape.

    Args:
        refused: why a key can't be used; empty: it can.
    """

    def __init__(self, title: str, refused: Callable[[str], str]) -> None:
        super().__init__()
        self._title = title
        self._refused = refused

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(Content(one_line(self._title, 200)), classes="dialog-title")
            yield _Keys("Press the new key.", markup=False, id="pressed")
            yield Static(Content("escape to cancel"), classes="dialog-hint")

    def on_mount(self) -> None:
        self.query_one(_Keys).focus()

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.dismiss("")
        elif why := self._refused(event.key):
            self.query_one(_Keys).update(Content(f"{event.key}: {why}. Press another."))
        else:
            self.dismiss(event.key)
