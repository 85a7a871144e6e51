"""The actions on a pane's row: by key, or from the row's menu.

The key table has the keys and the order of the menu (`Key.row`). A key's action is the window's own (`RowAction`) or a
command's that declares where it applies (`Action.where`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, TypeVar

import msgspec
from textual.binding import BindingType

from gshtui.ui.kit.keys.bound_keys import key_of
from gshtui.ui.kit.keys.key_table import KEYS, bind
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

    async def fitting(self, row: Row) -> list[str]:
        """The keys that apply to this row, in menu order."""
        values = await self._window.bridge.for_row(self._keys, row)
        return [
            key
            for key, value in zip(self._keys, values, strict=True)
            if value is not None or ((own := self.own.get(key)) is not None and own.fits(row))
        ]

    def perform(self, key: str, row: Row, otherwise: Callable[[], None] = lambda: None) -> None:
        """Run the action; `otherwise`: if it does not apply to this row."""
        own = self.own.get(key)
        if own is not None and own.fits(row):
            own.do(row)
        else:
            work = self._perform_command(key, row, otherwise)
            self._window.run_worker(work, exit_on_error=False, group="row action")

    async def _perform_command(self, key: str, row: Row, otherwise: Callable[[], None]) -> None:
        (value,) = await self._window.bridge.for_row([key], row)
        if value is None:
            otherwise()
        else:
            self._window.perform(value)

    def show_menu(self, title: str, row: Row) -> None:
        """Let the person choose an action."""
        self._window.bring(self._show_menu(title, row), group="pick", exclusive=True)

    async def _show_menu(self, title: str, row: Row) -> None:
        from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

        choices = [
            PickerChoice(key, KEYS[key].label, KEYS[key].help, key=key_of(self._window.input_line, key))
            for key in await self.fitting(row)
        ]
        picker = Picker(
            title, choices, empty="No actions available.", hint="{list.choose} to run it · {list.close} to close"
        )

        def perform(chosen: str | None) -> None:
            if chosen:
                self.perform(chosen, row)

        self._window.push_screen(picker, perform)
