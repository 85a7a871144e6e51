"""What a key of the person's keyboard is for the program in a terminal: text, or a key by tmux's name.

Pure. Refuses keys that no terminal has a code for. Called by the terminal view while somebody types into it.
"""

from __future__ import annotations

from textual.keys import key_to_character

_NAMES = {
    "enter": "Enter",
    "tab": "Tab",
    "escape": "Escape",
    "space": "Space",
    "backspace": "BSpace",
    "delete": "DC",
    "insert": "IC",
    "home": "Home",
    "end": "End",
    "pageup": "PPage",
    "pagedown": "NPage",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "at": "@",
    "backslash": "\\",
    "underscore": "_",
    "plus": "+",
    "minus": "-",
    "slash": "/",
    **{f"f{number}": f"F{number}" for number in range(1, 13)},
}
_WHOLE = {
    "shift+tab": "BTab",
    # Terminals that can tell it from enter have it set up to begin a line; as plain enter it would send half a prompt.
    "shift+enter": "M-Enter",
    "ctrl+enter": "Enter",
    "ctrl+backspace": "C-h",
    "ctrl+space": "C-Space",
    "ctrl+at": "C-Space",
}
_MODIFIERS = {"ctrl": "C", "alt": "M", "meta": "M", "shift": "S"}


def text(key: str, character: str | None) -> str:
    """The text that a key types; empty where it is no text."""
    modified = any(f"{modifier}+" in key for modifier in ("ctrl", "alt", "meta", "super", "hyper"))
    return character if character and character.isprintable() and not modified else ""


def name(key: str) -> str:
    """tmux's name of a key in Textual's words; empty when no terminal knows such a key."""
    if key in _WHOLE:
        return _WHOLE[key]
    *modifiers, last = key.split("+")
    if any(modifier not in _MODIFIERS for modifier in modifiers):
        return ""
    known = _NAMES.get(last)
    if known is None:
        known = key_to_character(last) or ""
        if len(known) != 1 or not known.isprintable():
            return ""
        # A character has its shift in it, and ctrl knows no case.
        modifiers = [modifier for modifier in modifiers if modifier != "shift"]
        if "ctrl" in modifiers:
            known = known.lower()
    letters = {_MODIFIERS[modifier] for modifier in modifiers}
    return "".join(f"{letter}-" for letter in "CMS" if letter in letters) + known
