"""Whether all that an answer would decide is on the screen: in the row of a question that waits, in the conversation
above it, below that row, or in the opened panel. No answer that allows counts before it has been.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from textual.geometry import Size
from textual.widget import Widget

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.ui.approvals.approvals_state import ApprovalsState
from gshtui.ui.approvals.question_view import QuestionView

_BESIDE = 40
"""Rows of the window from which on a change is shown below its row, if a third of them has room for all of it; in a
lower one, if nothing else is there, either."""
_PIECES = 30
"""Rows of the window below which no more than pieces of a terminal would be seen above an open question."""
_ALLOWING: frozenset[str] = frozenset(("once", "session", "always"))


class TabAbove(msgspec.Struct, frozen=True):
    """The tab in front, above the panel."""

    shows_change: Callable[[str, str], bool]
    """Whether all of the change that a call wants to make is on the screen now."""
    empty: Callable[[], int | None]
    """How many of its rows nothing fills; less than 0: some are out of sight; `None`: unknown."""
    opens: Callable[[str], None]
    """Told of which call the panel shows the whole change; empty: of none."""


class QuestionSight:
    """Of a panel below a tab."""

    def __init__(self, panel: Widget, above: TabAbove) -> None:
        self.row_is_whole = False
        """The row of a question that waits says all that would be decided."""
        self.in_chat = False
        """All of its change was on the screen when that row was drawn."""
        self.below = False
        """All of its change is below that row."""
        self._panel = panel
        self._above = above
        self._opened = ""
        self._room = 0
        """Rows that a change below its row may have."""
        self._fitted = Size(), True
        """The window, and whether all rows of the panel were in it when it was laid out last."""

    def is_seen(self, request: ApprovalRequested | None) -> bool:
        """Whether all that would be decided is shown, as far as it has been scrolled to."""
        if self._panel.has_class("-open"):
            return True
        return self.row_is_whole and (self.below or self._change_is_shown(request))

    def unread_answers(self, state: ApprovalsState) -> frozenset[str]:
        """The answers that do not count yet, since what they decide has not been on the screen: of a program, all of
        them, since what its digits do is known by its words alone; where those are not to be had here, all that allow.
        """
        lines = self._panel.has_class("-open") or self.below
        hidden = lines and (self._view.unread or not self._panel_is_whole)
        asked = state.programs.get(state.front)
        if asked is None:
            return _ALLOWING if hidden else frozenset[str]()
        return frozenset(one.key for one in asked.choices) if hidden else asked.uncounted

    def lay_out_row(self, request: ApprovalRequested, *, in_front: bool) -> None:
        """Show the change below the row of its question where it fits, unless its agent's tab, in front, shows it."""
        self.in_chat = self._change_is_shown(request)
        self._room = self._rows_below
        self._view.display = not in_front and self._fits_below(request)
        self.below = self._view.display and self._panel_is_whole

    def row_is_stale(self, request: ApprovalRequested) -> bool:
        """Whether what surrounds the row has changed since it was laid out."""
        return self._change_is_shown(request) is not self.in_chat or self._rows_below != self._room

    def panel_has_moved(self) -> bool:
        """Whether the window, or what of the panel is in it, has changed; in another window nothing has been read."""
        before, self._fitted = self._fitted, (self._panel.screen.size, self._panel_is_whole)
        if self._fitted[0] != before[0]:
            self._view.forget()
        return self._fitted != before

    def report_change(self, request: ApprovalRequested | None) -> None:
        """Tell the tab of which call the panel shows the whole change; `None`: of none, since it is not open."""
        screen, call = self._panel.screen, ""
        screen.set_class(request is not None and screen.size.height < _PIECES, "-answering")
        if request is not None and request.diff:
            view = self._view
            call = request.call if view.display and not (view.above or view.hidden) else ""
        if call != self._opened:
            self._opened = call
            self._above.opens(call)

    @property
    def _view(self) -> QuestionView:
        return self._panel.query_one(QuestionView)

    @property
    def _panel_is_whole(self) -> bool:
        shown = [one for one in (self._panel, *self._panel.children) if one.display and one.is_on_screen]
        places = [self._panel.screen.find_widget(one) for one in shown]
        return all(place.visible_region == place.region for place in places)

    def _change_is_shown(self, request: ApprovalRequested | None) -> bool:
        return request is not None and (not request.diff or self._above.shows_change(request.call, request.diff))

    @property
    def _rows_below(self) -> int:
        height, empty = self._panel.screen.size.height, self._above.empty()
        if height >= _BESIDE:
            return height // 3
        return 0 if empty is None else min(height // 3, empty + self._view.region.height)

    def _fits_below(self, request: ApprovalRequested) -> bool:
        """Whether all lines of a question about a change, with the change, fit there; lays them out."""
        view, panel = self._view, self._panel
        roomy = self._room > 0 and view.has_changes and not request.warnings  # those are read where it is answered
        if roomy:
            view.fit(max(8, panel.content_size.width or panel.size.width - 2), self._room, named=True, tail=False)
        return roomy and not (view.above or view.hidden)
