"""How well a colour can be read on others, and the nearest one that can.

The rule is WCAG 2.1's (1.4.3): words stand out from what is behind them by 4.5 to 1 at least.
"""

from __future__ import annotations

from collections.abc import Iterable

from textual.color import BLACK, WHITE, Color

READABLE = 4.5
"""The least contrast of words, as a ratio."""
CHOSEN = 0.18
"""The share of the accent behind a selected row: on more, words in the theme's colours cannot be read."""
_STEPS = 32


def luminance(color: Color) -> float:
    """Relative luminance by WCAG, 0 (black) to 1 (white)."""
    parts = [part / 255 for part in (color.r, color.g, color.b)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """Contrast of two opaque colours by WCAG, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(color: Color, behind: Iterable[Color]) -> Color:
    """The colour, moved towards white or black only as far as words need it on all of these backgrounds.

    Where no colour can be read on all of them, it is the nearest one to that.
    """
    below = list(behind)
    away = WHITE if sum(map(luminance, below)) < len(below) * 0.18 else BLACK
    for step in range(_STEPS + 1):
        moved = color.blend(away, step / _STEPS, 1.0)
        if all(contrast(moved, back) >= READABLE for back in below):
            return moved
    return away
