"""What a renderer needs to know of where it draws: width, colours, and the highlighter of code.

Plain data, made by the transcript when its size or theme changes; every renderer takes one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gshtui.ui.kit.code import Highlighter
from gshtui.ui.kit.palette import Palette

NARROWEST = 8
"""Cells that a page has at least; a smaller terminal cuts the line."""
WIDEST = 120
"""Cells that a page has at most: longer lines are hard to read on to the next."""
_INNERMOST = 4


@dataclass(frozen=True, slots=True)
class Page:
    """Where lines are made for. `width` in cells."""

    width: int
    palette: Palette
    code: Highlighter

    def narrower(self, cells: int) -> Page:
        """The page inside an indent."""
        return replace(self, width=max(_INNERMOST, self.width - cells))

    def has_room(self, cells: int) -> bool:
        """Whether an indent of so many cells leaves enough to write in."""
        return self.width - cells >= _INNERMOST
