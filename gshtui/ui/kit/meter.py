"""How full a context window is: one bar with the mark of the trigger, one set of colours, wherever it is shown.

Pure; refuses state. Called by the header, the context pane and the inspector, so that they never disagree.
"""

from __future__ import annotations

from textual.content import Content

from gshtui.ui.kit import figures

NEAR = 0.85
"""Share of the trigger from which the meter warns."""
_WARNS, _FULL = 0.7, 0.9
"""Shares of the window that count where the trigger is not known."""


def level(tokens: int, window: int, trigger: int = 0) -> str:
    """`primary`, `warning` (a cut is near) or `error` (it is due)."""
    if trigger > 0:
        return "error" if tokens >= trigger else "warning" if tokens >= NEAR * trigger else "primary"
    share = tokens / window if window > 0 else 0.0
    return "error" if share >= _FULL else "warning" if share >= _WARNS else "primary"


def sign(tokens: int, window: int, trigger: int = 0) -> str:
    """The same without colour: nothing, `!` or `!!`."""
    return {"primary": "", "warning": "!", "error": "!!"}[level(tokens, window, trigger)]


def meter(tokens: int, window: int, trigger: int, width: int) -> Content:
    """The bar, exactly `width` cells; `┃` stands where a compaction starts."""
    filled = figures.bar(min(tokens, window), window, width)
    colour = f"${level(tokens, window, trigger)}"
    at = min(width - 1, trigger * width // window) if 0 < trigger < window else -1
    rest = "─" * (width - len(filled))
    if at < 0:
        return Content.assemble((filled, colour), (rest, "$border"))
    if at < len(filled):
        return Content.assemble((filled[:at], colour), ("┃", "$accent"), (filled[at + 1 :], colour), (rest, "$border"))
    gap = at - len(filled)
    return Content.assemble((filled, colour), (rest[:gap], "$border"), ("┃", "$accent"), (rest[gap + 1 :], "$border"))
