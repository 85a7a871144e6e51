"""Keys by name, as people and models write them, to the names that tmux knows. Anything else is refused.

Pure. Called by `server` before anything is typed; the names are also what the `tmux keys` tool documents.
"""

from __future__ import annotations

import re

from gshtui.tmux.errors import TmuxError

_NAMES = {
    "enter": "Enter",
    "return": "Enter",
    "cr": "Enter",
    "tab": "Tab",
    "btab": "BTab",
    "backtab": "BTab",
    "escape": "Escape",
    "esc": "Escape",
    "space": "Space",
    "backspace": "BSpace",
    "bspace": "BSpace",
    "delete": "DC",
    "del": "DC",
    "dc": "DC",
    "insert": "IC",
    "ins": "IC",
    "ic": "IC",
    "home": "Home",
    "end": "End",
    "pageup": "PPage",
    "pgup": "PPage",
    "ppage": "PPage",
    "pagedown": "NPage",
    "pgdn": "NPage",
    "npage": "NPage",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
} | {f"f{number}": f"F{number}" for number in range(1, 13)}
_MODIFIERS = {
    "c": "C",
    "ctrl": "C",
    "control": "C",
    "m": "M",
    "alt": "M",
    "meta": "M",
    "option": "M",
    "s": "S",
    "shift": "S",
}
_PREFIX = re.compile(r"(c|ctrl|control|m|alt|meta|option|s|shift)[-+](?=.)", re.IGNORECASE)


def name(key: str) -> str:
    """tmux's name of a key: `Ctrl+C` and `^C` are `C-c`, `PageUp` is `PPage`, one character is itself.

    Raises:
        TmuxError: refused, when there is no such key; long text is typed, not sent as keys.
    """
    rest, modifiers = key, set[str]()
    if len(key) == 2 and key[0] == "^" and key[1] > " ":
        return f"C-{key[1].lower()}"
    while match := _PREFIX.match(rest):
        modifiers.add(_MODIFIERS[match[1].lower()])
        rest = rest[match.end() :]
    found = _NAMES.get(rest.lower())
    if found is None:
        if len(rest) != 1 or not rest.isprintable():
            raise TmuxError(
                "refused", f"There is no key {key[:40]!r}.", "Keys are named Enter, C-c, Tab, Up, Escape, F5 …"
            )
        found = "Space" if rest == " " else rest
        if "C" in modifiers:
            found = found.lower() if len(found) == 1 else found
    if found == "Tab" and modifiers == {"S"}:
        return "BTab"
    return "".join(f"{modifier}-" for modifier in "CMS" if modifier in modifiers) + found
