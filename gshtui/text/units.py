"""Amounts in words, shared by all lists. Pure, without locale."""

from __future__ import annotations

_EIGHTHS = " ▏▎▍▌▋▊▉"


def cost(dollars: float | None) -> str:
    """`$0.0042`, always four places, or `unknown`."""
    return "unknown" if dollars is None else f"${dollars:.4f}"


def bar(share: float, width: int, *, least: int = 0) -> str:
    """A bar of up to `width` cells, exact to an eighth of one, never less than `least` eighths."""
    eighths = max(least, round(max(0.0, min(share, 1.0)) * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
