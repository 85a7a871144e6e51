"""One row of a terminal, parsed from coloured text into segments; each text is parsed once.

Drawn text has passed `guard.styled`: nothing but text reaches the person's terminal.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import lru_cache

import msgspec
from rich.cells import cell_len
from rich.segment import Segment

from gshtui.text.sanitise import RISKY
from gshtui.text.styled_text import Style as Look
from gshtui.text.styled_text import StyledSpan, sgr, styled
from gshtui.ui.kit.drawing.program_colours import PLAIN, ProgramColours

_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
_KEPT = 1_024
"""Rows kept parsed: a few screens, so that rows that scroll by or come back are not parsed again."""
_TAB = 8


class StyledRow(msgspec.Struct, frozen=True):
    """Text as drawn, in pieces of one style each, over the terminal's style."""

    text: str
    segments: tuple[Segment, ...]
    cells: int


class RowParser:
    """Parses rows, and caches the last ones."""

    def __init__(self, colours: ProgramColours) -> None:
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
