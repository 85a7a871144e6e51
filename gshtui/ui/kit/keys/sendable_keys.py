"""Which keys a terminal can send: all of them by the kitty protocol, and few of them otherwise. Pure.

Without that protocol (or modifyOtherKeys) ctrl+enter is enter, ctrl+1 is 1, and a window manager keeps super: a hint
names the key's alternative then.
"""

from __future__ import annotations

from collections.abc import Sequence

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
