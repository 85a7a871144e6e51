"""Sources of a program's status that part for longer than a screen is behind: one sentence for each, once.

Where the rules of a profile no longer fit a version, or a hook does not come, this is what shows it. Pure but for what
it remembers.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.programs.status.evidence import Evidence, Rank

LASTS = 5.0
"""Seconds after which two sources that part do so for more than the time that a screen needs to follow."""
_KINDS = {"thinking": "works", "tool": "works", "waiting": "waits", "idle": "rests", "quiet": "rests"}
_SAID_AGAIN = 600.0
"""Seconds within which the same is not said again of one program."""


def parted(evidences: Sequence[Evidence]) -> list[tuple[Evidence, Evidence]]:
    """What the highest source says, with each lower one that says otherwise now. Movement says too little for that."""
    known = [one for one in evidences if one.status in _KINDS and one.rank > Rank.MOVEMENT and one.source != "activity"]
    if not known:
        return []
    first = max(known, key=lambda one: one.rank)
    return [
        (first, other)
        for other in known
        if other.rank < first.rank
        and _KINDS[other.status] != _KINDS[first.status]
        # What was only told once, and before the other changed its mind, is over.
        and (other.rank is Rank.SCREEN or other.at > first.at)
    ]


def sentence(first: Evidence, other: Evidence, now: float) -> str:
    """Such as `record thinking, screen quiet (rule 8: ❯), 25 s`."""
    why = f" ({other.why})" if other.why else ""
    return f"{first.source} {first.status}, {other.source} {other.status}{why}, {_lasted(first, other, now):.0f} s"


class Disagreements:
    """Those of one program."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str, str, str], float] = {}

    def news(self, evidences: Sequence[Evidence], now: float) -> tuple[list[str], float]:
        """What is to be said now, and the seconds until there may be more; 0: nothing is on its way."""
        said: list[str] = []
        left = 0.0
        for first, other in parted(evidences):
            key = (first.source, _KINDS[first.status], other.source, _KINDS[other.status])
            if now - self._said.get(key, float("-inf")) < _SAID_AGAIN:
                continue
            wait = LASTS - _lasted(first, other, now)
            if wait > 0:
                left = min(left, wait) if left else wait
                continue
            self._said[key] = now
            said.append(sentence(first, other, now))
        return said, left


def _lasted(first: Evidence, other: Evidence, now: float) -> float:
    return max(0.0, now - max(first.at, other.at))
