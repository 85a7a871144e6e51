"""The timeline drawn: columns as high as what was sent, signs of cuts below, the trigger's line, words on one mark.

Pure: state, place and size in, content out. Zoom levels: 1 is a column and a gap a mark, 0 a column, -1 two marks a
column, -2 four … Called by the timeline pane.
"""

from __future__ import annotations

import time

import msgspec
from textual.content import Content

from gshtui.ui.context.timeline_state import LOUDEST, MEANING, Cut, Mark, TimelineState
from gshtui.ui.kit import figures
from gshtui.ui.kit.meter import level

FARTHEST = -6
_HIGH = 2.5
"""How many times higher than the highest mark the trigger may be and still give the chart its scale."""


class Column(msgspec.Struct, frozen=True):
    """Marks `first` to `last` in one column."""

    first: int
    last: int
    tokens: int
    sign: str = ""
    end: str = ""


class Look(msgspec.Struct, frozen=True):
    """What of the timeline is shown. `cursor`: number of a mark, -1 the newest one; `start`: first column shown."""

    zoom: int = 1
    cursor: int = -1
    start: int = 0


def columns_of(marks: tuple[Mark, ...], zoom: int) -> list[Column]:
    """The marks in columns."""
    step = 1 if zoom >= 0 else 2**-zoom
    return [_column(marks[first : first + step], first) for first in range(0, len(marks), step)]


def _column(marks: tuple[Mark, ...], first: int) -> Column:
    signs = [mark.sign for mark in marks if mark.sign]
    loudest = min(signs, key=LOUDEST.index, default="")
    ends = [mark.end for mark in marks if mark.end]
    worst = next((end for end in ends if end != "end"), ends[-1] if ends else "")
    return Column(first, first + len(marks) - 1, max(mark.tokens for mark in marks), loudest, worst)


def cells(look: Look) -> int:
    """Cells a column takes."""
    return 2 if look.zoom > 0 else 1


