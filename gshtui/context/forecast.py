"""In how many turns the next compaction comes, if the conversation goes on as it did. Pure.

Growth is what each request added to the one before it. Where a cut lies between two requests nothing is known of the
growth, so that step is left out, as is another model, which counts otherwise. Called by `service`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from gshtui.bus.context import Iteration
from gshtui.context.views import Forecast

TURNS = 12
"""Turns that are looked at: the newest."""


def forecast(iterations: Sequence[Iteration], tokens: int, trigger: int) -> Forecast:
    """When the trigger is reached.

    Args:
        iterations: of one agent, oldest first.
        tokens: of the next request as it stands.
        trigger: tokens at which a compaction starts; 0: none ever does.
    """
    per_turn = growth(iterations)
    if trigger <= 0:
        return Forecast(None, per_turn, trigger)
    if tokens >= trigger:
        return Forecast(0, per_turn, trigger)
    turns = math.ceil((trigger - tokens) / per_turn) if per_turn > 0 else None
    return Forecast(turns, per_turn, trigger)


def growth(iterations: Sequence[Iteration]) -> int:
    """Tokens that a turn adds: the mean of the newest ones, without the largest and the smallest of five or more."""
    grown: dict[str, int] = {}
    known: dict[str, bool] = {}
    for before, now in pairwise(iterations):
        turn = now.turn or now.id
        grown.setdefault(turn, 0)
        known.setdefault(turn, False)
        if _comparable(before, now):
            grown[turn] += now.tokens - before.tokens
            known[turn] = True
    recent = sorted([tokens for turn, tokens in grown.items() if known[turn]][-TURNS:])
    if len(recent) >= 5:
        recent = recent[1:-1]
    return max(0, round(sum(recent) / len(recent))) if recent else 0


def _comparable(before: Iteration, now: Iteration) -> bool:
    """Whether the difference of the two is growth alone."""
    same = (before.session, before.provider, before.model) == (now.session, now.provider, now.model)
    return same and not now.cuts and now.tokens >= before.tokens
