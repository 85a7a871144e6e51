"""The manual as tests read it, which is the README and the guides that it links: its words without line ends and code
blocks, and every key that they name.

A `Claim` is words of the manual with what shows that they are true; `uncovered` and `outdated` say which keys have no
claim and which claims have no words. Refuses to know what any key does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from textual.keys import (
    _character_to_key,  # pyright: ignore[reportPrivateUsage]  # there is no public list of the names
)

from tests.kit.source import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / ".github" / "guides").glob("*.md")))
MANUAL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
_NAMED = "enter|escape|tab|space|delete|backspace|up|down|left|right|pageup|pagedown|home|end"
_KEY = re.compile(rf"(?:(?:ctrl|alt|shift)\+)+\S+|[fF]\d{{1,2}}|{_NAMED}|[!-~]|(?:\^\S)+\S?")
"""One with a modifier, a function key, a named one, a character, or as zsh writes it."""
_RANGE = re.compile(r"`alt\+(\d)` … `alt\+(\d)`")


def words(text: str = MANUAL) -> str:
    """The text without its code blocks, on one line for each row of a table, paragraph or item."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"[ \t]*\n(?![\n|#>-]|\d+\. |\*\*)[ \t]*", " ", prose)


def keys(text: str) -> list[re.Match[str]]:
    """Where a text names keys: each a code of its own."""
    return [found for found in re.finditer(r"`([^`]+)`", text) if _KEY.fullmatch(found[1])]


def keys_of(text: str) -> set[str]:
    """The keys that a text names, by Textual's names."""
    found = {name_of(key[1]) for key in keys(text)}
    for first, last in _RANGE.findall(text):
        found |= {f"alt+{number}" for number in range(int(first), int(last) + 1)}
    return found


def name_of(key: str) -> str:
    """A key by Textual's name: `ctrl+]` is `ctrl+right_square_bracket`; as zsh writes it, it stays."""
    if len(key) > 1 and key.startswith("^"):
        return key
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    named = _character_to_key(last) if len(last) == 1 else last.lower()
    return "+".join([*modifiers, named])


@dataclass(frozen=True)
class Claim:
    """Words of the manual, where they hold, and what shows that they do. `keys`: they name keys, and not signs."""

    words: str
    place: str
    shown: Callable[[Any], Any]
    keys: bool = True


def uncovered(claims: Sequence[Claim], text: str = MANUAL) -> list[str]:
    """Keys that no claim is about, each with the words around it."""
    found = words(text)
    spans = [(at.start(), at.end()) for claim in claims for at in re.finditer(re.escape(claim.words), found)]
    return [
        f"{key[1]}: …{found[max(0, key.start() - 60) : key.end() + 60]}…"
        for key in keys(found)
        if not any(start <= key.start() and key.end() <= end for start, end in spans)
    ]


def outdated(claims: Sequence[Claim], text: str = MANUAL) -> list[str]:
    """Claims whose words do not stand in the manual, or stand there more than once."""
    found = words(text)
    return [claim.words for claim in claims if found.count(claim.words) != 1]
