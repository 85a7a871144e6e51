"""One row of a terminal, read from text with colours to segments that can be drawn; each is read once.

What is drawn went through `guard.styled`: nothing but words reaches the person's terminal. Refuses to know where a row
stands. Called by the terminal's surface for the rows on the screen, and by its search.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment

from gshtui.guard.escapes import RISKY
from gshtui.guard.styled import Span, sgr, styled
from gshtui.guard.styled import Style as Look
from gshtui.ui.terminal.colours import PLAIN, Colours

_COLOUR = re.compile(r"\x1b\[([0-9;:]*)m")
_KEPT = 1_024
"""Rows that stay read: some screens, so that what scrolls by or comes back is not read again."""
_TAB = 8


@dataclass(frozen=True, slots=True)
class Row:
    """Text as it is drawn, in pieces of one style each, over the style of the whole terminal."""

    text: str
    segments: tuple[Segment, ...]
    cells: int


class Rows:
    """Reads rows, and remembers the last of them."""

    def __init__(self, colours: Colours) -> None:
        self._style = colours.style
        self._read: OrderedDict[str, Row] = OrderedDict()

    def row(self, line: str) -> Row:
        """The row of this text, which stands alone: its colours begin in it."""
        row = self._read.get(line)
        if row is not None:
            self._read.move_to_end(line)
            return row
        pieces = [Segment(span.text, self._style(span.style)) for span in spans(line)]
        text = "".join([piece.text for piece in pieces])
        row = self._read[line] = Row(text, tuple(pieces), cell_len(text))
        if len(self._read) > _KEPT:
            self._read.popitem(last=False)
        return row


def spans(line: str) -> list[Span]:
    """The line's words with their styles; no control character, no line end and no tab is in them."""
    parts = _COLOUR.split(line)
    words = parts[::2]
    if RISKY.search("".join(words)) or "\n" in line:
        found = styled(line.replace("\n", " "))
    else:
        found: list[Span] = []
        look = PLAIN
        for at, text in enumerate(words):
            if at:
                look = _after(look, parts[2 * at - 1])
            if text:
                found.append(Span(text, look))
    return _without_tabs(found) if "\t" in line else found


def text_of(line: str) -> str:
    """The words of a line, without colours and without the blanks at its end."""
    if "\t" not in line and not RISKY.search(line):
        return line.rstrip()
    return "".join([span.text for span in spans(line)]).rstrip()


def _without_tabs(found: list[Span]) -> list[Span]:
    out: list[Span] = []
    at = 0
    for span in found:
        text = ""
        for number, piece in enumerate(span.text.split("\t")):
            if number:
                blanks = _TAB - at % _TAB
                text, at = text + " " * blanks, at + blanks
            text, at = text + piece, at + cell_len(piece)
        out.append(Span(text, span.style))
    return out


@lru_cache(maxsize=4_096)
def _after(look: Look, numbers: str) -> Look:
    return sgr(look, numbers)
