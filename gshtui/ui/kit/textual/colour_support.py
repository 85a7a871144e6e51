"""How many colours the terminal shows, and a window without any: bold, dim and reversed stay.

A terminal of sixteen colours would show a theme's millions as whichever of its own is nearest: quiet words as loud as
the others, what is waiting as what has failed. So it gets a theme of its own colours, whatever theme was chosen.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.color import Color
from textual.filter import LineFilter, Monochrome, NoColor


def has_few_colours(app: App[Any]) -> bool:
    """Whether the terminal shows sixteen colours at most, or the person wants none (no-color.org)."""
    return app.no_color or app.console.color_system in (None, "standard")


def has_no_colours(environ: Mapping[str, str]) -> bool:
    """Whether the terminal has no colours at all, as its description says.

    To be asked of one terminal in a process: `curses` keeps the first that it is told of.
    """
    try:
        import curses

        curses.setupterm(environ.get("TERM", "dumb"), sys.__stdout__.fileno() if sys.__stdout__ else 1)
        return curses.tigetnum("colors") < 8  # -1: none
    except (ImportError, OSError, ValueError):
        return False
    except Exception as error:  # `curses.error` has no name where curses is missing
        if type(error).__name__ != "error":
            raise
        return False  # no description: what is missing is not known


class Colourless(LineFilter):
    """Takes the colours out of what is drawn. What had another background is reversed instead."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments without colours; `background`: not looked at."""
        return [
            Segment(text, None if style is None else _colourless(style), control) for text, style, control in segments
        ]


@lru_cache(maxsize=1_024)
def _colourless(style: Style) -> Style:
    marked = style.bgcolor is not None and not style.bgcolor.is_default
    return style + Style(color=_DEFAULT, bgcolor=_DEFAULT, reverse=True if marked else style.reverse)


_DEFAULT = RichColor.parse("default")


def take_colours(app: App[Any]) -> None:
    """Draw the app without colours from now on, instead of in greys."""
    filters = app._filters  # pyright: ignore[reportPrivateUsage]
    filters[:] = [one for one in filters if not isinstance(one, Monochrome | NoColor)]
    filters.append(Colourless())
