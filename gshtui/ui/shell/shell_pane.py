"""The shell log: every command of your shells and of the agents, how each ended, with notes and changes between them.

Owns keys and filter. Which rows are known is `ShellFeed`'s, which are on the screen `ShellLogView`'s, what is done with
one `ShellFeature`'s.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.shell_rows import Filter, Row, Span
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_bindings
from gshtui.ui.kit.widget_messages import FeatureMessage
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.kit.widgets.side_pane import Pane
from gshtui.ui.shell import shell_format
from gshtui.ui.shell.shell_format import terminal
from gshtui.ui.shell.shell_state import CONSUMED, PAGE, LogState, PageRequest, reduce, with_filter, with_span

if TYPE_CHECKING:
    from textual.widget import AwaitMount

    from gshtui.ui.kit.widgets.search_line import SearchLine
    from gshtui.ui.shell.shell_view import LogPosition, ShellLogBody, ShellLogView


EMPTY = "No shell commands yet: {terminal.shared} to open a shell, ! to run a command."
_TYPED = 0.12
"""Seconds after the last keystroke until the record is queried."""


def feed_label(feed: ShellFeed, terminal: str) -> str:
    """The number of rows and the active filter; `terminal`: the filter's terminal, in words."""
    filter = feed.state.filter
    parts = [f"{feed.state.total:,}"] if feed.state.total or filter else []
    parts += ["failed"] if filter.failed else []
    parts += [filter.cwd.rpartition("/")[2] or "/"] if filter.cwd else []
    parts += [terminal] if filter.shell else []
    parts += ["unreadable"] if feed.problem else []
    return " · ".join(parts)


class TypedFilter:
    """Waits until typing pauses, then applies the filter."""

    def __init__(self, pane: Pane, take_effect: Callable[[], None]) -> None:
        self._pane = pane
        self._take_effect = take_effect
        self._resting: Timer | None = None
        self._settled = asyncio.Event()

    def typed(self) -> None:
        """The person typed a letter."""
        if self._resting is None:
            self._resting = self._pane.set_timer(_TYPED, self.settle)
        else:
            self._resting.reset()

    def settle(self) -> None:
        """Apply the words now."""
        if self._resting is not None:
            self._resting.stop()
            self._resting = None
        self._settled.set()
        self._settled = asyncio.Event()
        self._take_effect()

    async def settled(self) -> None:
        """Wait until the typed words are applied."""
        while self._resting is not None:
            await self._settled.wait()


