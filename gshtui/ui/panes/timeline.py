"""The timeline: one mark an iteration, as high as the tokens that it sent, newest on the right.

Owns the drawing; the state is `timeline_state`'s. Fed by the bridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from gshtui.bus.event import Event
from gshtui.ui import figures
from gshtui.ui.panes.timeline_state import CONSUMED, Mark, TimelineState, reduce
from gshtui.ui.widgets.pane import Pane

EMPTY = (
    "No request yet.\n\nEach request to the model draws a mark here, as high as the tokens that it sent. "
    "Cuts of the context will stand between the marks."
)


class TimelinePane(Pane):
    """The iterations of the conversation of the agent in front."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self, agent: str = "main") -> None:
        super().__init__("timeline", "Timeline", 5, EMPTY)
        self.state = TimelineState(agent)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        if self.state is not before:
            self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.display or not self.is_mounted:
            return
        marks = self.state.marks
        self.label(str(len(marks)) if marks else "")
        if marks:
            self.show(draw(self.state, self.columns, self.rows))
        else:
            self.show(None)


def draw(state: TimelineState, width: int, rows: int) -> Content:
    """A column chart of the newest marks, with a line of turns and a line of words below."""
    gap = " " if len(state.marks) * 2 <= width else ""
    marks = state.marks[-max(1, width) :]
    chart = figures.columns([mark.tokens for mark in marks], max(1, rows - 2))
    lines = [Content.styled(gap.join(row), "$primary") for row in chart]
    lines.append(Content.styled((("─" if gap else "").join(foot(mark) for mark in marks)), "$foreground-muted"))
    last = marks[-1]
    estimate = "" if last.exact else "~"
    window = f" of {figures.tokens(state.window)}" if state.window else ""
    growth = last.tokens - marks[-2].tokens if len(marks) > 1 else 0
    change = f" · {growth:+,d}" if growth else ""
    tokens = f"{estimate}{figures.tokens(last.tokens)}"
    lines.append(Content.assemble((tokens, "bold"), (window + change, "$foreground-muted")))
    return Content("\n").join(lines)


def foot(mark: Mark) -> str:
    """The sign under a mark: `┴` ends a turn, `×` ends it badly."""
    if not mark.end:
        return "─"
    return "┴" if mark.end == "end" else "×"
