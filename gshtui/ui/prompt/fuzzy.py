"""Fuzzy matching of a few typed letters against names and paths, with the places that matched.

Pure, and fast enough for a hundred thousand paths per keystroke in a thread. Called by the completion sources and
the history search.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

_CHUNK = 2_000
_BOUNDARY = frozenset("/_-. ")


class FuzzyMatch(msgspec.Struct, frozen=True):
    """A matching text. `positions`: indices of the matched letters, for highlighting."""

    text: str
    score: float
    positions: tuple[int, ...] = ()


def fuzzy_match(query: str, text: str) -> FuzzyMatch | None:
    """How well the query matches: as part of the last component or of the text, or as letters in order; else `None`.

    Case matters only if the query has capitals. Higher scores are better; of equal scores, the shorter text wins.
    """
    if not query:
        return FuzzyMatch(text, -len(text) / 1_000)
    subject = text if query != query.lower() else text.lower()
    if len(subject) != len(text):  # lower-casing changed the length (İ): positions would be off
        subject = text
    name = subject.rfind("/", 0, len(subject) - 1) + 1
    at = subject.find(query, name)
    if at < 0:
        at = subject.rfind(query)
    if at >= 0:
        score = 100.0 + 50 * (at >= name) + 40 * (at == name) + 15 * (at == 0 or subject[at - 1] in _BOUNDARY)
        score += 30 * (len(query) == len(subject) - at and at in (name, 0))
        return FuzzyMatch(text, score - len(text) / 1_000, tuple(range(at, at + len(query))))
    positions = _letters(query, subject, name) or _letters(query, subject, 0)
    return FuzzyMatch(text, _score_letters(positions, subject, name), positions) if positions else None


def _letters(query: str, subject: str, start: int) -> tuple[int, ...]:
    """Positions of the query's letters in order, each as early as possible after the previous one; empty: no match."""
    found: list[int] = []
    at = start
    for letter in query:
        at = subject.find(letter, at)
        if at < 0:
            return ()
        found.append(at)
        at += 1
    return tuple(found)


def _score_letters(positions: Sequence[int], subject: str, name: int) -> float:
    score = 0.0
    before = -2
    for at in positions:
        score += 1 + 2 * (at == before + 1) + 3 * (at == 0 or subject[at - 1] in _BOUNDARY) + (at >= name)
        before = at
    gaps = positions[-1] - positions[0] + 1 - len(positions)
    return score - gaps / 10 - len(subject) / 1_000


def best_matches(
    query: str, texts: Iterable[str], limit: int, *, stopped: Callable[[], bool] = lambda: False
) -> list[FuzzyMatch]:
    """The best matches, best first.

    Args:
        limit: the maximum number.
        stopped: polled now and then; if it returns true, the result is an empty list.
    """
    pool = texts if isinstance(texts, Sequence) else list(texts)
    # Each letter as early as possible and nowhere else: a path of one repeated letter must not take forever.
    fits = re.compile(
        "".join(f"(?>.*?{re.escape(letter)})" for letter in query),
        re.DOTALL | (0 if query != query.lower() else re.IGNORECASE),
    ).match
    found: list[FuzzyMatch] = []
    for start in range(0, len(pool), _CHUNK):
        if stopped():
            return []
        part = pool[start : start + _CHUNK]
        scored = (
            (fuzzy_match(query, text) for text in part if fits(text))
            if query
            else (fuzzy_match(query, t) for t in part)
        )
        found.extend(m for m in scored if m is not None)
        if len(found) > 10 * _CHUNK:
            found = heapq.nlargest(limit, found, key=lambda m: m.score)
    return heapq.nsmallest(limit, found, key=lambda m: (-m.score, m.text))