class ShellPane(Pane):
    """Shell commands, newest at the bottom."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("shell.up", "move(-1)"),
        bind("shell.down", "move(1)"),
        bind("shell.page_up", "page(-1)"),
        bind("shell.page_down", "page(1)"),
        bind("shell.home", "edge(False)"),
        bind("shell.end", "edge(True)"),
        bind("shell.filter", "filter"),
        bind("shell.failed", "failed"),
        bind("shell.folder", "folder"),
        bind("shell.terminal", "terminal"),
        bind("shell.back", "unfilter"),
        bind("shell.menu", "want('shell.menu')"),
        *row_bindings("shell"),
    ]

    class Needs(FeatureMessage):
        """Requests rows from the record: `pane.add_rows` or `pane.failed` is the answer.

        `start` below 0: the newest rows, starting at a multiple of `limit`, and at least `limit` of them if possible.
        """

        def __init__(self, pane: ShellPane, filter: Filter, start: int, limit: int) -> None:
            super().__init__()
            self.pane = pane
            self.filter = filter
            self.start = start
            self.limit = limit

    class Wanted(FeatureMessage):
        """Requests an action on a row: the one in this row of the key table."""

        def __init__(self, key: str, row: Row | None) -> None:
            super().__init__()
            self.key = key
            self.row = row

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__("shell", "Shell log", 3, EMPTY)
        self.feed = ShellFeed(self._need)
        self.inside: ShellLogBody | None = None
        """The pane's content; `None` until there is something to show."""
        self._clock = clock
        self._terminal = ""
        """The terminal of the filter, in words."""
        self._ticks: Timer | None = None
        self._words = TypedFilter(self, self._filter_words)

    @property
    def state(self) -> LogState:
        """The known rows, and the filter."""
        return self.feed.state

    @property
    def rows_view(self) -> ShellLogView | None:
        """The visible rows; `None` until there is something to show."""
        return self.inside.view if self.inside is not None else None

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor."""
        return self.inside.view.chosen if self.inside is not None else None

    def on_mount(self) -> None:
        self._ticks = self.set_interval(1.0, self._tick, pause=True)

    # Rows

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        if self.feed.consume(events):
            self.draw()

    def _need(self, filter: Filter, start: int, limit: int) -> None:
        self.post_message(self.Needs(self, filter, start, limit))

    def _ask_for_rows(self) -> None:
        view = self.rows_view
        self.feed.ask(view.position if view is not None else None)

    def add_rows(self, filter: Filter, span: Span | None) -> None:
        """Add rows from the record; `None`: there is no record."""
        self.feed.add_rows(filter, span)
        self.mark_known()
        self.draw()

    def failed(self, why: str) -> None:
        """The record could not be read."""
        self.feed.fail(why)
        self.mark_known()
        self.draw()

    # Drawing

    def on_resize(self) -> None:
        self.draw()

    def on_show(self) -> None:
        self.draw()

    @property
    def is_empty(self) -> bool:
        return self.inside is None and not (self.state.total or self.state.filter or self.feed.problem)

    def draw(self) -> None:
        if not self.is_mounted:
            return
        self._tell()
        if not self.display:
            self._ask_for_rows()
            return
        state = self.state
        if self.inside is None and (state.total or state.filter):
            self.open_log()
        if self.inside is not None:
            self.inside.show(state)
        elif self.feed.problem:
            self.show(Content(f"Can't read the shell log: {self.feed.problem}"))
        self.label(feed_label(self.feed, self._terminal))
        if self._ticks is not None:
            (self._ticks.resume if state.running() else self._ticks.pause)()
        self._ask_for_rows()

    def summary(self, width: int) -> Content:
        row = self.state.last_command
        if row is None:
            return Content()
        from gshtui.text.sanitise import one_line  # not before the first frame

        mark = shell_format.sign(row)
        colour = {"✗": "$error", "●": "$primary", "?": "$foreground-muted"}.get(mark, "$success")
        tail = "" if row.state != "done" or not row.exit else f" · exit {row.exit}"
        tail += f" · {took}" if row.state == "done" and (took := shell_format.notable(row, row.at)) else ""
        words = one_line(row.command, 200)
        room = width - len("3 shell log x ") - len(tail)
        place = shell_format.folder(row.cwd, self.state.project)
        if self.state.project and place[:1] in ("~", "/") and cell_len(words) + 3 + len(place) <= room:
            words += f" · {place}"
        words = fit(words, max(8, room))
        return self._summed(Content.assemble((mark, colour), f" {words}", (tail, "$foreground-muted")))

    def open_log(self) -> AwaitMount:
        from gshtui.ui.shell.shell_view import ShellLogBody  # not before the first frame

        self.inside = ShellLogBody(self.state.project, self._clock)
        self._body.display = False
        mounted = self.mount(self.inside)
        self._activate()
        return mounted

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
        if self.display:
            self._ask_for_rows()

    # Filter

    def on_search_line_changed(self, message: Message) -> None:
        """The filter's words changed."""
        message.stop()
        self._words.typed()

    async def filtered(self) -> None:
        """Wait until the typed words are applied."""
        await self._words.settled()

    def _filter_words(self) -> None:
        if self.inside is not None:
            self._filter(replace(self.state.filter, text=self.inside.line.words))

    def on_search_line_closed(self, message: Message) -> None:
        """The filter's words were cleared."""
        message.stop()
        self.focus()
        self._filter(replace(self.state.filter, text=""))

    def on_search_line_stepped(self, message: SearchLine.Stepped) -> None:
        """Up and down move the cursor while the person types the filter."""
        message.stop()
        self.action_move(-message.step)

    def on_search_line_taken(self, message: Message) -> None:
        """The filter was entered."""
        message.stop()
        self._words.settle()
        self.focus()

    def _filter(self, filter: Filter) -> None:
        if self.feed.filter(filter):
            if self.inside is not None:
                self.inside.view.edge(True)
            self.draw()

    async def action_filter(self) -> None:
        """Type words that rows must contain."""
        if self.inside is None:
            await self.open_log()
        if self.inside is not None:
            self.inside.open_line()

    def action_failed(self) -> None:
        """Toggle: only failed commands."""
        self._filter(replace(self.state.filter, failed=not self.state.filter.failed))

    def action_folder(self) -> None:
        """Toggle: only commands from the folder of the row under the cursor, or below."""
        chosen = self.chosen
        cwd = "" if self.state.filter.cwd else (chosen.cwd if chosen is not None else "")
        self._filter(replace(self.state.filter, cwd=cwd))

    def action_terminal(self) -> None:
        """Toggle: only commands from the terminal of the row under the cursor."""
        chosen = self.chosen
        if self.state.filter.shell or chosen is None:
            shell = ""
        else:
            shell = chosen.shell
            self._terminal = terminal(chosen) if isinstance(chosen, ShellRecord) else "one terminal"
        self._filter(replace(self.state.filter, shell=shell))

    def action_unfilter(self) -> None:
        """Clear the filters."""
        if self.inside is not None:
            self.inside.close_line()
        self._filter(Filter())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "unfilter":
            return bool(self.state.filter)
        return super().check_action(action, parameters)

    # Keys and mouse

    def action_move(self, rows: int) -> None:
        if self.inside is not None:
            self.inside.view.move(rows)

    def action_page(self, pages: int) -> None:
        if self.inside is not None:
            self.inside.view.page(pages)

    def action_edge(self, last: bool) -> None:
        if self.inside is not None:
            self.inside.view.edge(last)

    def action_want(self, key: str) -> None:
        """Request an action on the row under the cursor."""
        self.post_message(self.Wanted(key, self.chosen))

    def on_shell_log_view_picked(self, message: ShellLogView.Picked) -> None:
        """A double click opens, the right button shows the menu."""
        message.stop()
        if message.button == 3:
            self.action_want("shell.menu")
        elif message.times == 2:
            self.action_want("shell.open")


