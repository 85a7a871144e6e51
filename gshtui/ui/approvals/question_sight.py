"""What of the question in front has been on the screen, and which of its answers do not count before the rest has."""

from __future__ import annotations

from collections.abc import Callable

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.ui.approvals.approvals_state import ApprovalsState

_ALLOWING: frozenset[str] = frozenset(("once", "session", "always"))


class QuestionSight:
    """
    Args:
        shows_change: whether all of the change that a call wants to make is on the screen now, above the panel.
    """

    def __init__(self, shows_change: Callable[[str, str], bool]) -> None:
        self.row_is_whole = False
        """The row of a question that waits says all that would be decided."""
        self.in_chat = False
        """All of its change was on the screen when that row was drawn."""
        self._shows_change = shows_change

    def change_is_shown(self, request: ApprovalRequested | None) -> bool:
        """Whether the change in question, if it is about one, is shown whole above the row that waits."""
        return request is not None and (not request.diff or self._shows_change(request.call, request.diff))

    def is_seen(self, request: ApprovalRequested | None, *, opened: bool) -> bool:
        """Whether all that would be decided is shown. `opened`: the panel shows all of the question."""
        return opened or (self.row_is_whole and self.change_is_shown(request))


def unread_answers(state: ApprovalsState, *, hidden: bool) -> frozenset[str]:
    """The answers that do not count yet, since what they decide has not been on the screen: of a program, all of them,
    since what its digits do is known by its words alone; where those are not to be had here, all that allow.

    Args:
        hidden: some of the question that is shown is still to be scrolled to.
    """
    asked = state.programs.get(state.front)
    if asked is None:
        return _ALLOWING if hidden else frozenset[str]()
    return frozenset(one.key for one in asked.choices) if hidden else asked.uncounted
