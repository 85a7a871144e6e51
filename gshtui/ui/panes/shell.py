"""The shell log: the shell commands of this project, who ran them, how they ended and how long they took.

Owns the drawing; the state is `shell_state`'s. Fed by the bridge.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.content import Content

from gshtui.bus.event import Event
from gshtui.ui import figures
from gshtui.ui.panes.shell_state import CONSUMED, Ran, ShellState, reduce
from gshtui.ui.widgets.pane import Pane

EMPTY = (
    "No shell command yet.\n\nCommands that the agent runs are listed here, with how each ended and how long it took. "
    "The commands of your own shells will join them once a shell is connected."
)


class ShellPane(Pane):
    """Shell commands, newest at the bottom."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self) -> None:
        super().__init__("shell", "Shell log", 3, EMPTY)
        self.state = ShellState()

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
        ran = self.state.ran
        self.label(str(len(ran)) if ran else "")
        if not ran:
            self.show(None)
            return
        follow = self.is_vertical_scroll_end
        self.show(Content("\n").join([draw(one, self.columns) for one in ran]))
        if follow:
            self.call_after_refresh(self.scroll_end, animate=False)


def draw(ran: Ran, width: int) -> Content:
    """One command in one line: a sign, the command, how it ended."""
    sign, colour = _sign(ran)
    end = _end(ran)
    command = figures.short(" ".join(ran.command.split()), max(4, width - len(end) - 3))
    gap = " " * max(1, width - 2 - len(command) - len(end))
    return Content.assemble((f"{sign} ", colour), command, gap if end else "", (end, "$foreground-muted"))


def _sign(ran: Ran) -> tuple[str, str]:
    if ran.status is None:
        return "●", "$secondary"
    return ("✓", "$success") if ran.status == "ok" else ("✗", "$error")


def _end(ran: Ran) -> str:
    if ran.status is None:
        return "runs"
    took = f"{ran.duration:.1f} s"
    return took if ran.status == "ok" else f"{ran.status} {took}"
