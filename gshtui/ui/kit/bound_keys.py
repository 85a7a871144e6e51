"""A widget's bound keys, to be acted on in the widget itself and so in the order in which they were pressed.

Textual acts on bindings only after a key has bubbled up to the app; letters typed behind it have reached the widget by
then. Called by the widgets of the prompt area.
"""

from __future__ import annotations

from textual.widget import Widget

from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.textual.key_bindings import bound_actions, keymap_of


def key_of(widget: Widget, id: str) -> str:
    """The first key of a row of the key table, as the configuration has remapped it."""
    return (keymap_of(widget).get(id) or KEYS[id].keys).split(",")[0]


class BoundKeys:
    """Key → action of one widget, as the configuration has remapped them."""

    def __init__(self) -> None:
        self._remapped_by: object = None
        self._actions: dict[str, str] = {}

    def action(self, widget: Widget, key: str) -> str | None:
        """The action bound to the key, or `None`."""
        keymap = keymap_of(widget)
        if keymap is not self._remapped_by:
            self._remapped_by = keymap
            self._actions = bound_actions(widget)
        return self._actions.get(key)
