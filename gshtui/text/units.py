"""Amounts in words, shared by all lists. Pure, without locale."""

from __future__ import annotations

_EIGHTHS = " ▏▎▍▌▋▊▉"
_DAY = 86_400


def counted(number: int, noun: str) -> str:
    """`1 server`, `3 servers`, `1,200 servers`: for nouns whose plural only adds an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def tokens(count: float) -> str:
    """`987`, `12.3k`, `85k`, `1.2M`, `3.4G`."""
    if count < 1_000:
        return f"{count:.0f}"
    if count < 99_950:
        return f"{_short(count / 1_000)}k"
    if count < 999_500:
        return f"{count / 1_000:.0f}k"
    return f"{_short(count / 1e6)}M" if count < 999.95e6 else f"{_short(count / 1e9)}G"


def _short(number: float) -> str:
    """With one decimal, unless that is zero."""
    return f"{number:.1f}".removesuffix(".0")


def change(count: float) -> str:
    """A change of tokens, with its sign: `+1.3k`, `-12`."""
    return f"{'-' if count < 0 else '+'}{tokens(abs(count))}"


def money(dollars: float | None, *, known: bool = True) -> str:
    """`$0.00`, `<$0.0001`, `$0.0042`, `$1.23`, `unknown`; with `+` if part of the cost is unknown, empty if all is."""
    if dollars is None:
        return "unknown"
    if dollars <= 0 and not known:
        return ""
    amount = f"${dollars:.2f}" if dollars >= 0.01 or dollars <= 0 else f"${dollars:.4f}"
    if 0 < dollars < 0.0001:
        amount = "<$0.0001"
    return amount if known else f"{amount}+"


def age(seconds: float, step: int = 1) -> str:
    """`now`, `12 s`, `5 min`, `3 h`, `2 d`: how long ago something was. `step`: of its seconds."""
    if seconds < max(2, step):
        return "now"
    if seconds < 60:
        return f"{seconds // step * step:.0f} s"
    if seconds < 3_600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.0f} h" if seconds < 172_800 else f"{seconds / _DAY:.0f} d"


def duration(seconds: float) -> str:
    """How long something took, in at most ten cells: `0.04 s`, `3.2 s`, `42 s`, `1 min 05 s`, `2 h 10 min`."""
    if seconds >= 9.95:
        return clock(seconds + 0.5 * (seconds < 60))
    return f"{seconds:.2f} s" if seconds < 0.1 else f"{seconds:.1f} s"


def clock(seconds: float) -> str:
    """The same in whole seconds, for what still runs: `7 s`, `1 min 05 s`, `2 h 10 min`, `3 d 04 h`."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    if seconds < 3_600:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    if seconds < _DAY:
        return f"{int(seconds // 3_600)} h {int(seconds % 3_600 // 60):02d} min"
    return f"{int(seconds // _DAY)} d {int(seconds % _DAY // 3_600):02d} h"


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
