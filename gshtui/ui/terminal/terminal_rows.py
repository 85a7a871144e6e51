"""One row of a terminal, parsed from coloured text into segments; each text is parsed once.

Owns the sixteen named colours as this window's themes show them; a program's RGB colours stay as they are. Drawn
text has passed `guard.styled`: nothing but text reaches the person's terminal.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import lru_cache

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from gshtui.text.sanitise import RISKY
from gshtui.text.styled_text import Colour, StyledSpan, sgr, styled
from gshtui.text.styled_text import Style as Look

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
class TerminalColours:
    """How a program's styles are drawn on one theme.

    Args:
        base: the style where the program chose no colour.
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


def terminal_colours(base: Style, *, dark: bool, ansi: bool) -> TerminalColours:
    """The colours of a theme; `ansi`: one of the terminal's own colours."""
    return TerminalColours(base, () if ansi else tuple(Color.parse(name) for name in (_DARK if dark else _LIGHT)))


_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
_KEPT = 1_024
"""Rows kept parsed: a few screens, so that rows that scroll by or come back are not parsed again."""
_TAB = 8


@dataclass(frozen=True, slots=True)
class StyledRow:
    """Text as drawn, in pieces of one style each, over the terminal's style."""

    text: str
    segments: tuple[Segment, ...]
    cells: int


class RowParser:
    """Parses rows, and caches the last ones."""

    def __init__(self, colours: TerminalColours) -> None:
        self._style = colours.style
        self._read: OrderedDict[str, StyledRow] = OrderedDict()

    def row(self, line: str) -> StyledRow:
        """The row for this text, which is self-contained: its colours begin in it."""
        row = self._read.get(line)
        if row is not None:
            self._read.move_to_end(line)
            return row
        pieces = [Segment(span.text, self._style(span.style)) for span in spans(line)]
        text = "".join([piece.text for piece in pieces])
        row = self._read[line] = StyledRow(text, tuple(pieces), cell_len(text))
        if len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return row


def spans(line: str) -> list[StyledSpan]:
    """The line's text with its styles, without control characters, line ends or tabs."""
    parts = _COLOUR.split(line)
    words = parts[::2]
    if RISKY.search("".join(words)) or "\n" in line:
        found = styled(line.replace("\n", " "))
    else:
        found: list[StyledSpan] = []
        look = PLAIN
        for at, text in enumerate(words):
            if at:
                look = _after(look, parts[2 * at - 1])
            if text:
                found.append(StyledSpan(text, look))
    return _without_tabs(found) if "\t" in line else found


def text_of(line: str) -> str:
    """The text of a line, without colours and trailing spaces."""
    if "\t" not in line and not RISKY.search(line):
        return line.rstrip()
    return "".join([span.text for span in spans(line)]).rstrip()


def _without_tabs(found: list[StyledSpan]) -> list[StyledSpan]:
    out: list[StyledSpan] = []
    at = 0
    for span in found:
        text = ""
        for number, piece in enumerate(span.text.split("\t")):
            if number:
                blanks = _TAB - at % _TAB
                text, at = text + " " * blanks, at + blanks
            text, at = text + piece, at + cell_len(piece)
        out.append(StyledSpan(text, span.style))
    return out


@lru_cache(maxsize=4_096)
def _after(look: Look, numbers: str) -> Look:
    return sgr(look, numbers)
