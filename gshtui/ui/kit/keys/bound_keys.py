"""A widget's bound keys, handled in the widget itself, and so in the order in which they were pressed.

Textual runs a binding only after its key has bubbled up to the app; by then, letters typed after it have reached the
widget. Called by the widgets of the prompt area.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import punctuation

from textual.actions import parse
from textual.keys import format_key
from textual.widget import Widget

from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.kit.textual.driver import sends_every_key
from gshtui.ui.kit.textual.key_bindings import bound_actions, keymap_of
from gshtui.ui.kit.textual.typed_app import app_of

_FEW: dict[str, tuple[frozenset[str], ...]] = {
    "enter": (frozenset(), frozenset({"alt"})),
    "tab": (frozenset(), frozenset({"shift"})),
    "backspace": (frozenset(), frozenset({"alt"})),
    "escape": (frozenset(),),
    "space": (frozenset(), frozenset({"ctrl"}), frozenset({"alt"})),
}
"""The modifiers that reach a program with these keys."""
_CONTROL_SIGNS = frozenset(("at", "backslash", "right_square_bracket", "circumflex_accent", "underscore"))
"""Signs that have a control character; letters have one, too."""
_SAME = frozenset("im")
"""Letters whose control character is that of tab and enter."""
_SIGN_NAMES = frozenset(
    (
        *("slash", "comma", "full_stop", "semicolon", "colon", "minus", "plus", "equals_sign", "apostrophe"),
        *("grave_accent", "question_mark"),
    )
)


def is_sent(key: str, *, extended: bool) -> bool:
    """Whether a terminal sends this key as itself.

    Args:
        key: by Textual's name, such as `ctrl+shift+z`.
        extended: it speaks the kitty protocol.
    """
    if extended:
        return True
    *modifiers, base = key.split("+")
    held = frozenset(modifiers)
    if not held <= {"ctrl", "alt", "shift"}:
        return False
    if base in _FEW:
        return held in _FEW[base]
    is_sign = len(base) == 1 or base in _CONTROL_SIGNS or base in _SIGN_NAMES
    if not is_sign:
        return True  # arrows, function keys and their like are sent with any modifiers
    if "ctrl" in held and "shift" in held:
        return False
    if "ctrl" in held:
        return base in _CONTROL_SIGNS or (len(base) == 1 and base.isascii() and base.isalpha() and base not in _SAME)
    return True


def sent_first(keys: Sequence[str], *, extended: bool) -> list[str]:
    """Those of a row that are sent; all, if none is."""
    return [key for key in keys if is_sent(key, extended=extended)] or list(keys)


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

    def live_action(self, widget: Widget, key: str) -> str | None:
        """The action bound to the key, or `None` where the widget would not do it now."""
        action = self.action(widget, key)
        return action if action and widget.check_action(*parse(action)[1:]) else None
