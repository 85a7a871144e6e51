"""Styled text as lines: one line with its segments and width in cells, and the wrapping of runs into such lines.

Decides where lines break (at spaces, between wide characters, or wherever they must) and how each joins the previous
one. Text of single-cell characters, nearly all of it, takes a fast path with one search per line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from rich.cells import cell_len, chop_cells, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from gshtui.text.sanitise import plain

Join = Literal["\n", " ", ""]
"""What separates a line from the previous one in copied text: a space after a wrap at a space, nothing after a break
within a word."""

_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


class StyledLine:
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
        """The line's text as copied."""
        return self.text[self.margin :].rstrip()

    def strip(self, gutter: Segment, width: int, fill: Style) -> Strip:
        """The line with its gutter, `width` cells in all; cached, so always call it with the same arguments."""
        if self._strip is None:
            self._strip = self.strip_with(gutter, width, fill)
        return self._strip

    def strip_with(self, gutter: Segment, width: int, fill: Style) -> Strip:
        """Like `strip`, but not cached."""
        return Strip([gutter, *self.segments], cell_len(gutter.text) + self.cells).adjust_cell_length(width, fill)

    def same(self, other: StyledLine) -> bool:
        """Whether both look the same."""
        return self is other or self.segments == other.segments

    def behind(self, prefix: Segment, *, margin: int | None = None) -> StyledLine:
        """The line with a decorative prefix."""
        return StyledLine((prefix, *self.segments), margin=len(prefix.text) + self.margin, join=self.join)

    def filled(self, width: int, style: Style) -> StyledLine:
        """The line padded to `width` cells."""
        if self.cells >= width:
            return self
        return StyledLine(
            (*self.segments, Segment(" " * (width - self.cells), style)), margin=self.margin, join=self.join
        )


def visible(text: str) -> str:
    """The text without control characters except the newline: the last gate before a strip, whatever the source.

    Source text is sanitised before parsing, but parsing can bring a character back (`&#27;`), so all drawn text passes
    here once more.
    """
    return text if text.isprintable() else _CONTROL.sub("�", plain(text))


def blank_line() -> StyledLine:
    """An empty line."""
    return StyledLine(())


LineBreak = tuple[int, int, Join]
"""Start, end, and how the piece joins the previous one."""

_NARROW = re.compile(
    "[\x20-\x7e\u00a0-\u02ff\u0370-\u0482\u048a-\u0558\u2010-\u2027\u2030-\u205e\u2500-\u25fc]*"
).fullmatch


def wrapped(runs: Sequence[Segment], width: int, *, hard: bool = False) -> list[StyledLine]:
    """The runs as lines of at most `width` cells; at least one line.

    Args:
        runs: text with styles; a newline in the text begins a new line.
        width: cells; below 1 counts as 1.
        hard: break at the width, even within words: for code.
    """
    text = "".join(run.text for run in runs)
    if not text.isprintable():
        runs = [Segment(visible(run.text), run.style) for run in runs]
        text = "".join(run.text for run in runs)
    lines: list[StyledLine] = []
    at = index = 0  # where runs[index] begins
    for start, end, how in line_breaks(text, max(1, width), hard=hard):
        while index < len(runs) and at + len(runs[index].text) <= start:
            at += len(runs[index].text)
            index += 1
        lines.append(StyledLine(_slice(runs, index, at, start, end), join=how if lines else "\n"))
    return lines


def kept_rows(text: str, width: int) -> list[str]:
    """One line as rows of at most `width` cells with each character in one of them: a row ends behind a blank where
    one is near, otherwise at any character.
    """
    rows: list[str] = []
    start, size, narrow = 0, len(text), _NARROW(text) is not None
    while size - start > width * (1 if narrow else 4) or (not narrow and cell_len(text[start:]) > width):
        end = start + width
        if not narrow:  # some more characters, as some need no cell
            end = start + len(chop_cells(text[start : end + 8], width)[0])
        if blank := text.rfind(" ", (start + end) // 2, end) + 1:
            end = end if text[start:blank].isspace() else blank
        rows.append(text[start:end])
        start = end
    return [*rows, text[start:]]


def line_breaks(text: str, width: int, *, hard: bool = False) -> Iterator[LineBreak]:
    """The start and end of each line of the text."""
    start = 0
    while True:
        end = text.find("\n", start)
        stop = len(text) if end < 0 else end
        if stop - start <= width // 2:
            yield start, stop, "\n"
        elif _NARROW(text, start, stop):
            yield from _narrow(text, start, stop, width, hard)
        else:
            yield from _wide(text, start, stop, width, hard)
        if end < 0:
            return
        start = end + 1


def _narrow(text: str, start: int, stop: int, width: int, hard: bool) -> Iterator[LineBreak]:
    join: Join = "\n"
    while stop - start > width:
        cut = -1 if hard else text.rfind(" ", start + 1, start + width + 1)
        if cut < 0 or not text[start:cut].strip():
            yield start, start + width, join
            start, join = start + width, ""
            continue
        end = cut
        while text[end - 1] == " ":
            end -= 1
        yield start, end, join
        start, join = cut + 1, " "
        while start < stop and text[start] == " ":
            start += 1
    if start < stop or join == "\n":
        yield start, stop, join


def _wide(text: str, start: int, stop: int, width: int, hard: bool) -> Iterator[LineBreak]:
    spans, _ = split_graphemes(text[start:stop])
    line, used = start, 0
    good = -1  # where the line may end: a space, or the edge of a wide character
    join: Join = "\n"
    index = 0
    while index < len(spans):
        first, last, cells = spans[index]
        at = start + first
        space = text[at : start + last] == " "
        if not hard and at > line and (space or cells == 2) and text[line:at].strip():
            good = at
        if used + cells <= width or at == line:
            used += cells
            index += 1
            if cells == 2 and not hard:
                good = start + last
            continue
        end = at if hard or good <= line else good
        yield line, _trimmed(text, line, end), join
        begin = end
        while not hard and begin < stop and text[begin] == " ":
            begin += 1
        join = " " if begin > end else ""
        line, used, good = begin, 0, -1
        index = _index_of(spans, begin - start, index)
    if line < stop or join == "\n":
        yield line, stop, join


def _index_of(spans: Sequence[tuple[int, int, int]], offset: int, near: int) -> int:
    index = min(near, len(spans))
    while index > 0 and spans[index - 1][0] >= offset:
        index -= 1
    while index < len(spans) and spans[index][0] < offset:
        index += 1
    return index


def _trimmed(text: str, start: int, end: int) -> int:
    while end > start + 1 and text[end - 1] == " ":
        end -= 1
    return end


def _slice(runs: Sequence[Segment], index: int, at: int, start: int, end: int) -> Iterator[Segment]:
    """The part of the runs from `start` to `end`; `runs[index]` begins at `at`."""
    while at < end and index < len(runs):
        text, style, _ = runs[index]
        piece = text[max(0, start - at) : end - at]
        if piece:
            yield Segment(piece, style)
        at += len(text)
        index += 1
