"""Styles over parts of a line: the mouse selection, search matches.

Pure: segments and ranges of characters in, segments out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection

StyledRange = tuple[int, int, Style]
"""First character, the one after the last, and the style to apply."""


def overlay_styles(segments: Iterable[Segment], ranges: Sequence[StyledRange]) -> list[Segment]:
    """The segments with the ranges' styles applied; the ranges are in order and do not overlap."""
    out: list[Segment] = []
    at = index = 0
    for text, style, _ in segments:
        end = at + len(text)
        start = at
        while start < end:
            while index < len(ranges) and ranges[index][1] <= start:
                index += 1
            if index == len(ranges) or ranges[index][0] >= end:
                out.append(Segment(text[start - at :], style))
                break
            first, last, over = ranges[index]
            if first > start:
                out.append(Segment(text[start - at : first - at], style))
            begin, stop = max(first, start), min(last, end)
            out.append(Segment(text[begin - at : stop - at], over if style is None else style + over))
            start = stop
        at = end
    return out


def match_ranges(text: str, needle: str, style: Style, offset: int = 0) -> list[StyledRange]:
    """Ranges of the needle (already case-folded) in a text, `offset` characters on."""
    folded = text.casefold()
    if len(folded) != len(text):
        folded = text.lower() if len(text.lower()) == len(text) else text
    ranges: list[StyledRange] = []
    at = folded.find(needle)
    while at >= 0:
        ranges.append((offset + at, offset + at + len(needle), style))
        at = folded.find(needle, at + len(needle))
    return ranges


def selected_span(selection: Selection, row: int, length: int) -> tuple[int, int] | None:
    """First selected character of a row of `length` characters, and the one after the last."""
    span = selection.get_span(row)
    if span is None:
        return None
    start, end = span
    end = length if end == -1 else min(end, length)
    return (start, end) if start < end else None
