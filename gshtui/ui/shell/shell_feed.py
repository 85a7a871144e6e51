"""The shell log's rows in a pane: what happens is taken in, what is missing is asked for, and the rows are shown.

Owns the state and the one question to the record that is under way; refuses keys. The shell log pane is built on it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from gshtui.bus.event import Event
from gshtui.bus.events.hub import HubStarted
from gshtui.bus.shell_rows import Filter, Row, Span
from gshtui.ui.kit.pane import Pane
from gshtui.ui.shell.shell_state import CONSUMED, PAGE, Asked, LogState, reduce, with_span

if TYPE_CHECKING:
    from gshtui.ui.shell.body import ShellLogBody
    from gshtui.ui.shell.view import ShellLogView

EMPTY = (
    "No shell command yet.\n\nEverything you run in any terminal appears here as you run it, once your shell is "
    "connected: gsh-tui shell install (zsh and bash). What agents run is listed too."
)


class ShellFeed(Pane):
    """See the module."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    class Needs(Message):
        """Rows are wanted of the record: `pane.take` or `pane.failed` is the answer.

        `start` below 0: the newest rows, from a multiple of `limit` on, and at least `limit` of them if there are.
        """

        def __init__(self, pane: ShellFeed, filter: Filter, start: int, limit: int) -> None:
            super().__init__()
            self.pane = pane
            self.filter = filter
            self.start = start
            self.limit = limit

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__("shell", "Shell log", 3, EMPTY)
        self.state = LogState()
        self._clock = clock
        self.inside: ShellLogBody | None = None
        """The inside of the pane; `None` until there is something to show."""
        self._asked: Asked | None = None
        self._recorded = True
        self._why = ""
        self.terminal = ""
        """The terminal of the filter, in words."""
        self._ticks: Timer | None = None

    @property
    def rows_view(self) -> ShellLogView | None:
        """The rows on the screen; `None` until there is something to show."""
        return self.inside.view if self.inside is not None else None

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self.inside.view.chosen if self.inside is not None else None

    def on_mount(self) -> None:
        self._ticks = self.set_interval(1.0, self._tick, pause=True)

    # What happens

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            if isinstance(event, HubStarted):
                self._recorded = True
            self.state = reduce(self.state, event)
        if self.state is not before:
            self.draw()

    def take(self, filter: Filter, span: Span | None) -> None:
        """Rows came from the record; `None`: there is no record."""
        asked, self._asked = self._asked, None
        if asked is None or filter != self.state.filter:
            self.draw()
            return
        self._why = ""
        if span is None:
            self._recorded = False
            self.state = replace(self.state, stale=0)
        else:
            self.state = with_span(self.state, span, asked)
        self.draw()

    def failed(self, why: str) -> None:
        """The record could not be asked; what comes from now on is shown all the same."""
        self._asked = None
        self._why = why
        self.state = replace(self.state, stale=0)
        self.draw()

    def _ask(self) -> None:
        """Ask for what is missing; one question at a time."""
        if self._asked is not None or not self._recorded or not self.display:
            return
        state, view = self.state, self.inside.view if self.inside is not None else None
        start, limit = -1, PAGE
        if view is not None and not view.follows:
            pages = range(view.top // PAGE, view.bottom // PAGE + 1)
            start, limit = pages[0] * PAGE, len(pages) * PAGE
        if not state.stale:
            missing = state.missing(view.top, view.bottom) if view is not None else []
            missing = missing or state.missing(state.total - 1, state.total - 1)
            if not missing:
                return
            start, limit = missing[0] * PAGE, PAGE
        self._asked = Asked(state.total, state.stale)
        self.post_message(self.Needs(self, state.filter, start, limit))

    # Drawing

    def on_resize(self) -> None:
        self.draw()

    def on_show(self) -> None:
        self.draw()

    def draw(self) -> None:
        if not self.display or not self.is_mounted:
            return
        state = self.state
        if self.inside is None and (state.total or state.filter):
            self.open_log()
        if self.inside is not None:
            self.inside.show(state)
        elif self._why:
            self.show(Content(f"The shell log could not be read: {self._why}"))
        self._label()
        if self._ticks is not None:
            (self._ticks.resume if state.running() else self._ticks.pause)()
        self._ask()

    def open_log(self) -> None:
        from gshtui.ui.shell.body import ShellLogBody  # not before the first frame

        self.inside = ShellLogBody(self.state.project, self._clock)
        self._body.display = False
        self.mount(self.inside)
        self._activate()

    def _label(self) -> None:
        filter = self.state.filter
        parts = [f"{self.state.total:,}"] if self.state.total or filter else []
        parts += ["failed"] if filter.failed else []
        parts += [filter.cwd.rpartition("/")[2] or "/"] if filter.cwd else []
        parts += [self.terminal] if filter.shell else []
        parts += ["not read"] if self._why else []
        self.label(" · ".join(parts))

    def _tick(self) -> None:
        if self.inside is not None:
            self.inside.view.tick()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._activate()

    def _activate(self) -> None:
        if self.inside is not None:
            self.inside.activate(self.has_focus)

    def on_shell_log_view_looked(self, message: Message) -> None:
        message.stop()
        if self.inside is not None:
            self.inside.describe()
        self._ask()
