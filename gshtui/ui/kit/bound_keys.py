"""A widget's bound keys, to be acted on in the widget itself and so in the order in which they were pressed.

Textual acts on bindings only after a key has bubbled up to the app; letters typed behind it have reached the widget by
then. Called by the widgets of the prompt area.
"""

from __future__ import annotations

from textual.widget import Widget

from gshtui.ui.kit.key_table import KEYS
from gshtui.ui.kit.textual.typed_app import app_of


def key_of(widget: Widget, id: str) -> str:
    """The first key of a row of the key table, as the configuration has remapped it."""
    keymap = app_of(widget)._keymap  # pyright: ignore[reportPrivateUsage]  # there is no public way to read it
    return (keymap.get(id) or KEYS[id].keys).split(",")[0]


class BoundKeys:
    """Key → action of one widget, as the configuration has remapped them."""

    def __init__(self) -> None:
        self._keymap: object = None
        self._actions: dict[str, str] = {}

    def action(self, widget: Widget, key: str) -> str | None:
        """The action bound to the key, or `None`."""
        keymap = app_of(widget)._keymap  # pyright: ignore[reportPrivateUsage]  # there is no public way to read it
        if keymap is not self._keymap:
            self._keymap = keymap
            bindings = widget._bindings.copy()  # pyright: ignore[reportPrivateUsage]
            bindings.apply_keymap(keymap)
            # Of two bindings of one key the last stands: a subclass's own come behind those it inherits.
            self._actions = {
                key: found[-1].action for key, found in bindings.key_to_bindings.items() if not found[-1].priority
            }
        return self._actions.get(key)
