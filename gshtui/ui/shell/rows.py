"""A row of the shell log as segments: a command in columns where there is room, in few words where there is not.

Pure; whatever came from a shell is made harmless here. Called by the view for the rows on the screen.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from gshtui.bus.shell import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Row
from gshtui.ui.kit.cells import fit, one_line
from gshtui.ui.kit.overlay import found_in, overlaid
from gshtui.ui.shell import shell_words as words
from gshtui.ui.shell.look import Look

WIDE, MIDDLE = 96, 60
"""Columns from which a row has all its columns, and from which it has time and folder."""
_NOTES = {"note": "#", "folder": "→", "file": "~"}
_GAP = 2


class Columns(msgspec.Struct, frozen=True):
    """How wide each column is, in cells; 0: it is not shown. The command has what is left."""

    time: int = 0
    folder: int = 0
    branch: int = 0
    terminal: int = 0
    exit: int = 0
    took: int = 0


class Place(msgspec.Struct, frozen=True):
    """Where rows are drawn: width in cells, the project's folder, the time now, what is looked for."""

    width: int
    project: str
    now: float
    found: tuple[str, ...] = ()
    """Words to mark, folded."""


def columns(width: int) -> Columns:
    """The columns for a width."""
    if width >= WIDE:
        spare = min(1.0, (width - WIDE) / 100)
        return Columns(8, 16 + int(12 * spare), 10 + int(14 * spare), 8 + int(6 * spare), 4, 6)
    if width >= MIDDLE:
        return Columns(time=8, folder=12, exit=0, took=6)
    return Columns()


def heading(width: int) -> str:
    """The names of the columns, where they are so many that names help."""
    if width < WIDE:
        return ""
    size = columns(width)
    left = f"  {'time':{size.time + _GAP}}{'folder':{size.folder + _GAP}}command"
    right = f"{'branch':{size.branch + _GAP}}{'terminal':{size.terminal + _GAP}}{'exit':>{size.exit}}"
    right += f"{'took':>{size.took + _GAP}} "
    return left.ljust(width - len(right)) + right


def row_segments(row: Row | None, look: Look, place: Place) -> list[Segment]:
    """A row, `place.width` cells wide or less."""
    if row is None:
        return [Segment("⋯", look.palette.faint)]
    made = _note(row, look, place) if isinstance(row, ShellNote) else _record(row, look, place)
    if place.found:
        text = "".join(segment.text for segment in made)
        ranges = [found for word in place.found for found in found_in(text, word, look.palette.match)]
        ranges.sort(key=lambda one: one[:2])
        apart = [one for at, one in enumerate(ranges) if not at or one[0] >= ranges[at - 1][1]]
        return overlaid(made, apart)
    return made


def _record(record: ShellRecord, look: Look, place: Place) -> list[Segment]:
    size, palette = columns(place.width), look.palette
    style = _style(record, look)
    left = [Segment(f"{words.sign(record)} ", style)]
    if size.time:
        left.append(_cell(words.clock(record.at, place.now), size.time, palette.faint))
    if size.folder:
        left.append(_cell(words.folder(record.cwd, place.project), size.folder, palette.muted))
    right = _wide_end(record, look, place, size) if size.exit else _short_end(record, look, place)
    return _between(left, look.command(record.command), right, place.width, palette.text)


def _wide_end(record: ShellRecord, look: Look, place: Place, size: Columns) -> list[Segment]:
    palette = look.palette
    exit = str(record.exit) if record.state == "done" and record.exit is not None else _word(record)
    return [
        _cell(record.branch, size.branch, palette.faint),
        _cell(words.terminal(record), size.terminal, palette.accent if record.agent else palette.faint),
        Segment(fit(exit, size.exit).rjust(size.exit), _style(record, look)),
        Segment(words.duration(record, place.now).rjust(size.took + _GAP) + " ", palette.muted),
    ]


def _short_end(record: ShellRecord, look: Look, place: Place) -> list[Segment]:
    """How it ended, and how long it took, where that is worth saying."""
    ended = "" if record.state == "done" and not record.exit else words.ended(record).removeprefix("exit ")
    took = words.duration(record, place.now)
    who = one_line(record.agent)[:8] if record.agent else ""
    parts = [(who, look.palette.accent), (ended, _style(record, look)), (took, look.palette.faint)]
    made: list[Segment] = []
    for text, style in parts:
        if text:
            made += [Segment(" ", look.palette.text), Segment(text, style)]
    return made


def _note(note: ShellNote, look: Look, place: Place) -> list[Segment]:
    size, palette = columns(place.width), look.palette
    style = palette.quote if note.kind == "note" else palette.faint
    left = [Segment(f"{_NOTES[note.kind]} ", palette.accent if note.kind == "note" else palette.faint)]
    if size.time:
        left.append(_cell(words.clock(note.at, place.now), size.time, palette.faint))
    if size.folder:
        shown = words.folder(note.cwd, place.project) if note.kind == "note" and note.cwd else ""
        left.append(_cell(shown, size.folder, palette.muted))
    text = words.folder(note.text, "") if note.kind == "folder" else note.text
    return _between(left, [Segment(one_line(text[:600]), style)], [], place.width, palette.text)


def _word(record: ShellRecord) -> str:
    return "…" if record.state == "running" else "?"


def _style(record: ShellRecord, look: Look) -> Style:
    if record.state == "running":
        return look.palette.accent
    if record.state == "lost" or record.exit is None:
        return look.palette.warning
    return look.palette.error if record.exit else look.palette.ok


def _cell(text: str, width: int, style: Style) -> Segment:
    return Segment(set_cell_size(fit(text, width), width + _GAP), style)


def _between(
    left: list[Segment], middle: Iterable[Segment], right: list[Segment], width: int, fill: Style
) -> list[Segment]:
    """Left and right end with the middle between, cut where there is no room for all of it."""
    room = width - sum(cell_len(segment.text) for segment in (*left, *right))
    shown = list(middle)
    spare = room - sum(cell_len(segment.text) for segment in shown)
    if spare >= 0:
        return [*left, *shown, Segment(" " * spare, fill), *right]
    return [*left, *_cut(shown, room), *right]


def _cut(segments: list[Segment], room: int) -> list[Segment]:
    """The beginning of the segments in so many cells, with a mark that there is more."""
    out: list[Segment] = []
    left = room - 1
    for text, style, _ in segments:
        cells = cell_len(text)
        if cells >= left:
            return [*out, Segment(set_cell_size(text, max(0, left)) + "…", style)] if room > 0 else out
        out.append(Segment(text, style))
        left -= cells
    return out
