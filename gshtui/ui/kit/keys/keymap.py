"""Remapping keys: `[keybindings]` of the settings, checked against the key table.

Pure. Textual itself checks nothing: it ignores an unknown id, an impossible key never arrives, and of two clashing
keys one just stops working. Rejects such an entry with a sentence and keeps the default. Called by the app.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from string import punctuation

from textual.keys import Keys

from gshtui.ui.kit.keys.key_table import ANYWHERE, INPUT, KEYS, PANES, TURN, TYPING, Key
from gshtui.ui.kit.textual.key_bindings import character_key

MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
SAME_BYTE = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+left_square_bracket": "escape", "ctrl+[": "escape"}
"""Keys that most terminals send as another key."""
_NAMES = frozenset(key.value for key in Keys)
_CHARACTERS = frozenset(character_key(character) for character in punctuation)
"""Textual names a character by its Unicode name, with few exceptions: question_mark, slash."""
_TYPED = _CHARACTERS | {"space"}
_TYPING = frozenset({INPUT, TYPING})
"""Where every letter is typed."""
_GLOBAL = frozenset({ANYWHERE, PANES, TURN})
_CHORD = re.compile(r"(?:\^.){2,}")


def effective_keymap(
    configured: Mapping[str, str], *, elsewhere: Collection[str] = ()
) -> tuple[dict[str, str], list[str]]:
    """The valid remappings by id, and one sentence for each invalid entry.

    Args:
        configured: id → keys, comma-separated, as Textual (`ctrl+g`) or zsh (`^G`) writes them.
        elsewhere: valid ids that are not the window's, such as the shell plugin's.
    """
    keymap: dict[str, str] = {}
    problems: list[str] = []
    for id, text in configured.items():
        if id in elsewhere and id not in KEYS:
            continue
        if id not in KEYS:
            near = difflib.get_close_matches(id, KEYS, n=1, cutoff=0.6)
            hint = f"Did you mean {near[0]!r}?" if near else "Press F1 to list the keys with their ids."
            problems.append(f"[keybindings] has an unknown key id: {id!r}. {hint}")
            continue
        keys = [normalised_key(key) for key in text.split(",") if key.strip()]
        wrong = next((why for key in keys if (why := why_impossible(key))), "" if keys else "it is not a key")
        wrong = wrong or _typed(keys, KEYS[id])
        wrong = wrong or _clash(id, keys, {**{name: row.keys for name, row in KEYS.items()}, **keymap})
        if wrong:
            problems.append(f"[keybindings] {id} = {text!r} is ignored: {wrong}. The default stays: {KEYS[id].keys}.")
        else:
            keymap[id] = ",".join(keys)
    return keymap, problems


def normalised_key(key: str) -> str:
    """A key in Textual's words: `^G`, `Ctrl+G` and `C-g` are `ctrl+g`."""
    key = key.strip()
    if len(key) == 2 and key[0] == "^":
        return f"ctrl+{key[1].lower()}"
    if match := re.fullmatch(r"([CMA])-(\S+)", key):
        return f"{'ctrl' if match[1] == 'C' else 'alt'}+{match[2].lower()}"
    *modifiers, last = key.split("+") if key != "+" else ["plus"]
    return "+".join(
        [*(modifier.lower() for modifier in modifiers), last if len(last) == 1 and not modifiers else last.lower()]
    )


def why_impossible(key: str) -> str:
    """Why a key can never arrive; empty: it can."""
    if _CHORD.fullmatch(key):
        return f"{key} is a key sequence, and the window takes one key at a time"
    if key in SAME_BYTE:
        return f"terminals send {key} as {SAME_BYTE[key]}"
    *modifiers, last = key.split("+")
    if unknown := [modifier for modifier in modifiers if modifier not in MODIFIERS]:
        return f"{unknown[0]!r} is not a modifier"
    if len(last) == 1 or key in _NAMES or last in _NAMES:
        return ""
    return "" if last in _CHARACTERS else f"unknown key {last!r}"


def _typed(keys: list[str], row: Key) -> str:
    """Why a key types something where it should do something; empty: it does not."""
    typed = (key for key in keys if key.removeprefix("shift+") in _TYPED or len(key.removeprefix("shift+")) == 1)
    if row.group in _TYPING and (found := next(typed, "")):
        return f"{found} is typed there"
    return ""


def _clash(id: str, keys: list[str], now: Mapping[str, str]) -> str:
    group = KEYS[id].group
    for other, row in KEYS.items():
        together = row.group == group or row.group in _GLOBAL or group in _GLOBAL
        if other == id or not together:
            continue
        if shared := [key for key in keys if key in now[other].split(",") and key not in KEYS[id].keys.split(",")]:
            return f"{shared[0]} is already {other} ({row.label})"
    return ""
