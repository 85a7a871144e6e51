"""The timeline: one mark per iteration, as high as the tokens it sent, with the cuts between; newest on the right.

Owns the drawing, the cursor, the zoom and the keys; the state is `timeline_state`'s. Zoom levels: 1 is a column and a
gap per mark, 0 a column per mark, -1 two marks per column, and so on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace
from textual import events
from textual.binding import BindingType
from textual.content import Content

from gshtui.bus.context_data import Iteration, Receipt
from gshtui.bus.event import Event
from gshtui.text import units
from gshtui.ui.context import timeline_state as states
from gshtui.ui.context.context_host import ContextRow, ContextWanted
from gshtui.ui.context.timeline_state import (
    CONSUMED,
    LOUDEST,
    MEANING,
    TimelineCut,
    TimelineMark,
    TimelineState,
    reduce,
)
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.drawing.figures import meter_level
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_binding, row_bindings
from gshtui.ui.kit.widget_messages import ForContext
from gshtui.ui.kit.widgets.side_pane import Pane

FARTHEST = -6


class Column(msgspec.Struct, frozen=True):
    """Marks `first` to `last` in one column."""

    first: int
    last: int
    tokens: int
    sign: str = ""
    end: str = ""


class TimelineRange(msgspec.Struct, frozen=True):
    """The visible part of the timeline. `cursor`: index of a mark, -1: the newest; `start`: the first column shown."""

    zoom: int = 1
    cursor: int = -1
    start: int = 0


_LEGEND = "┴ turn · ! failed · × interrupted · ┄ compaction"


def columns_of(marks: tuple[TimelineMark, ...], zoom: int) -> list[Column]:
    """The marks as columns."""
    step = 1 if zoom >= 0 else 2**-zoom
    return [_column(marks[first : first + step], first) for first in range(0, len(marks), step)]


def _column(marks: tuple[TimelineMark, ...], first: int) -> Column:
    signs = [mark.sign for mark in marks if mark.sign]
    loudest = min(signs, key=LOUDEST.index, default="")
    ends = [mark.end for mark in marks if mark.end]
    worst = next((end for end in ends if end != "end"), ends[-1] if ends else "")
    return Column(first, first + len(marks) - 1, max(mark.tokens for mark in marks), loudest, worst)


def cells(look: TimelineRange) -> int:
    """Cells per column."""
    return 2 if look.zoom > 0 else 1


def fitted(look: TimelineRange, count: int, width: int) -> TimelineRange:
    """Scrolled just enough to show the cursor; `count`: number of marks."""
    zoom = max(FARTHEST, min(1, look.zoom))
    step = 1 if zoom >= 0 else 2**-zoom
    total, room = -(-count // step), max(1, width // (2 if zoom > 0 else 1))
    last = max(0, total - room)
    if look.cursor < 0:
        return TimelineRange(zoom, -1, last)
    at = min(look.cursor, count - 1) // step
    start = min(max(look.start, at - room + 1), at)
    return TimelineRange(zoom, min(look.cursor, count - 1), max(0, min(start, last)))


def draw_timeline(state: TimelineState, look: TimelineRange, width: int, rows: int, focused: bool = False) -> Content:
    """The chart, the line of signs, and as many words as fit."""
    words = caption(state, look, width)
    words += [Content.styled(_LEGEND, "$foreground-muted").truncate(width, ellipsis=True)] if focused else []
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


def _top(state: TimelineState, tokens: Sequence[int]) -> int:
    """The tokens of a column of full height. The scale is the window's, so that the line of compaction always stands,
    not the tallest mark's.
    """
    top = max(tokens, default=1) or 1
    return max(top, min(state.window or state.trigger, round(state.trigger * 1.25))) if state.trigger else top


def _chart(state: TimelineState, columns: list[Column], height: int, step: int, width: int, here: int) -> list[Content]:
    top = _top(state, [column.tokens for column in columns])
    line = height - 1 - min(height - 1, int(state.trigger / top * height)) if state.trigger else -1
    edge = 0 if state.trigger and top == state.window and height > 3 else -1  # the window's own line
    shapes = figures.columns([top, *(column.tokens for column in columns)], height)
    lines: list[Content] = []
    for number, shape in enumerate(shapes):
        parts: list[tuple[str, str]] = []
        gap = ("┄", "$accent") if number == line else ("─" if number == edge else " ", "$border")
        for at, column in enumerate(columns):
            cell = shape[at + 1]
            colour = "$foreground" if at == here else f"${meter_level(column.tokens, state.window, state.trigger)}"
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


def caption(state: TimelineState, look: TimelineRange, width: int) -> list[Content]:
    """Words below the chart, the most important line first."""
    marks = state.marks
    at = look.cursor if 0 <= look.cursor < len(marks) else len(marks) - 1
    mark, before = marks[at], marks[at - 1] if at > 0 else None
    estimate = "" if mark.exact else "~"
    window = f" of {figures.tokens(state.window)}" if state.window else ""
    growth = mark.tokens - before.tokens if before is not None else 0
    when = time.strftime(" · %H:%M", time.localtime(mark.at)) if mark.at and look.cursor >= 0 else ""
    number = f"#{at + 1} " if look.cursor >= 0 else ""
    change = f" · {units.change(growth)}" if growth else ""
    first = Content.assemble(
        (number, "$foreground-muted"),
        (f"{estimate}{figures.tokens(mark.tokens)}", "bold"),
        (window + change + when, "$foreground-muted"),
    )
    waits = state.waiting if at == len(marks) - 1 and look.cursor < 0 else ()
    cuts = [*(Content.styled(cut_words(cut), "$accent") for cut in (*mark.cuts, *waits)), *_error(mark)]
    return [line.truncate(width, ellipsis=True) for line in (first, *cuts, *_forecast(state, width))]


def cut_words(cut: TimelineCut) -> str:
    """One line about a cut."""
    sizes = f" {figures.tokens(cut.before)} → {figures.tokens(cut.after)}" if cut.before else ""
    why = f": {' '.join(cut.why.split())}" if cut.why and (cut.sign in "!T" or not sizes) else ""
    return f"{cut.sign} {MEANING[cut.sign]}{sizes}{why}"


def _error(mark: TimelineMark) -> list[Content]:
    return [Content.styled(f"! {' '.join(mark.error.split())}", "$error")] if mark.error else []


def _forecast(state: TimelineState, width: int) -> list[Content]:
    if not state.trigger:
        return []
    at = f"compacts at {figures.tokens(state.trigger)}"
    if turns := units.turns_ahead(state.turns_left):
        at = f"compacts {turns}, at {figures.tokens(state.trigger)}"
    grows = f" (+{figures.tokens(state.per_turn)} a turn)" if state.per_turn > 0 else ""
    return [Content.styled(at + grows if len(at + grows) <= width else at, "$foreground-muted")]


_SPARK = 12
"""Requests in the pane's summary."""
EMPTY = "No requests yet: each one adds a mark here, as high as its tokens."


