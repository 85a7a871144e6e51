"""The state of the approvals inbox: the waiting questions, the one in front, and how long it has been there.

Pure: `(state, event) → state`. Fed by `ApprovalsPane`. The question in front stays there while it waits,
whatever else comes or goes, so that an answer always belongs to the question that was read.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged, AgentRemoved, AgentSpawned
from gshtui.guard.answer_keys import Offer, offers, program_offers
from gshtui.guard.question_text import program_request

APPROVAL_EVENTS: tuple[type[Event], ...] = (
    AgentChanged,
    AgentRemoved,
    AgentSpawned,
    ApprovalRequested,
    ApprovalSettled,
)
REMEMBERED = 200
"""How many ids of answered questions are kept, so that a late duplicate does not come back."""


class ApprovalsState(msgspec.Struct, frozen=True):
    """Questions in order of arrival; `front` is the id of the one shown."""

    waiting: tuple[ApprovalRequested, ...] = ()
    front: str = ""
    closed: tuple[str, ...] = ()
    names: dict[str, str] = {}
    """Names of agents in terminals, by number."""
    programs: dict[str, OpenQuestion] = {}
    """Those of the waiting questions that other vendors' programs ask, by id."""
    rows: dict[str, AgentRow] = {}
    """The programs that ask, by number."""
    answering: str = ""
    """The program's question that is being answered; it is not shown meanwhile."""

    @property
    def shown(self) -> ApprovalRequested | None:
        """The question in front."""
        return next((r for r in self.waiting if r.approval == self.front), None)

    @property
    def offered(self) -> tuple[Offer, ...]:
        """The answers to the question in front."""
        if (asked := self.programs.get(self.front)) is not None:
            return program_offers(asked)
        return offers(self.shown.rule) if self.shown is not None else ()

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
        case AgentChanged() | AgentSpawned():
            if state.names.get(event.agent) != event.row.name:
                state = replace(state, names={**state.names, event.agent: event.row.name})
            return _with_row(state, event.row)
        case AgentRemoved() if event.agent in state.rows:
            return _without_program(state, event.agent)
        case _:
            return state


def _with_row(state: ApprovalsState, row: AgentRow) -> ApprovalsState:
    """The state with exactly the question that this program asks now, if it asks one."""
    asks = row.question if row.status == "waiting" and not row.ended and not row.killed else None
    before = state.rows.get(row.id)
    if asks is None:
        return state if before is None else _without_program(state, row.id)
    request = program_request(row, asks)
    if before is not None and before.question == asks:
        return state
    place = len(state.waiting)
    if before is not None:  # the next question of the same program stands in the same place
        place = next((n for n, one in enumerate(state.waiting) if one.approval in _ids(state, row.id)), place)
        front = state.front in _ids(state, row.id)
        state = _without_program(state, row.id)
        state = replace(state, front=request.approval) if front else state
    waiting = (*state.waiting[:place], request, *state.waiting[place:])
    programs = {**state.programs, request.approval: asks}
    rows = {**state.rows, row.id: row}
    return replace(state, waiting=waiting, programs=programs, rows=rows, front=state.front or request.approval)


def _ids(state: ApprovalsState, agent: str) -> set[str]:
    return {one.approval for one in state.waiting if one.agent == agent and one.approval in state.programs}


def _without_program(state: ApprovalsState, agent: str) -> ApprovalsState:
    """Without a program's question. The same one may come again."""
    closed = state.closed
    for id in _ids(state, agent):
        state = without_question(state, id)
    programs = {id: asked for id, asked in state.programs.items() if not id.startswith(f"{agent}/")}
    rows = {id: row for id, row in state.rows.items() if id != agent}
    answering = "" if state.answering.startswith(f"{agent}/") else state.answering
    return replace(state, closed=closed, programs=programs, rows=rows, answering=answering)


def being_answered(state: ApprovalsState, approval: str) -> ApprovalsState:
    """With this program's question out of sight: its answer is on its way."""
    return replace(without_question(state, approval), closed=state.closed, answering=approval)


def not_answered(state: ApprovalsState, approval: str) -> ApprovalsState:
    """With the question in its place again, if it is still asked: the answer did not arrive."""
    asked, row = state.programs.get(approval), state.rows.get(approval.partition("/")[0])
    state = replace(state, answering="" if state.answering == approval else state.answering)
    if asked is None or row is None or any(one.approval == approval for one in state.waiting):
        return state
    return replace(state, waiting=(program_request(row, asked), *state.waiting), front=approval)


def turned_to_agent(state: ApprovalsState, agent: str) -> ApprovalsState:
    """Bring an agent's first question to the front, if it asks one."""
    found = next((one.approval for one in state.waiting if one.agent == agent), "")
    return replace(state, front=found) if found and found != state.front else state


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
