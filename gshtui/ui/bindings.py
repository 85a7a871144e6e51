"""The key table: every key of the workbench, by id, in one place; `[keybindings]` in the configuration remaps by id.

A widget takes its `Binding`s from here by `bind`, so that help, footer, remapping and the clash check all read one
list. Keys that tmux (ctrl+b) or a shell's line editor owns are left alone where a person types.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Key:
    """One row of the table. `keys`: Textual's names, comma-separated. `label`: the footer's word."""

    keys: str
    label: str
    help: str
    group: str
    show: bool = False
    priority: bool = False


KEYS: dict[str, Key] = {
    "app.palette": Key("ctrl+p", "Palette", "Open the command palette", "Anywhere", show=True, priority=True),
    "app.help": Key("f1", "Help", "Show the keys that work here", "Anywhere", show=True),
    "app.quit": Key(
        "ctrl+q", "Quit", "Leave the workbench; agents in tmux go on", "Anywhere", show=True, priority=True
    ),
}


def bind(id: str, action: str) -> Binding:
    """The `Binding` of a row of the table for this action.

    Raises:
        KeyError: no such row.
    """
    key = KEYS[id]
    return Binding(key.keys, action, key.label, show=key.show, priority=key.priority, id=id, tooltip=key.help)
