"""The colours that programs choose by name or number, as this window's themes show them.

Owns the sixteen named ones; RGB colours stay as they are.
"""

from __future__ import annotations

import msgspec
from rich.color import Color
from rich.style import Style
from textual.color import Color as Shade

from gshtui.text.styled_text import Colour
from gshtui.text.styled_text import Style as Look
from gshtui.ui.kit.drawing.contrast import readable

PLAIN = Look()
_DARK = (
    *("#4a5459", "#e5645c", "#5fb563", "#cf9a35", "#4f97ef", "#b083f0", "#3fbfc9", "#c9d3d1"),
    *("#7d8a8f", "#ff938a", "#7ed482", "#e6bb5c", "#7cb7ff", "#d3b4ff", "#66dbe4", "#ffffff"),
)
_LIGHT = (
    *("#24292f", "#c4232e", "#1a7430", "#855300", "#0b62cc", "#7c46d8", "#14747c", "#6a737d"),
    *("#4f5963", "#a40e26", "#116329", "#6b4200", "#0a4ea8", "#6033b5", "#0d5c63", "#8c959f"),
)


class ProgramColours(msgspec.Struct, eq=False):
    """How a program's styles are drawn on one theme.

    Args:
        base: the style where the program chose no colour.
        named: the sixteen; none: the terminal's own.
        words: the sixteen for words on the base, where each can be read.
    """

    base: Style
    named: tuple[Color, ...] = ()
    words: tuple[Color, ...] = ()
    _known: dict[Look, Style] = msgspec.field(default_factory=dict[Look, Style])

    def style(self, look: Look, base: Style | None = None) -> Style:
        """A program's style over the base, or over another one; a default colour stays the theme's."""
        if look == PLAIN:
            return self.base if base is None else base
        chosen = self._known.get(look)
        if chosen is None:
            if len(self._known) > 4_096:  # true colours in fades
                self._known.clear()
            chosen = self._known[look] = self._choice(look)
        return (self.base if base is None else base) + chosen

    def _choice(self, look: Look) -> Style:
        named = self.named if look.reverse or look.background is not None else self.words
        return Style(
            color=self._colour(look.foreground, named),
            bgcolor=self._colour(look.background, self.named),
            bold=look.bold or None,
            dim=look.dim or None,
            italic=look.italic or None,
            underline=look.underline or None,
            reverse=look.reverse or None,
            strike=look.strike or None,
        )

    @staticmethod
    def _colour(colour: Colour, named: tuple[Color, ...]) -> Color | None:
        if isinstance(colour, tuple):
            return Color.from_rgb(*colour)
        if colour is None:
            return None
        if not named:
            return Color.from_ansi(colour)
        if colour < len(named):
            return named[colour]
        return Color.from_triplet(Color.from_ansi(colour).get_truecolor())  # those beyond are the same everywhere


def program_colours(base: Style, *, dark: bool, ansi: bool) -> ProgramColours:
    """The colours of a theme; `ansi`: one of the terminal's own colours."""
    if ansi:
        return ProgramColours(base)
    named = tuple(Color.parse(name) for name in (_DARK if dark else _LIGHT))
    if base.bgcolor is None:
        return ProgramColours(base, named, named)
    behind = Shade.from_rich_color(base.bgcolor)
    words = (readable(Shade.from_rich_color(color), (behind,)) for color in named)
    return ProgramColours(base, named, tuple(color.rich_color for color in words))