def fitted(look: Look, count: int, width: int) -> Look:
    """With the cursor on the screen, moved no farther than that needs; `count`: marks."""
    zoom = max(FARTHEST, min(1, look.zoom))
    step = 1 if zoom >= 0 else 2**-zoom
    total, room = -(-count // step), max(1, width // (2 if zoom > 0 else 1))
    last = max(0, total - room)
    if look.cursor < 0:
        return Look(zoom, -1, last)
    at = min(look.cursor, count - 1) // step
    start = min(max(look.start, at - room + 1), at)
    return Look(zoom, min(look.cursor, count - 1), max(0, min(start, last)))


def draw(state: TimelineState, look: Look, width: int, rows: int, focused: bool = False) -> Content:
    """The chart, the line of signs, and as many words as there is room for."""
    words = said(state, look, width)
    words = words[: max(1, min(len(words), rows - 3))]
    height = max(1, rows - 1 - len(words))
    room = max(1, width // cells(look))
    columns = columns_of(state.marks, look.zoom)[look.start : look.start + room]
    cursor = look.cursor if look.cursor >= 0 else len(state.marks) - 1
    here = next((at for at, column in enumerate(columns) if column.first <= cursor <= column.last), -1)
    lines = _chart(state, columns, height, cells(look), width, here if focused or look.cursor >= 0 else -1)
    foot = _foot(columns, cells(look), here if focused or look.cursor >= 0 else -1)
    at_end = bool(columns) and columns[-1].last == len(state.marks) - 1
    if state.waiting and at_end and foot.cell_length < width:  # what the next request will have
        signs = {cut.sign for cut in state.waiting}
        foot += Content.styled(next(sign for sign in LOUDEST if sign in signs), "bold $accent")
    lines.append(foot)
    return Content("\n").join([*lines, *words])


def _chart(state: TimelineState, columns: list[Column], height: int, step: int, width: int, here: int) -> list[Content]:
    top = max((column.tokens for column in columns), default=1) or 1
    scaled = 0 < state.trigger <= top * _HIGH
    top = max(top, min(state.window or state.trigger, round(state.trigger * 1.25))) if scaled else top
    line = height - 1 - min(height - 1, int(state.trigger / top * height)) if scaled else -1
    edge = 0 if scaled and top == state.window and height > 3 else -1  # the window's own line
    shapes = figures.columns([top, *(column.tokens for column in columns)], height)
    lines: list[Content] = []
    for number, shape in enumerate(shapes):
        parts: list[tuple[str, str]] = []
        gap = ("┄", "$warning") if number == line else ("─" if number == edge else " ", "$border")
        for at, column in enumerate(columns):
            cell = shape[at + 1]
            colour = "$accent" if at == here else f"${level(column.tokens, state.window, state.trigger)}"
            parts.append((cell, colour) if cell != " " else gap)
            if step > 1:
                parts.append(gap)
        used = len(columns) * step
        parts.append((gap[0] * max(0, width - used), gap[1]))
        lines.append(Content.assemble(*parts))
    return lines


def _foot(columns: list[Column], step: int, here: int) -> Content:
    parts: list[tuple[str, str]] = []
    for at, column in enumerate(columns):
        turn = "─" if not column.end else "┴" if column.end == "end" else "×"
        sign = column.sign or turn
        colour = "$error" if column.sign == "!" else "$accent" if column.sign else "$foreground-muted"
        parts.append((sign, f"bold reverse {colour}" if at == here else f"bold {colour}" if column.sign else colour))
        if step > 1:
            parts.append(("─", "$foreground-muted"))
    return Content.assemble(*parts)


def said(state: TimelineState, look: Look, width: int) -> list[Content]:
    """Words below the chart, the most important line first."""
    marks = state.marks
    at = look.cursor if 0 <= look.cursor < len(marks) else len(marks) - 1
    mark, before = marks[at], marks[at - 1] if at > 0 else None
    estimate = "" if mark.exact else "~"
    window = f" of {figures.tokens(state.window)}" if state.window else ""
    growth = mark.tokens - before.tokens if before is not None else 0
    when = time.strftime(" · %H:%M", time.localtime(mark.at)) if mark.at and look.cursor >= 0 else ""
    number = f"#{at + 1} " if look.cursor >= 0 else ""
    change = f" · {growth:+,d}" if growth else ""
    first = Content.assemble(
        (number, "$foreground-muted"), (f"{estimate}{figures.tokens(mark.tokens)}", "bold"),
        (window + change + when, "$foreground-muted"),
    )  # fmt: skip
    waits = state.waiting if at == len(marks) - 1 and look.cursor < 0 else ()
    cuts = [*(Content.styled(cut_words(cut), "$accent") for cut in (*mark.cuts, *waits)), *_error(mark)]
    return [line.truncate(width, ellipsis=True) for line in (first, *cuts, *_forecast(state, width))]


def cut_words(cut: Cut) -> str:
    """A cut in a line."""
    sizes = f" {figures.tokens(cut.before)} → {figures.tokens(cut.after)}" if cut.before else ""
    why = f": {' '.join(cut.why.split())}" if cut.why and (cut.sign in "!T" or not sizes) else ""
    return f"{cut.sign} {MEANING[cut.sign]}{sizes}{why}"


def _error(mark: Mark) -> list[Content]:
    return [Content.styled(f"! {' '.join(mark.error.split())}", "$error")] if mark.error else []


def _forecast(state: TimelineState, width: int) -> list[Content]:
    if not state.trigger:
        return []
    at = f"compacts at {figures.tokens(state.trigger)}"
    if state.turns_left is not None:
        turns = "the next turn" if state.turns_left <= 1 else f"about {state.turns_left} turns"
        at = f"compacts in {turns}, at {figures.tokens(state.trigger)}"
    grows = f" (+{figures.tokens(state.per_turn)} a turn)" if state.per_turn > 0 else ""
    return [Content.styled(at + grows if len(at + grows) <= width else at, "$foreground-muted")]
