"""The manual as tests read it, which is the README and the guides that it links: its words without line ends and code
blocks, and every key that they name. Refuses to know what any key does.
"""

import re

from textual.keys import (
    _character_to_key,  # pyright: ignore[reportPrivateUsage]  # there is no public list of the names
)

from tests.kit.source import ROOT

PAGES = (ROOT / "README.md", *sorted((ROOT / ".github" / "guides").glob("*.md")))
MANUAL = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
_NAMED = "enter|escape|tab|space|delete|backspace|up|down|left|right|pageup|pagedown|home|end"
_KEY = re.compile(rf"(?:(?:ctrl|alt|shift)\+)+\S+|[fF]\d{{1,2}}|{_NAMED}|[!-~]|(?:\^\S)+\S?")
"""One with a modifier, a function key, a named one, a character, or as zsh writes it."""


def words(text: str = MANUAL) -> str:
    """The text without its code blocks, on one line for each row of a table, paragraph or item."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"[ \t]*\n(?![\n|#>-]|\d+\. |\*\*)[ \t]*", " ", prose)


def keys(text: str) -> list[re.Match[str]]:
    """Where a text names keys: each a code of its own."""
    return [found for found in re.finditer(r"`([^`]+)`", text) if _KEY.fullmatch(found[1])]


def name_of(key: str) -> str:
    """A key by Textual's name: `ctrl+]` is `ctrl+right_square_bracket`; as zsh writes it, it stays."""
    if len(key) > 1 and key.startswith("^"):
        return key
    *modifiers, last = key.split("+") if len(key) > 1 else [key]
    named = _character_to_key(last) if len(last) == 1 else last.lower()
    return "+".join([*modifiers, named])
