"""Styles laid over parts of a line: what is selected, what a search found.

Pure: segments and ranges of characters in, segments out. Called by the transcript for the lines on the screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.segment import Segment
from rich.style import Style

Range = tuple[int, int, Style]
"""First character, the one after the last, and the style that goes over what is there."""


def overlaid(segments: Iterable[Segment], ranges: Sequence[Range]) -> list[Segment]:
    """The segments with the ranges' styles over them; the ranges are in order and apart from one another."""
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


def found_in(text: str, needle: str, style: Style, offset: int = 0) -> list[Range]:
    """Ranges of the needle (already case-folded) in a text, `offset` characters on."""
    folded = text.casefold()
    if len(folded) != len(text):
        folded = text.lower() if len(text.lower()) == len(text) else text
    ranges: list[Range] = []
    at = folded.find(needle)
    while at >= 0:
        ranges.append((offset + at, offset + at + len(needle), style))
        at = folded.find(needle, at + len(needle))
    return ranges
