"""The actions on a pane's row: by key, or from the row's menu.

The key table has the keys and the order of the menu (`Key.row`). A key's action is the window's own (`RowAction`) or a
command's that declares where it applies (`Action.where`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec
from textual.binding import BindingType

from gshtui.ui.kit.bound_keys import key_of
from gshtui.ui.kit.key_table import KEYS, bind
from gshtui.ui.kit.workbench_port import WorkbenchPort

Row = TypeVar("Row")


def row_keys(*groups: str) -> list[str]:
    """The keys of these groups of the key table that act on a pane's rows, in the order of the menu."""
    return [id for group in groups for id, key in KEYS.items() if key.row and id.startswith(f"{group}.")]


def row_bindings(*groups: str) -> list[BindingType]:
    """A binding for each of these keys: the pane's `action_want` gets the key's id."""
    return [row_binding(id) for id in row_keys(*groups)]


def row_binding(id: str) -> BindingType:
    """The binding of one of these keys, or of the key that opens the menu."""
    return bind(id, f"want('{id}')")


def _always(_: object) -> bool:
    return True


class RowAction(msgspec.Struct, Generic[Row], frozen=True):
    """An action on a row by the window itself."""

    key: str
    """Its row of the key table."""
    do: Callable[[Row], None]
    fits: Callable[[Row], bool] = _always
    """Whether it applies to the row."""


class RowActions(Generic[Row]):
    """The actions of one pane's rows."""

    def __init__(self, window: WorkbenchPort, groups: Sequence[str], own: Iterable[RowAction[Row]]) -> None:
        """`groups`: of the key table, such as `agents`."""
        self._window = window
        self._keys = row_keys(*groups)
        self.own = {action.key: action for action in own}

    def fitting(self, row: Row) -> list[str]:
        """The keys that apply to this row, in menu order."""
        return [key for key in self._keys if self._found(key, row) is not None]

    def perform(self, key: str, row: Row) -> bool:
        """Run the action; False: it does not apply to this row."""
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
        """Let the person choose an action."""
        from gshtui.ui.kit.dialogs import Picker, PickerChoice

        choices = [
            PickerChoice(key, KEYS[key].label, f"{KEYS[key].help} · {key_of(self._window.input_line, key)}")
            for key in self.fitting(row)
        ]
        picker = Picker(
            title, choices, empty="No actions available.", hint="{list.choose} runs it · {list.close} closes"
        )

        def perform(chosen: str | None) -> None:
            if chosen:
                self.perform(chosen, row)

        self._window.push_screen(picker, perform)
