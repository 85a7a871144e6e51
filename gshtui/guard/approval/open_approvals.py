"""The open questions of all agents that a hub hears, and what was allowed for a conversation.

`OpenApprovals` is the state, with the one reducer that the hub and the inbox of the window share; it is pure.
`ApprovalWatch` keeps it from the hub's bus, for `approvals` and `agent answer`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded, AgentRemoved, AgentSpawned
from gshtui.guard.approval.question_text import program_request

APPROVAL_EVENTS: tuple[type[Event], ...] = (
    AgentChanged,
    AgentEnded,
    AgentRemoved,
    AgentSpawned,
    ApprovalRequested,
    ApprovalSettled,
)
REMEMBERED = 200
"""How many ids of answered questions are kept, so that a late duplicate does not come back."""


class SessionGrant(msgspec.Struct, frozen=True):
    """A call that a person allowed for a conversation, exactly as it is. It ends with the agent's process."""

    agent: str
    session: str
    tool: str
    subject: str
    at: float = 0.0
    """When, in seconds since the epoch."""


class OpenApprovals(msgspec.Struct, frozen=True):
    """Questions in order of arrival."""

    waiting: tuple[ApprovalRequested, ...] = ()
    closed: tuple[str, ...] = ()
    granted: tuple[SessionGrant, ...] = ()
    names: dict[str, str] = {}
    """Names of agents in terminals, by number."""
    programs: dict[str, OpenQuestion] = {}
    """Those of the waiting questions that other vendors' programs ask, by id."""
    rows: dict[str, AgentRow] = {}
    """The programs that ask, by number."""

    def find(self, approval: str) -> ApprovalRequested | None:
        return next((one for one in self.waiting if one.approval == approval), None)

    def of_agent(self, agent: str) -> tuple[ApprovalRequested, ...]:
        return tuple(one for one in self.waiting if one.agent == agent)


def apply_event(state: OpenApprovals, event: Event) -> OpenApprovals:
    """The state after the event; the same object when nothing changed."""
    match event:
        case ApprovalRequested():
            if state.find(event.approval) is not None or event.approval in state.closed:
                return state
            return replace(state, waiting=(*state.waiting, event))
        case ApprovalSettled():
            return without_question(_with_grant(state, event), event.approval)
        case AgentChanged() | AgentSpawned():
            if state.names.get(event.agent) != event.row.name:
                state = replace(state, names={**state.names, event.agent: event.row.name})
            return _with_row(state, event.row)
        case AgentEnded() | AgentRemoved():
            state = _without_grants(state, event.agent)
            gone = isinstance(event, AgentRemoved) and event.agent in state.rows
            return without_program(state, event.agent) if gone else state
        case _:
            return state


def without_question(state: OpenApprovals, approval: str) -> OpenApprovals:
    if approval not in state.closed:
        state = replace(state, closed=(*state.closed, approval)[-REMEMBERED:])
    if state.find(approval) is None:
        return state
    return replace(state, waiting=tuple(one for one in state.waiting if one.approval != approval))


def without_program(state: OpenApprovals, agent: str) -> OpenApprovals:
    """Without a program's question. The same one may come again."""
    ids = _ids(state, agent)
    return replace(
        state,
        waiting=tuple(one for one in state.waiting if one.approval not in ids),
        programs={id: asked for id, asked in state.programs.items() if not id.startswith(f"{agent}/")},
        rows={id: row for id, row in state.rows.items() if id != agent},
    )


def _with_row(state: OpenApprovals, row: AgentRow) -> OpenApprovals:
    """The state with exactly the question that this program asks now, if it asks one."""
    asks = (
        row.question
        if (row.status == "waiting" or row.unsent is not None) and not row.ended and not row.killed
        else None
    )
    before = state.rows.get(row.id)
    if asks is None:
        return state if before is None else without_program(state, row.id)
    if before is not None and before.question == asks:
        return state
    place = len(state.waiting)
    if before is not None:  # the next question of the same program stands in the same place
        ids = _ids(state, row.id)
        place = next((n for n, one in enumerate(state.waiting) if one.approval in ids), place)
        state = without_program(state, row.id)
    request = program_request(row, asks)
    return replace(
        state,
        waiting=(*state.waiting[:place], request, *state.waiting[place:]),
        programs={**state.programs, request.approval: asks},
        rows={**state.rows, row.id: row},
    )


def _ids(state: OpenApprovals, agent: str) -> set[str]:
    return {one.approval for one in state.waiting if one.agent == agent and one.approval in state.programs}


def _with_grant(state: OpenApprovals, settled: ApprovalSettled) -> OpenApprovals:
    request = state.find(settled.approval)
    if request is None or settled.decision != "session":
        return state
    grant = SessionGrant(request.agent, request.session, request.tool, request.subject, settled.at)
    return replace(state, granted=(*state.granted, grant))


def _without_grants(state: OpenApprovals, agent: str) -> OpenApprovals:
    kept = tuple(one for one in state.granted if one.agent != agent)
    return replace(state, granted=kept) if len(kept) < len(state.granted) else state


class ApprovalWatch:
    """Keeps the open approvals of one hub. Made and closed by the hub."""

    def __init__(self, bus: Bus) -> None:
        self.state = OpenApprovals()
        self._subscription = bus.subscribe(self._apply, *APPROVAL_EVENTS, name="open approvals")

    async def close(self) -> None:
        self._subscription.unsubscribe()

    def _apply(self, batch: Sequence[Event]) -> None:
        for event in batch:
            self.state = apply_event(self.state, event)
