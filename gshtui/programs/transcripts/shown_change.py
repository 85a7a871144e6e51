"""Whether a screen shows the change that a call would make, line by line. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from gshtui.programs.transcripts.shown_text import bare

_NUMBERED = re.compile(r"[ │]*(\d+)(?: (.?)(.*))?")
"""A row that begins a line: behind its number stands a sign, or, of a new file, the line."""
_BESIDE = re.compile(r"(?<= ) (?=\d+ [-+ ] )")
"""Between what was there and what comes in its place, side by side."""
_CUT = 40
"""Characters, blanks left out, that a line shows of itself where a screen goes on with it in another row."""


class _Line(NamedTuple):
    number: int
    mark: str
    rows: tuple[str, ...]
    """Its text, as it is wrapped."""


def shows_change(rows: Sequence[str], before: str | None, after: str, change: str, *, partial: bool) -> bool:
    """Whether each numbered line that rows of a screen show is that line of a file; also where they show none.

    Args:
        before: the file's text; `None`: it is new.
        after: its text with the change.
        change: the unified diff between them, of which the rows show each line unless they are `partial`, when there
            may be more of the last line, too.
    """
    texts = {"-": before, "+": after}
    sides = {sign: [bare(line) for line in text.split("\n")] for sign, text in texts.items() if text is not None}
    signs = Counter(line[0] for line in change.split("\n")[2:] if line[:1] in ("+", "-"))
    for drawn in (rows, list(_stacked(rows))):
        lines = list(_lines(drawn))
        shown = Counter("+" if before is None else line.mark for line in lines)
        is_all = partial or not lines or all(signs[sign] == shown[sign] for sign in "+-")
        if is_all and all(_is_there(line, sides, cut=partial and line is lines[-1]) for line in lines):
            return True
    return False


def _is_there(line: _Line, sides: dict[str, list[str]], *, cut: bool) -> bool:
    """Whether a text has this line in this place; `cut`: or one that goes on."""
    written = [(side, line.rows) for side in sides if line.mark in (side, " ", "")]
    if "-" not in sides:  # in a new file, a line may stand behind its number without a sign
        written.append(("+", (bare(line.mark) + line.rows[0], *line.rows[1:])))
    return any(
        0 < line.number <= len(sides[side]) and _are_rows_of(sides[side][line.number - 1], rows, cut=cut)
        for side, rows in written
    )


def _are_rows_of(text: str, rows: Sequence[str], *, cut: bool) -> bool:
    """Whether a line is wrapped into these rows, between which a sign may be lost: Qwen draws none in its edge."""
    ends = {len(rows[0])} if text.startswith(rows[0]) else set[int]()
    for row in rows[1:]:
        ends = {end + lost + len(row) for end in ends for lost in (0, 1) if text.startswith(row, end + lost)}
    return len(text) in ends or (cut and bool(ends) and len("".join(rows)) >= _CUT)


def _lines(rows: Sequence[str]) -> Iterator[_Line]:
    """The numbered lines that rows show, each with the rows below it into which it is wrapped: those have no number,
    and some repeat its sign.
    """
    line, column = None, 0
    for row in rows:
        if (found := _NUMBERED.fullmatch(row)) is not None:
            if line is not None:
                yield line
            line, column = _Line(int(found[1]), found[2] or "", (bare(found[3] or ""),)), found.end(1) + 1
        elif line is not None and not row[:column].strip(" │") and bare(row):
            more = row[column:].removeprefix(line.mark) if line.mark in ("+", "-") else row[column:]
            line = line._replace(rows=(*line.rows, bare(more)))
        elif line is not None:
            yield line
            line = None
    if line is not None:
        yield line


def _stacked(rows: Sequence[str]) -> Iterator[str]:
    """The rows, of which what stands side by side stands one below the other."""
    for row in rows:
        borders = [0, *(found.end() for found in _BESIDE.finditer(row) if row[: found.start()].strip()), len(row)]
        for start, end in pairwise(borders):
            yield " " * start + row[start:end]
