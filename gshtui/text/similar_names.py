"""The names most like a misspelt one. Loads its library with the first mistake."""

from __future__ import annotations

from collections.abc import Iterable


def similar_names(word: str, names: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> list[str]:
    """At most so many of the names, the most similar one first.

    Args:
        cutoff: from 0, anything, to 1, only the word itself.
    """
    import difflib

    return difflib.get_close_matches(word, list(names), n=most, cutoff=cutoff)
