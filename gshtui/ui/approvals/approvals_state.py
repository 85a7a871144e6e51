"""The state of the approvals inbox: the waiting questions, the one in front, and how long it has been there.

Pure: `(state, event) → state`. Fed by `ApprovalsPane`. The question in front stays there while it waits,
whatever else comes or goes, so that an answer always belongs to the question that was read.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged, AgentSpawned

APPROVAL_EVENTS: tuple[type[Event], ...] = (AgentChanged, AgentSpawned, ApprovalRequested, ApprovalSettled)
REMEMBERED = 200
"""How many ids of answered questions are kept, so that a late duplicate does not come back."""


class ApprovalsState(msgspec.Struct, frozen=True):
    """Questions in order of arrival; `front` is the id of the one shown."""

    waiting: tuple[ApprovalRequested, ...] = ()
    front: str = ""
    closed: tuple[str, ...] = ()
    names: dict[str, str] = {}
    """Names of agents in terminals, by number."""

    @property
    def shown(self) -> ApprovalRequested | None:
        """The question in front."""
        return next((r for r in self.waiting if r.approval == self.front), None)

    @property
    def place(self) -> int:
        """Number of the question in front, from 1; 0: none waits."""
        return next((n for n, r in enumerate(self.waiting, 1) if r.approval == self.front), 0)


def reduce_approvals(state: ApprovalsState, event: Event) -> ApprovalsState:
    """The state after the event; the same object when nothing changed."""
    match event:
        case ApprovalRequested():
            known = any(r.approval == event.approval for r in state.waiting)
            if known or event.approval in state.closed:
                return state
            return replace(state, waiting=(*state.waiting, event), front=state.front or event.approval)
        case ApprovalSettled():
            return without_question(state, event.approval)
        case AgentChanged() | AgentSpawned() if state.names.get(event.agent) != event.row.name:
            return replace(state, names={**state.names, event.agent: event.row.name})
        case _:
            return state


def without_question(state: ApprovalsState, approval: str) -> ApprovalsState:
    """Close a question: the next one comes to the front, or the last one if there is no next."""
    place = next((n for n, r in enumerate(state.waiting) if r.approval == approval), None)
    closed = state.closed if approval in state.closed else (*state.closed, approval)[-REMEMBERED:]
    if place is None:
        return state if closed is state.closed else replace(state, closed=closed)
    waiting = state.waiting[:place] + state.waiting[place + 1 :]
    front = state.front
    if front == approval:
        front = waiting[min(place, len(waiting) - 1)].approval if waiting else ""
    return replace(state, waiting=waiting, front=front, closed=closed)


def turned_to(state: ApprovalsState, by: int) -> ApprovalsState:
    """Bring the question `by` places further to the front, wrapping around."""
    if len(state.waiting) < 2:
        return state
    place = (state.place - 1 + by) % len(state.waiting)
    return replace(state, front=state.waiting[place].approval)
