"""Versions of programs in their order: numbers compare as numbers, and what is only ahead of a release is below it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_VERSION = re.compile(
    r"\d{1,15}+(?:(?=\.\d)\.\d{1,15}+){1,5}+(?:[-+.]?[0-9A-Za-z]++(?:(?=[-+.][0-9A-Za-z])[-+.][0-9A-Za-z]++)*+)?"
)
_WHOLE = re.compile(r"v?(\d{1,15}+(?:(?=\.\d)\.\d{1,15}+)*+)([-.]?[0-9A-Za-z][0-9A-Za-z.-]*+)?(?:\+.*)?")
"""Looks ahead in what repeats: Python before 3.11.5 takes the dot of a repetition that fails as matched."""
_MOST = 60
"""Characters of the longest version that is one."""
Order = tuple[tuple[int, ...], int, tuple[tuple[int, int, str], ...]]


def version_in(text: str) -> str:
    """The text as a version; empty if it is none."""
    text = text.strip().removeprefix("v")
    return text if len(text) <= _MOST and _VERSION.fullmatch(text) else ""


def order(version: str) -> Order | None:
    """What versions are sorted by; `None` for what is none. `1.2-beta.3` is below 1.2, `1.2.post1` above."""
    found = _WHOLE.fullmatch(version.strip()) if len(version) <= _MOST else None
    if found is None:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    rest = (found[2] or "").lower()
    words = re.findall(r"\d+|[a-z]+", rest)
    place = 0 if not words else 1 if words[0] in ("post", "r", "p") else -1
    return tuple(numbers), place, tuple((0, int(word), "") if word.isdigit() else (1, 0, word) for word in words)


def newest(versions: Iterable[str]) -> str:
    """The highest of them; empty without any."""
    known = [(key, version) for version in versions if (key := order(version)) is not None]
    return max(known)[1] if known else ""


def oldest(versions: Iterable[str]) -> str:
    """The lowest of them; empty without any."""
    known = [(key, version) for version in versions if (key := order(version)) is not None]
    return min(known)[1] if known else ""


def is_within(version: str, versions: Iterable[str]) -> bool:
    """Whether it is one of them, or between the oldest and the newest."""
    given = list(versions)
    if version in given:
        return True
    keys = [key for each in given if (key := order(each)) is not None]
    mine = order(version)
    return mine is not None and bool(keys) and min(keys) <= mine <= max(keys)
