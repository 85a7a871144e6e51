"""Figures for people in as few cells as possible: tokens, money, ages, shares, charts, the context meter.

Pure functions without locale or state, so that the header and the panes never disagree.
"""

from __future__ import annotations

from textual.content import Content

from gshtui.text.units import age, money, tokens

__all__ = ["age", "money", "tokens"]

WORKING = ("starting", "thinking", "tool")
"""The states in which an agent works."""
_RESTS = 10
"""Seconds between two ages of an agent that does not work, so that a window at rest is still."""
BLOCKS = " ▁▂▃▄▅▆▇█"


def bar(part: float, whole: float, width: int) -> str:
    """A thin bar of at most `width` cells, exact to half a cell; never empty for a value above 0."""
    if whole <= 0 or part <= 0 or width <= 0:
        return ""
    halves = max(1, min(width * 2, round(part / whole * width * 2)))
    return "━" * (halves // 2) + "╸" * (halves % 2)


def columns(values: list[int], height: int) -> list[str]:
    """A column chart of `height` rows, top row first, one cell per value, scaled to the largest."""
    most = max(values, default=0) or 1
    heights = [max(1, round(value / most * height * 8)) if value > 0 else 0 for value in values]
    return ["".join(BLOCKS[max(0, min(8, units - row * 8))] for units in heights) for row in reversed(range(height))]


def age_in(status: str, since: float, now: float) -> str:
    """How long an agent has been in a state; empty: not known. Both times are seconds since the epoch."""
    return age(now - since, 1 if status in WORKING else _RESTS) if since else ""


def short(text: str, width: int) -> str:
    """At most `width` characters, the end replaced by `…`."""
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


NEAR = 0.85
"""The share of the trigger at which the meter starts to warn."""
_WARNS, _FULL = 0.7, 0.9
"""The shares of the window to use if the trigger is unknown."""


def meter_level(tokens: int, window: int, trigger: int = 0) -> str:
    """`primary`, `warning` (a cut is near) or `error` (it is due)."""
    if trigger > 0:
        return "error" if tokens >= trigger else "warning" if tokens >= NEAR * trigger else "primary"
    share = tokens / window if window > 0 else 0.0
    return "error" if share >= _FULL else "warning" if share >= _WARNS else "primary"


def meter_sign(tokens: int, window: int, trigger: int = 0) -> str:
    """The same without colour: nothing, `!` or `!!`."""
    return {"primary": "", "warning": "!", "error": "!!"}[meter_level(tokens, window, trigger)]


def context_meter(tokens: int, window: int, trigger: int, width: int) -> Content:
    """The bar, exactly `width` cells; `┃` stands where a compaction starts."""
    filled = bar(min(tokens, window), window, width)
    colour = f"${meter_level(tokens, window, trigger)}"
    at = min(width - 1, trigger * width // window) if 0 < trigger < window else -1
    rest = "─" * (width - len(filled))
    if at < 0:
        return Content.assemble((filled, colour), (rest, "$border"))
    if at < len(filled):
        return Content.assemble((filled[:at], colour), ("┃", "$accent"), (filled[at + 1 :], colour), (rest, "$border"))
    gap = at - len(filled)
    return Content.assemble((filled, colour), (rest[:gap], "$border"), ("┃", "$accent"), (rest[gap + 1 :], "$border"))
