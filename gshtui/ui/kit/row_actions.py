"""What can be done with a row of a pane: by its key, or chosen from the row's menu.

The key table has the keys and the order of the menu (`Key.row`). What a key does is the window's own (`RowAction`) or a
command's, which declares that it fits (`Action.where`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.binding import BindingType

from gshtui.ui.kit.key_table import KEYS, bind
from gshtui.ui.kit.workbench_port import WorkbenchPort

Row = TypeVar("Row")


def row_keys(pane: str) -> list[str]:
    """The keys of a pane that act on its rows, in the order of the menu."""
    return [id for id, key in KEYS.items() if key.row and id.startswith(f"{pane}.")]


def row_bindings(pane: str) -> list[BindingType]:
    """A binding for each of these keys: the pane's `action_want` gets the key's id."""
    return [bind(id, f"want('{id}')") for id in row_keys(pane)]


def _always(_: object) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class RowAction(Generic[Row]):
    """Something that the window itself does with a row."""

    key: str
    """Its row of the key table."""
    do: Callable[[Row], None]
    fits: Callable[[Row], bool] = _always
    """Whether it means something for the row."""


class RowActions(Generic[Row]):
    """The actions of one pane's rows."""

    def __init__(self, window: WorkbenchPort, pane: str, own: Iterable[RowAction[Row]]) -> None:
        self._window = window
        self._pane = pane
        self.own = {action.key: action for action in own}

    def fitting(self, row: Row) -> list[str]:
        """The keys that mean something for this row, in the order of the menu."""
        return [key for key in row_keys(self._pane) if self._found(key, row) is not None]

    def perform(self, key: str, row: Row) -> bool:
        """Do it; False: it means nothing for this row."""
        found = self._found(key, row)
        if found is not None:
            found()
        return found is not None

    def _found(self, key: str, row: Row) -> Callable[[], None] | None:
        own = self.own.get(key)
        if own is not None and own.fits(row):
            return lambda: own.do(row)
        value = self._window.bridge.for_row(key, row)
        return None if value is None else lambda: self._window.perform(value)

    def show_menu(self, title: str, row: Row) -> None:
        """Have one of them chosen."""
        from gshtui.ui.kit.dialogs import Picker, PickerChoice

        choices = [
            PickerChoice(key, KEYS[key].label, f"{KEYS[key].help} · {KEYS[key].keys.split(',')[0]}")
            for key in self.fitting(row)
        ]
        picker = Picker(title, choices, empty="Nothing can be done now.", hint="enter does it · escape closes")

        def perform(chosen: str | None) -> None:
            if chosen:
                self.perform(chosen, row)

        self._window.push_screen(picker, perform)
