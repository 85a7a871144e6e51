"""The sixteen named colours of terminals, as this window's dark and light themes show them; and a program's style.

Pure. A colour that a program chose by its parts is left as it is, and so are all in a theme of the terminal's own
colours. Called by `rows`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.color import Color
from rich.style import Style

from gshtui.guard.styled import Colour
from gshtui.guard.styled import Style as Look

PLAIN = Look()
_DARK = (
    *("#4a5459", "#e5645c", "#5fb563", "#cf9a35", "#4f97ef", "#b083f0", "#3fbfc9", "#c9d3d1"),
    *("#7d8a8f", "#ff938a", "#7ed482", "#e6bb5c", "#7cb7ff", "#d3b4ff", "#66dbe4", "#ffffff"),
)
_LIGHT = (
    *("#24292f", "#c4232e", "#1a7430", "#855300", "#0b62cc", "#7c46d8", "#14747c", "#6a737d"),
    *("#4f5963", "#a40e26", "#116329", "#6b4200", "#0a4ea8", "#6033b5", "#0d5c63", "#8c959f"),
)


@dataclass(slots=True, eq=False)
class Colours:
    """How a program's styles are drawn on one theme.

    Args:
        base: what is drawn where the program chose no colour.
        named: the sixteen; none: the terminal's own.
    """

    base: Style
    named: tuple[Color, ...] = ()
    _known: dict[Look, Style] = field(default_factory=dict[Look, Style])

    def style(self, look: Look) -> Style:
        """A program's style over the base; a default colour stays the theme's."""
        if look == PLAIN:
            return self.base
        style = self._known.get(look)
        if style is None:
            if len(self._known) > 4_096:  # true colours in fades
                self._known.clear()
            style = self._known[look] = self.base + Style(
                color=self._colour(look.foreground),
                bgcolor=self._colour(look.background),
                bold=look.bold or None,
                dim=look.dim or None,
                italic=look.italic or None,
                underline=look.underline or None,
                reverse=look.reverse or None,
                strike=look.strike or None,
            )
        return style

    def _colour(self, colour: Colour) -> Color | None:
        if isinstance(colour, tuple):
            return Color.from_rgb(*colour)
        if colour is None:
            return None
        if not self.named:
            return Color.from_ansi(colour)
        if colour < len(self.named):
            return self.named[colour]
        return Color.from_triplet(Color.from_ansi(colour).get_truecolor())  # those beyond are the same everywhere


def colours(base: Style, *, dark: bool, ansi: bool) -> Colours:
    """The colours of a theme; `ansi`: one of the terminal's own colours."""
    return Colours(base, () if ansi else tuple(Color.parse(name) for name in (_DARK if dark else _LIGHT)))
