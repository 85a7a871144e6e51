"""What keys mean to Textual: an app's keymap, a widget's bindings as the keymap changes them, and names of characters.

Owns the three places where Textual keeps these; there is no public way to read any of them. Called by `bound_keys` and
`keymap`.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.keys import _character_to_key  # pyright: ignore[reportPrivateUsage]
from textual.message_pump import MessagePump
from textual.widget import Widget

from gshtui.ui.kit.textual.typed_app import app_of


def keymap_of(node: MessagePump) -> Mapping[str, str]:
    """The app's keymap: id of a binding → its keys. Another object after each change."""
    return app_of(node)._keymap  # pyright: ignore[reportPrivateUsage]


def bound_actions(widget: Widget) -> dict[str, str]:
    """Key → action of the widget's own bindings, as the app's keymap has them; without those that have priority."""
    bindings = widget._bindings.copy()  # pyright: ignore[reportPrivateUsage]
    bindings.apply_keymap(dict(keymap_of(widget)))
    # Of two bindings of one key the last counts: a subclass's own come after those it inherits.
    return {key: found[-1].action for key, found in bindings.key_to_bindings.items() if not found[-1].priority}


def character_key(character: str) -> str:
    """The name of the key that types a character: `?` is `question_mark`."""
    return _character_to_key(character)
