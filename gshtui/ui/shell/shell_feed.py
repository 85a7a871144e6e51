"""The shell log's rows, from events and from the record, requested a page at a time.

Owns the state and the one pending request to the record; neither draws nor fetches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.shell_rows import Filter, Span
from gshtui.ui.shell.shell_state import PAGE, LogState, PageRequest, reduce, with_filter, with_span

if TYPE_CHECKING:
    from gshtui.ui.shell.log_position import LogPosition


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
