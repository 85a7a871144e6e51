"""A row of the shell log as segments: in columns if there is room, else in a few words.

Pure; sanitises text from shells. Caches highlighted commands, but imports no lexer: that happens in a thread, and
until then commands are plain.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Row
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.highlights import match_ranges, overlay_styles
from gshtui.ui.kit.drawing.page import Palette
from gshtui.ui.kit.widgets.fitted_text import escape_lines, fit
from gshtui.ui.shell import shell_format as words

LANGUAGE = "bash"
_LONGEST = 600
"""How many characters of a command are processed: no screen shows more in a line."""
_KEPT = 3_000


class RowColours:
    """Colours, and highlighted commands."""

    def __init__(self, palette: Palette, code: Highlighter) -> None:
        self.palette = palette
        self._cursor = palette.selection + Style(bold=True)
        self._quiet = {palette.faint.color, palette.muted.color}
        self._code = code
        self._tokens = {kind: _without_background(style, palette.text) for kind, style in palette.tokens.items()}
        self._commands: dict[str, tuple[Segment, ...]] = {}

    def under_cursor(self, style: Style) -> Style:
        """A style for the row under the cursor; muted text stays readable there."""
        return (self.palette.text if style.color in self._quiet else style) + self._cursor

    def command(self, command: str) -> tuple[Segment, ...]:
        """A highlighted command in one line."""
        made = self._commands.get(command)
        if made is None:
            if len(self._commands) >= _KEPT:
                self._commands.clear()
            made = self._commands[command] = self._make(command)
        return made

    def _make(self, command: str) -> tuple[Segment, ...]:
        text = escape_lines(command[:_LONGEST].strip()) + ("…" if len(command) > _LONGEST else "")
        tokens = self._code.lines(text, LANGUAGE)[0]
        return tuple(Segment(part, self._tokens.get(kind, self.palette.text)) for kind, part in tokens)


def _without_background(style: Style, text: Style) -> Style:
    return Style(
        color=style.color, bgcolor=text.bgcolor, bold=style.bold, italic=style.italic, underline=style.underline
    )


WIDE, MIDDLE = 96, 60
"""Widths from which a row shows all columns, and from which it shows time and folder."""
_NOTES = {"note": "#", "folder": "→", "file": "~"}
_GAP = 2


class ColumnWidths(msgspec.Struct, frozen=True):
    """The width of each column in cells; 0: hidden. The command takes the rest."""

    time: int = 0
    folder: int = 0
    branch: int = 0
    terminal: int = 0
    exit: int = 0
    took: int = 0


class RowContext(msgspec.Struct, frozen=True):
    """How to draw rows: width in cells, the project's folder, the current time, the search words."""

    width: int
    project: str
    now: float
    found: tuple[str, ...] = ()
    """The words to mark, case-folded."""


def column_widths(width: int) -> ColumnWidths:
    """The columns for a width."""
    if width >= WIDE:
        spare = min(1.0, (width - WIDE) / 100)
        return ColumnWidths(8, 16 + int(12 * spare), 10 + int(14 * spare), 8 + int(6 * spare), 4, 10)
    if width >= MIDDLE:
        return ColumnWidths(time=8, folder=12, exit=0, took=10)
    return ColumnWidths()


def heading(width: int) -> str:
    """The column names, if there are enough columns for names to help."""
    if width < WIDE:
        return ""
    size = column_widths(width)
    left = f"  {'time':{size.time + _GAP}}{'folder':{size.folder + _GAP}}command"
    right = f"{'branch':{size.branch + _GAP}}{'terminal':{size.terminal + _GAP}}{'exit':>{size.exit}}"
    right += f"{'took':>{size.took + _GAP}} "
    return left.ljust(width - len(right)) + right


def row_segments(row: Row | None, look: RowColours, place: RowContext) -> list[Segment]:
    """A row, `place.width` cells wide or less."""
    if row is None:
        return [Segment("⋯", look.palette.faint)]
    made = _note(row, look, place) if isinstance(row, ShellNote) else _record(row, look, place)
    if place.found:
        text = "".join(segment.text for segment in made)
        ranges = [found for word in place.found for found in match_ranges(text, word, look.palette.match)]
        ranges.sort(key=lambda one: one[:2])
        apart = [one for at, one in enumerate(ranges) if not at or one[0] >= ranges[at - 1][1]]
        return overlay_styles(made, apart)
    return made


