"""A widget's bound keys, handled in the widget itself, and so in the order in which they were pressed.

Textual runs a binding only after its key has bubbled up to the app; by then, letters typed after it have reached the
widget. Called by the widgets of the prompt area.
"""

from __future__ import annotations

import re
from string import punctuation

from textual.keys import format_key
from textual.widget import Widget

from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.keys.sendable_keys import sent_first
from gshtui.ui.kit.textual.driver import sends_every_key
from gshtui.ui.kit.textual.key_bindings import bound_actions, keymap_of
from gshtui.ui.kit.textual.typed_app import app_of


def printed_key(key: str) -> str:
    """A key as people read it: as Textual names it, but signs as they are printed."""
    *held, base = key.split("+")
    sign = format_key(base)
    return "+".join([*held, sign if sign in punctuation else base])


def key_of(widget: Widget, id: str) -> str:
    """The first key of a key table row that this terminal sends, after remapping by the configuration."""
    keys = (keymap_of(widget).get(id) or KEYS[id].keys).split(",")
    return printed_key(sent_first(keys, extended=sends_every_key(app_of(widget)))[0])


def with_keys(widget: Widget, words: str) -> str:
    """The words with the key of each row of the key table that they name in braces, such as `{agents.spawn}`."""

    def key(named: re.Match[str]) -> str:
        return key_of(widget, named[1]) if named[1] in KEYS else named[0]

    return re.sub(r"\{([a-z_.]{1,40})\}", key, words)


class BoundKeys:
    """Key → action of one widget, after remapping by the configuration."""

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
