"""Whether a screen shows a text, or the change that a call would make, line by line. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import NamedTuple

from gshtui.text.cells import width

ENOUGH = 120
"""Characters, blanks left out, of a text that must be on the screen where all of it is not."""
DRAWN = "←│▀▁▂▃▄▅▆▇█"
"""What programs draw into the rows of a text: an arrow behind the first one of its heading, frames and scroll bars."""


def bare(text: str) -> str:
    """What a screen draws of a text, however it breaks it into rows: nothing of blanks, of controls and of marks."""
    return "".join(sign for sign in text if unicodedata.category(sign)[0] not in "CMZ" and sign not in DRAWN)


def spaced(text: str) -> str:
    """What a screen draws of a text, with one blank where there are blanks."""
    shown = text.replace("\t", " ")
    kept = (sign for sign in shown if unicodedata.category(sign)[0] not in "CM" and sign not in DRAWN)
    return " ".join("".join(kept).split())


def is_shown(text: str, shown: str, *, cut: bool) -> bool:
    """Whether a screen shows all of a text; `cut`: or its beginning or its end, since more is out of sight."""
    words = bare(text)
    if not cut:
        return bool(words) and words in shown
    if words[:ENOUGH] in shown:
        return bool(words)
    return len(words) > ENOUGH and words[-ENOUGH:] in shown


def are_in_turn(rows: Sequence[str], words: str) -> bool:
    """Whether each row is in the words behind the one before."""
    end = 0
    for row in rows:
        if (at := words.find(row, end)) < 0:
            return False
        end = at + len(row)
    return True


_NUMBERED = re.compile(r"([ │]*(\d+))(?: (.?)(.*))?")
"""A row that begins a line: behind its number stands a sign, or, of a new file, the line."""
_SECOND = re.compile(r"  (?P<number>\d+)(?: [-+ ] |(?: [-+])?$)")
"""The number of what comes in the place of a line, where that stands beside it."""
_CUT = 20
"""Fewest characters that a line shows of itself where a screen goes on with it in another row."""
_LOSES = frozenset({"qwen"})
"""Programs that draw no sign in the last column of a row that goes on."""


class _Line(NamedTuple):
    number: int
    mark: str
    rows: tuple[str, ...]
    """Its text, as it is wrapped."""
    room: int
    """Cells that are free behind its last row."""


class CallChange(NamedTuple):
    """The change of a file. `before`: its text, `None`: it is new; `diff`: the unified diff from that to `after`."""

    before: str | None
    after: str
    diff: str


def heading_of(rows: Sequence[str]) -> list[str]:
    """The rows above the first line of a change."""
    return list(takewhile(lambda row: _NUMBERED.fullmatch(row) is None, rows))


def shows_change(rows: Sequence[str], change: CallChange, program: str, *, partial: bool) -> bool:
    """Whether each numbered line that rows of a screen show is that line of the file; also where they show none.

    Args:
        partial: there may be more of the change, and of the last line, than the rows show; else they show all of it.
    """
    texts = {"-": change.before, "+": change.after}
    sides = {sign: [spaced(line) for line in text.split("\n")] for sign, text in texts.items() if text is not None}
    signs = Counter(line[0] for line in change.diff.split("\n")[2:] if line[:1] in ("+", "-"))
    cells = [_in_cells(row) for row in rows]
    for columns in ([cells], _beside(cells)):
        blocks = [list(_lines(column)) for column in columns]
        lines = [line for block in blocks for line in block]
        shown = Counter("+" if change.before is None else line.mark for line in lines)
        is_all = partial or not lines or all(signs[sign] == shown[sign] for sign in "+-")
        ends = [block[-1] for block in blocks if block and partial]
        loses = program in _LOSES
        if is_all and all(_is_there(line, sides, line.room if line in ends else None, loses=loses) for line in lines):
            return True
    return False


def _is_there(line: _Line, sides: dict[str, list[str]], room: int | None, *, loses: bool) -> bool:
    """Whether a text has this line in this place; `room`: or one whose next word had no room in this many cells."""
    written = [(side, line.rows) for side in sides if line.mark in (side, " ", "")]
    if "-" not in sides:  # in a new file, a line may stand behind its number without a sign
        written.append(("+", (spaced(line.mark + line.rows[0]), *line.rows[1:])))
    return any(
        0 < line.number <= len(sides[side]) and _are_rows_of(sides[side][line.number - 1], rows, room, loses=loses)
        for side, rows in written
    )


def _are_rows_of(text: str, rows: Sequence[str], room: int | None, *, loses: bool) -> bool:
    """Whether a line is wrapped into these rows: a blank between two may be gone; `loses`: or another sign."""
    ends = {len(rows[0])} if text.startswith(rows[0]) else set[int]()
    for row in rows[1:]:
        begins = ends | {end + 1 for end in ends if loses or text[end : end + 1] == " "}
        begins |= {begin + 1 for begin in begins if text[begin : begin + 1] == " "}
        ends = {begin + len(row) for begin in begins if text.startswith(row, begin)}
    if room is None or len("".join(rows)) < _CUT:
        return len(text) in ends
    words = [text[end : end + 1] + text[end + 1 :].partition(" ")[0] for end in ends]
    return any(not word or width(word) > room for word in words)


def _lines(rows: Sequence[str]) -> Iterator[_Line]:
    """The numbered lines that rows show, each with the rows below it into which it is wrapped: those have no number
    in the column of numbers, and some repeat its sign. Another row parts what may have numbers of another width.
    """
    line, column = None, 0
    sizes = [len(row.rstrip(f" {DRAWN}")) for row in rows]
    for row, size in zip(rows, sizes, strict=True):
        room = max(sizes) - size
        found, is_below = _NUMBERED.fullmatch(row), line is not None and not row[: column + 1].strip(" │")
        if line is not None and is_below and (words := spaced(row[column + 1 :])):
            words = spaced(words.removeprefix(line.mark)) if line.mark in ("+", "-") else words
            line = line._replace(rows=(*line.rows, words), room=room)
            continue
        if line is not None:
            yield line
            line = None
        if found is not None:
            line, column = _Line(int(found[2]), found[3] or "", (spaced(found[4] or ""),), room), found.end(1)
    if line is not None:
        yield line


def _beside(rows: Sequence[str]) -> list[list[str]]:
    """The rows as two columns: what was there stands beside what comes in its place."""
    for row in rows:
        first = _NUMBERED.fullmatch(row)
        second = _SECOND.search(row, first.end(1)) if first is not None else None
        if first is not None and second is not None:
            border = second.end("number") - first.end(1)  # the columns are alike
            return [[row[:border] for row in rows], [row[border:] for row in rows]]
    return [list(rows)]


def _in_cells(row: str) -> str:
    """A row with a sign for each of its cells."""
    return "".join(sign + "\0" * (width(sign) - 1) for sign in row)