def _record(record: ShellRecord, look: RowColours, place: RowContext) -> list[Segment]:
    size, palette = column_widths(place.width), look.palette
    style = _style(record, look)
    left = [Segment(f"{words.sign(record)} ", style)]
    if size.time:
        left.append(_cell(words.clock(record.at, place.now), size.time, palette.faint))
    if size.folder:
        left.append(_cell(words.folder(record.cwd, place.project), size.folder, palette.muted))
    right = _wide_end(record, look, place, size) if size.exit else _short_end(record, look, place)
    return _between(left, look.command(record.command), right, place.width, palette.text)


def _wide_end(record: ShellRecord, look: RowColours, place: RowContext, size: ColumnWidths) -> list[Segment]:
    palette = look.palette
    exit = str(record.exit) if record.state == "done" and record.exit is not None else _word(record)
    return [
        _cell(record.branch, size.branch, palette.faint),
        _cell(words.terminal(record), size.terminal, palette.marker if record.agent else palette.faint),
        Segment(fit(exit, size.exit).rjust(size.exit), _style(record, look)),
        Segment(words.duration(record, place.now).rjust(size.took + _GAP) + " ", palette.muted),
    ]


def _short_end(record: ShellRecord, look: RowColours, place: RowContext) -> list[Segment]:
    """How it ended, and how long it took if that is notable."""
    ended = "" if record.state == "done" and not record.exit else words.ended(record).removeprefix("exit ")
    took = words.notable(record, place.now)
    who = escape_lines(record.agent)[:8] if record.agent else ""
    parts = [(who, look.palette.marker), (ended, _style(record, look)), (took, look.palette.faint)]
    made: list[Segment] = []
    for text, style in parts:
        if text:
            made += [Segment(" ", look.palette.text), Segment(text, style)]
    return made


def _note(note: ShellNote, look: RowColours, place: RowContext) -> list[Segment]:
    size, palette = column_widths(place.width), look.palette
    style = palette.quote if note.kind == "note" else palette.faint
    left = [Segment(f"{_NOTES[note.kind]} ", palette.marker if note.kind == "note" else palette.faint)]
    if size.time:
        left.append(_cell(words.clock(note.at, place.now), size.time, palette.faint))
    if size.folder:
        shown = words.folder(note.cwd, place.project) if note.kind == "note" and note.cwd else ""
        left.append(_cell(shown, size.folder, palette.muted))
    text = words.folder(note.text, "") if note.kind == "folder" else note.text
    return _between(left, [Segment(escape_lines(text[:600]), style)], [], place.width, palette.text)


def _word(record: ShellRecord) -> str:
    return "…" if record.state == "running" else "?"


def _style(record: ShellRecord, look: RowColours) -> Style:
    if record.state == "running":
        return look.palette.marker
    if record.state == "lost" or record.exit is None:
        return look.palette.warning
    return look.palette.error if record.exit else look.palette.ok


def _cell(text: str, width: int, style: Style) -> Segment:
    return Segment(set_cell_size(fit(text, width), width + _GAP), style)


def _between(
    left: list[Segment], middle: Iterable[Segment], right: list[Segment], width: int, fill: Style
) -> list[Segment]:
    """The left and right ends with the middle between, shortened to fit."""
    room = width - sum(cell_len(segment.text) for segment in (*left, *right))
    shown = list(middle)
    spare = room - sum(cell_len(segment.text) for segment in shown)
    if spare >= 0:
        return [*left, *shown, Segment(" " * spare, fill), *right]
    return [*left, *_cut(shown, room), *right]


def _cut(segments: list[Segment], room: int) -> list[Segment]:
    """The start of the segments in this many cells, with a mark if there is more."""
    out: list[Segment] = []
    left = room - 1
    for text, style, _ in segments:
        cells = cell_len(text)
        if cells >= left:
            return [*out, Segment(set_cell_size(text, max(0, left)) + "…", style)] if room > 0 else out
        out.append(Segment(text, style))
        left -= cells
    return out