class TimelinePane(Pane):
    """The iterations of the conversation of the agent in front."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("timeline.left", "move(-1)"),
        bind("timeline.right", "move(1)"),
        bind("timeline.page_left", "page(-1)"),
        bind("timeline.page_right", "page(1)"),
        bind("timeline.home", "edge('first')"),
        bind("timeline.end", "edge('last')"),
        bind("timeline.closer", "zoomed(1)"),
        bind("timeline.farther", "zoomed(-1)"),
        bind("timeline.next_cut", "cut(1)"),
        bind("timeline.previous_cut", "cut(-1)"),
        bind("timeline.open", "open"),
        row_binding("timeline.menu"),
        *row_bindings("timeline", "context"),
    ]

    def __init__(self, agent: str = "main") -> None:
        super().__init__("timeline", "Timeline", 5, EMPTY)
        self.state = TimelineState(agent)
        self.look = TimelineRange()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = reduce(state, event)
        self._become(state)

    def restore(self, iterations: Sequence[Iteration], receipts: Sequence[Receipt], session: str) -> None:
        """Show what the record holds of the conversation."""
        self._become(states.restored(self.state, iterations, receipts, session))

    def foretell(self, turns: int | None, per_turn: int, trigger: int) -> None:
        """Show this forecast."""
        self._become(states.foretold(self.state, turns, per_turn, trigger))

    def _become(self, state: TimelineState) -> None:
        if state is not self.state:
            if state.session != self.state.session:
                self.look = TimelineRange()
            self.state = state
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._draw()

    @property
    def is_empty(self) -> bool:
        return not self.state.marks

    def _draw(self) -> None:
        self._tell()
        if not self.display or not self.is_mounted:
            return
        marks = self.state.marks
        self.label(str(len(marks)) if marks else "")
        if marks:
            self.look = fitted(self._fitting(), len(marks), self.columns)
            self.show(draw_timeline(self.state.drawn, self.look, self.columns, self.rows, self.has_focus))
        else:
            self.show(None)

    def summary(self, width: int) -> Content:
        marks = self.state.marks[-_SPARK:]
        if len(marks) < 2:
            return Content()  # it tells nothing yet
        tokens = [mark.tokens for mark in marks]
        chart = figures.columns([_top(self.state.drawn, tokens), *tokens], 1)[0][1:]
        grown = marks[-1].tokens - marks[-2].tokens
        change = f" {units.change(grown)}" if grown else ""
        return self._summed(Content.assemble((chart, "$primary"), change))

    def _fitting(self) -> TimelineRange:
        """By default the marks have gaps only while all of them fit."""
        crowded = self.look.zoom == 1 and 2 * len(self.state.marks) > self.columns
        return replace(self.look, zoom=0) if crowded else self.look

    # The cursor

    @property
    def mark(self) -> TimelineMark | None:
        """The mark under the cursor; without one, the newest."""
        marks = self.state.marks
        at = self.look.cursor
        return marks[at if 0 <= at < len(marks) else -1] if marks else None

    def _go(self, cursor: int) -> None:
        last = len(self.state.marks) - 1
        if last >= 0:
            self.look = replace(self.look, cursor=max(0, min(last, cursor)))
            self._draw()

    def _at(self) -> int:
        return self.look.cursor if self.look.cursor >= 0 else len(self.state.marks) - 1

    def _step(self) -> int:
        return 1 if self.look.zoom >= 0 else 2**-self.look.zoom

    def action_move(self, step: int) -> None:
        # The first key only shows where the cursor is.
        self._go(self._at() + step * self._step() if self.look.cursor >= 0 or step < 0 else self._at())

    def action_page(self, step: int) -> None:
        self._go(self._at() + step * self._step() * max(1, self.columns // cells(self.look) - 1))

    def action_edge(self, edge: str) -> None:
        if edge == "first":
            self._go(0)
        else:
            self.look = replace(self.look, cursor=-1)
            self._draw()

    def action_zoomed(self, step: int) -> None:
        """Wider or narrower marks."""
        self.look = replace(self.look, zoom=max(FARTHEST, min(1, self.look.zoom + step)))
        self._draw()

    def action_cut(self, step: int) -> None:
        """Go to the next mark with a sign, or the previous one."""
        found = [at for at, mark in enumerate(self.state.marks) if mark.sign]
        at = self._at()
        wanted = [one for one in found if (one > at if step > 0 else one < at)]
        if wanted:
            self._go(wanted[0] if step > 0 else wanted[-1])
        elif found:
            self.notify("No more cuts.", markup=False, timeout=2)
        elif self.state.waiting:
            said = "This cut came after the last request. It gets its mark with the next one."
            self.notify(said, markup=False, timeout=4)
        else:
            self.notify("Nothing has been cut in this conversation.", markup=False, timeout=3)

    def on_click(self, event: events.Click) -> None:
        body = self.scrollable_content_region
        column = self.look.start + (event.screen_x - body.x) // cells(self.look)
        columns = columns_of(self.state.marks, self.look.zoom)
        chart = 0 <= event.screen_y - body.y < self.rows - 1
        if event.y > 0 and chart and 0 <= column < len(columns):
            self._go(columns[column].last)
            if event.chain == 2:
                self.action_open()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        if self.state.marks and not self.max_scroll_y:
            event.stop()
            self.action_move(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        if self.state.marks and not self.max_scroll_y:
            event.stop()
            self.action_move(1)

    # Acts

    def _cut_here(self) -> str:
        """Id of the last cut with a receipt at the cursor; at the newest mark, including cuts after it."""
        mark = self.mark
        newest = mark is not None and mark is self.state.marks[-1]
        cuts = (*(mark.cuts if mark is not None else ()), *(self.state.waiting if newest else ()))
        return next((cut.id for cut in reversed(cuts) if cut.id), "")

    def action_open(self) -> None:
        """Open the receipt of the cut here, or else the request."""
        if cut := self._cut_here():
            self.post_message(ForContext("receipt", self.state.agent, about=cut))
        else:
            self.action_want("timeline.inspect")

    def action_want(self, key: str) -> None:
        at = self.mark.id if self.mark is not None else ""
        self.post_message(ContextWanted(key, ContextRow(self.state.agent, at, self._cut_here())))
