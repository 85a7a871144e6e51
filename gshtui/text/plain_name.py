"""Names that people and agents give: readable, one word of a path, no disguise; and what to say after an unknown one.

A name is refused rather than repaired, so that it always means what it shows.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from gshtui.system.expected_error import ExpectedError


def similar_names(word: str, names: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """The most similar names first, at most so many. `cutoff`: from 0, anything, to 1, only the word itself."""
    import difflib

    return difflib.get_close_matches(word, list(names), n=most, cutoff=cutoff)


def known_names(kind: str, names: Iterable[str]) -> str:
    """The sentence after "There is no account 'x'.": `Known accounts: work.`; without names, that there are none.
    `kind`: what they name, in the plural.
    """
    known = ", ".join(names)
    return f"Known {kind}: {known}." if known else f"No {kind} yet."


LONGEST = 100
"""Characters of a name."""
_MOST_BYTES = 240
"""Bytes of a name in UTF-8: file systems take 255."""


_SHAPES = str.maketrans("015i", "olsl")
"""Characters that look alike."""


class NameRefused(ExpectedError):
    """The name cannot be used; the message says why."""


def plain_name(name: str, what: str = "name") -> str:
    """The name, as it is. `what`: what it names, for the message. Raises `NameRefused`: it is empty, too long, a path,
    or shows something else than it is.
    """
    if (why := _fault(name)) is not None:
        raise NameRefused(f"The {what} {_quoted(name)} cannot be used: {why}.", "Use letters, digits, - _ and dots.")
    return name


def shape(name: str) -> str:
    """What a name looks like at a glance: one of the same shape can be taken for it, as `c1aude` for `claude`."""
    seen = unicodedata.normalize("NFKC", name).casefold().replace("rn", "m").replace("vv", "w")
    return "".join(char for char in seen.translate(_SHAPES) if char.isalnum())


def _quoted(name: str) -> str:
    return ascii(name if len(name) <= 60 else f"{name[:59]}…") if not name.isprintable() else repr(name[:60])


def _fault(name: str) -> str | None:
    if not name:
        return "it is empty"
    if len(name) > LONGEST or len(name.encode(errors="replace")) > _MOST_BYTES:
        return f"it is longer than {LONGEST} characters"
    if name in (".", ".."):
        return "it is a step in a path"
    if "/" in name or "\\" in name:
        return "a name has no / or \\"
    if name.startswith("~"):
        return "~ at the beginning means a home folder"
    if name != name.strip():
        return "it begins or ends with a space"
    if any(unicodedata.category(char)[0] in "CZ" and char != " " for char in name):
        return "it has control characters or invisible ones"
    if unicodedata.normalize("NFKC", name) != name:
        return "it has characters that look like others"
    if len(scripts := _scripts(name)) > 1:
        return f"it mixes alphabets ({', '.join(sorted(scripts))}), so that letters look like others"
    return None


_MIXED_ALPHABETS = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC"})
"""Alphabets that share the shapes of letters; others are mixed in honest names."""


def _scripts(name: str) -> set[str]:
    first = {unicodedata.name(char, "").partition(" ")[0] for char in name if char.isalpha()}
    return first & _MIXED_ALPHABETS
