"""One line of the transcript: styled segments, their width in cells, and how the line goes on from the one before.

Owns the line and its strip; refuses to wrap or to style. Made by the block renderers, drawn and copied by the
transcript.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from gshtui.guard.sanitise import plain

Join = Literal["\n", " ", ""]
"""What stands between a line and the one before it in the text that is copied: a line wrapped at a space has a space,
one that was cut in a word has nothing."""

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class Line:
    """An immutable line. `margin`: leading characters that are decoration and never copied."""

    __slots__ = ("_strip", "cells", "join", "margin", "segments")

    def __init__(self, segments: Iterable[Segment], *, margin: int = 0, join: Join = "\n") -> None:
        self.segments = tuple(segments)
        self.cells = sum(cell_len(segment.text) for segment in self.segments)
        self.margin = margin
        self.join: Join = join
        self._strip: Strip | None = None

    @property
    def text(self) -> str:
        return "".join(segment.text for segment in self.segments)

    @property
    def copied(self) -> str:
        """The line's words as they are copied."""
        return self.text[self.margin :].rstrip()

    def strip(self, gutter: Segment, width: int, fill: Style) -> Strip:
        """The line behind its gutter, `width` cells in all; kept for the next time, so ask always the same."""
        if self._strip is None:
            self._strip = self.strip_with(gutter, width, fill)
        return self._strip

    def strip_with(self, gutter: Segment, width: int, fill: Style) -> Strip:
        """Like `strip`, but made anew and not kept."""
        return Strip([gutter, *self.segments], cell_len(gutter.text) + self.cells).adjust_cell_length(width, fill)

    def same(self, other: Line) -> bool:
        """Whether both look alike."""
        return self is other or self.segments == other.segments

    def behind(self, prefix: Segment, *, margin: int | None = None) -> Line:
        """The line with a prefix, which is decoration."""
        return Line((prefix, *self.segments), margin=len(prefix.text) + self.margin, join=self.join)

    def filled(self, width: int, style: Style) -> Line:
        """The line padded to `width` cells."""
        if self.cells >= width:
            return self
        return Line((*self.segments, Segment(" " * (width - self.cells), style)), margin=self.margin, join=self.join)


def visible(text: str) -> str:
    """The text without any control character but the newline: the last gate before a strip, whoever made the text.

    Source is sanitised before it is parsed; but parsing can bring a character back (`&#27;`), so all text that is
    drawn passes here once more.
    """
    return text if text.isprintable() else _CONTROL.sub("�", plain(text))


def blank() -> Line:
    """An empty line."""
    return Line(())
