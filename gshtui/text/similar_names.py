"""What to say after a name that nobody knows: the names most like it, or all that there are."""

from __future__ import annotations

from collections.abc import Iterable


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