class ShellFeed:
    """See the module.

    Args:
        need: requests rows with this filter: the first number and how many; `add_rows` or `fail` is the answer. A
            negative number: the newest rows, starting at a multiple of the last argument, and at least that many.
    """

    def __init__(self, need: Callable[[Filter, int, int], object]) -> None:
        self.state = LogState()
        self.problem = ""
        """Why the record could not be read."""
        self._need = need
        self._asked: PageRequest | None = None
        self._recorded = True

    def consume(self, events: Sequence[Event]) -> bool:
        """Take the events of one frame; returns whether they changed anything."""
        before = self.state
        for event in events:
            if isinstance(event, HubStarted):
                self._recorded = True
            self.state = reduce(self.state, event)
        return self.state is not before

    def add_rows(self, filter: Filter, span: Span | None) -> None:
        """Add rows from the record; `None`: there is no record."""
        asked, self._asked = self._asked, None
        if asked is None or filter != self.state.filter:
            return
        self.problem = ""
        if span is None:
            self._recorded = False
            self.state = replace(self.state, stale=0)
        else:
            self.state = with_span(self.state, span, asked)

    def fail(self, why: str) -> None:
        """The record could not be read; new rows are shown anyway."""
        self._asked = None
        self.problem = why
        self.state = replace(self.state, stale=0)

    def filter(self, filter: Filter) -> bool:
        """Change the filter; returns whether it differs."""
        if filter == self.state.filter:
            return False
        self.state = with_filter(self.state, filter)
        return True

    def ask(self, sight: LogPosition | None) -> None:
        """Request missing rows; one request at a time."""
        if self._asked is not None or not self._recorded:
            return
        state = self.state
        start, limit = -1, PAGE
        if sight is not None and not sight.follows:
            pages = range(sight.top // PAGE, sight.bottom // PAGE + 1)
            start, limit = pages[0] * PAGE, len(pages) * PAGE
        if not state.stale:
            missing = state.missing(sight.top, sight.bottom) if sight is not None else []
            missing = missing or state.missing(state.total - 1, state.total - 1)
            if not missing:
                return
            start, limit = missing[0] * PAGE, PAGE
        self._asked = PageRequest(state.total, state.stale)
        self._need(state.filter, start, limit)
