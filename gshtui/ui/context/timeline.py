"""The timeline: one mark an iteration, as high as the tokens that it sent, with the cuts between them; newest right.

Owns the cursor, the zoom and the keys; the state is `timeline_state`'s, the drawing `timeline_chart`'s. Fed by the
bridge; what is opened or done is said upwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual import events
from textual.binding import BindingType

from gshtui.bus.context import Iteration, Receipt
from gshtui.bus.event import Event
from gshtui.ui.context import timeline_state as states
from gshtui.ui.context.timeline_chart import FARTHEST, Look, cells, columns_of, draw, fitted
from gshtui.ui.context.timeline_state import CONSUMED, Mark, TimelineState, reduce
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.messages import ForContext
from gshtui.ui.kit.pane import Pane

EMPTY = (
    "No request yet.\n\nEach request to the model draws a mark here, as high as the tokens that it sent. "
    "Cuts of the context will stand between the marks."
)


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
        bind("timeline.inspect", "inspect"),
        bind("timeline.diff", "diff"),
        bind("timeline.undo", "undo"),
        *(bind(f"context.{name}", f"act('{name}')") for name in ("compact", "prune", "clear", "tune", "what_if")),
    ]

    def __init__(self, agent: str = "main") -> None:
        super().__init__("timeline", "Timeline", 5, EMPTY)
        self.state = TimelineState(agent)
        self.look = Look()

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
                self.look = Look()
            self.state = state
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self._draw()

    def on_blur(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.display or not self.is_mounted:
            return
        marks = self.state.marks
        self.label(str(len(marks)) if marks else "")
        if marks:
            self.look = fitted(self._fitting(), len(marks), self.columns)
            self.show(draw(self.state, self.look, self.columns, self.rows, self.has_focus))
        else:
            self.show(None)

    def _fitting(self) -> Look:
        """By itself the marks have gaps only as long as all of them fit."""
        crowded = self.look.zoom == 1 and 2 * len(self.state.marks) > self.columns
        return replace(self.look, zoom=0) if crowded else self.look

    # The cursor

    @property
    def mark(self) -> Mark | None:
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
        """To the next mark with a sign, or the one before."""
        found = [at for at, mark in enumerate(self.state.marks) if mark.sign]
        at = self._at()
        wanted = [one for one in found if (one > at if step > 0 else one < at)]
        if wanted:
            self._go(wanted[0] if step > 0 else wanted[-1])
        elif found:
            self.notify("There is none further.", markup=False, timeout=2)
        elif self.state.waiting:
            said = "The cut was made after the last request; it gets a mark with the next one."
            self.notify(said, markup=False, timeout=4)
        else:
            self.notify("Nothing was cut in this conversation.", markup=False, timeout=3)

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
        """Id of the last cut with a receipt at the cursor; at the newest mark also of what came after it."""
        mark = self.mark
        newest = mark is not None and mark is self.state.marks[-1]
        cuts = (*(mark.cuts if mark is not None else ()), *(self.state.waiting if newest else ()))
        return next((cut.id for cut in reversed(cuts) if cut.id), "")

    def action_open(self) -> None:
        """The receipt of the cut here; where there is none, the request."""
        if cut := self._cut_here():
            self.post_message(ForContext("receipt", self.state.agent, about=cut))
        else:
            self.action_inspect()

    def action_inspect(self) -> None:
        mark = self.mark
        if mark is not None:
            self.post_message(ForContext("inspect", self.state.agent, about=mark.id))

    def action_diff(self) -> None:
        mark = self.mark
        if mark is not None:
            self.post_message(ForContext("diff", self.state.agent, about=mark.id))

    def action_undo(self) -> None:
        self.post_message(ForContext("undo", self.state.agent, about=self._cut_here()))

    def action_act(self, action: str) -> None:
        self.post_message(ForContext(action, self.state.agent))
