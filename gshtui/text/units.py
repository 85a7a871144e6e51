"""Amounts in words, shared by all lists. Pure, without locale."""

from __future__ import annotations

_EIGHTHS = " ▏▎▍▌▋▊▉"


def counted(number: int, noun: str) -> str:
    """`1 server`, `3 servers`, `1,200 servers`: for nouns whose plural only adds an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cost(dollars: float | None) -> str:
    """`$0.0042`, always four places, or `unknown`."""
    return "unknown" if dollars is None else f"${dollars:.4f}"


def percent(part: float, whole: float) -> str:
    """`0 %`, `<1 %`, `37 %`."""
    if not whole or not part:
        return "0 %"
    share = 100 * part / whole
    return "<1 %" if share < 1 else f"{share:.0f} %"


def deviation(share: float) -> str:
    """How far something is off, with its sign: `+12 %`, `-3 %`, `0 %`. `share`: 0.12 for 12 %."""
    return f"{round(100 * share):+d} %" if round(100 * share) else "0 %"


_FORESEEN = 20
"""The most turns that a forecast counts: how many more it is, a few turns of another kind would change."""


def turns_ahead(turns: int | None) -> str:
    """`in the next turn`, `in about 12 turns`; empty where it is not known, or too far away to say."""
    if turns is None or turns > _FORESEEN:
        return ""
    return "in the next turn" if turns <= 1 else f"in about {turns} turns"


def bar(share: float, width: int, *, least: int = 0) -> str:
    """A bar of up to `width` cells, exact to an eighth of one, never less than `least` eighths."""
    eighths = max(least, round(max(0.0, min(share, 1.0)) * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
