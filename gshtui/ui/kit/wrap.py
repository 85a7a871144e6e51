"""Wrapping: styled runs into lines of a width in cells, at spaces, between wide characters, or wherever they must.

Owns where lines break; refuses to know what the text means. Called by the block renderers. Text of single-cell
characters, nearly all of it, takes a way that costs one search a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import split_graphemes
from rich.segment import Segment
from rich.style import Style

from gshtui.ui.kit.lines import Join, Line, visible

Break = tuple[int, int, Join]
"""Start, end, and how the piece joins the one before it."""

_NARROW = re.compile(
    "[\x20-\x7e\u00a0-\u02ff\u0370-\u0482\u048a-\u0558\u2010-\u2027\u2030-\u205e\u2500-\u25fc]*"
).fullmatch


def wrapped(
    runs: Sequence[Segment], width: int, *, hard: bool = False, join: Join = "\n", fill: Style | None = None
) -> list[Line]:
    """The runs as lines of at most `width` cells; at least one line.

    Args:
        runs: text with styles; a newline in the text begins a new line.
        width: cells; below 1 counts as 1.
        hard: cut at the width, spaces or not: for code.
        join: how the first line joins what comes before it.
        fill: pad every line to the width in this style.
    """
    text = "".join(run.text for run in runs)
    if not text.isprintable():
        runs = [Segment(visible(run.text), run.style) for run in runs]
        text = "".join(run.text for run in runs)
    lines: list[Line] = []
    at = index = 0  # where runs[index] begins
    for start, end, how in breaks(text, max(1, width), hard=hard):
        while index < len(runs) and at + len(runs[index].text) <= start:
            at += len(runs[index].text)
            index += 1
        line = Line(_slice(runs, index, at, start, end), join=how if lines else join)
        lines.append(line if fill is None else line.filled(width, fill))
    return lines


def breaks(text: str, width: int, *, hard: bool = False) -> Iterator[Break]:
    """Where the text's lines begin and end."""
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


def _narrow(text: str, start: int, stop: int, width: int, hard: bool) -> Iterator[Break]:
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


def _wide(text: str, start: int, stop: int, width: int, hard: bool) -> Iterator[Break]:
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
