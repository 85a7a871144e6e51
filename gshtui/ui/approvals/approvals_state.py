"""The state of the approvals inbox: the open questions, and the one in front.

Pure: `(state, event) → state`. Fed by `ApprovalsPane`. The question in front stays there while it waits,
whatever else comes or goes, so that an answer always belongs to the question that was read.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.hub_events import HubStarted
from gshtui.guard.approval import open_approvals
from gshtui.guard.approval.answer_keys import VALUES, Choice, Offer, numbered, program_offers
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.guard.approval.question_text import program_request
from gshtui.system.json_types import is_object

FORM_TOOL = "mcp_question"
"""The tool of questions that a server asks the person; they may ask for values."""


class ApprovalsState(msgspec.Struct, frozen=True):
    """`front` is the id of the question that is shown."""

    open: OpenApprovals = OpenApprovals()
    front: str = ""
    answering: str = ""
    """The program's question that is being answered; it is not shown meanwhile."""
    home: str = ""
    """This window's folder."""

    @property
    def waiting(self) -> tuple[ApprovalRequested, ...]:
        """The open questions: those of this folder's agents first, each in order of arrival."""
        if not self.programs:
            return self.open.waiting
        return tuple(sorted(self.open.waiting, key=lambda one: bool(self.elsewhere(one))))

    def elsewhere(self, request: ApprovalRequested) -> str:
        """The folder of the agent that asks, where that is not this window's."""
        row = self.open.rows.get(request.agent)
        return row.home if row is not None and self.home and row.home != self.home else ""

    @property
    def names(self) -> dict[str, str]:
        """Names of agents in terminals, by number."""
        return self.open.names

    @property
    def programs(self) -> dict[str, OpenQuestion]:
        """Those of the waiting questions that other vendors' programs ask, by id."""
        return self.open.programs

    @property
    def shown(self) -> ApprovalRequested | None:
        """The question in front."""
        return self.open.find(self.front)

    @property
    def numbered(self) -> tuple[Offer, ...]:
        """The answers to the question in front, and in its own place each that it has not."""
        if (asked := self.programs.get(self.front)) is not None:
            return program_offers(asked)
        return numbered(self.shown, form=bool(asked_fields(self.shown))) if self.shown is not None else ()

    @property
    def offered(self) -> tuple[Offer, ...]:
        """The answers to the question in front."""
        return tuple(offer for offer in self.numbered if not offer.why)

    @property
    def once(self) -> str:
        """The answer that allows once what is in front; empty: there is none."""
        if (asked := self.programs.get(self.front)) is not None:
            return next((one.key for one in asked.choices if one.means == "once"), "")
        return next((offer.choice for offer in self.offered if offer.choice == "once"), "")

    @property
    def takes_reason(self) -> bool:
        """Whether what is in front can be denied with a reason."""
        return any(offer.choice == "reason" for offer in self.offered)

    @property
    def place(self) -> int:
        """Number of the question in front, from 1; 0: none waits."""
        return next((n for n, r in enumerate(self.waiting, 1) if r.approval == self.front), 0)


_CHOICES: dict[str, Choice] = {
    f"answer('{choice}')": choice for choice in ("once", "session", "always", "deny", "reason")
}


def choice_of_key(state: ApprovalsState, action: str, letter: str) -> str | None:
    """What a key answers: a program's choices have their own numbers. `action`: of a key of the person's own."""
    offered = next((offer.choice for offer in state.numbered if offer.key == letter), "")
    if offered or letter.isdecimal() or state.front in state.programs:
        return offered or (letter if letter.isdecimal() else None)
    found = _CHOICES.get(action)
    has_form = any(offer.choice == VALUES for offer in state.offered)
    return VALUES if has_form and found == "once" else found


def asked_fields(request: ApprovalRequested) -> dict[str, Any]:
    """The schema of each value that a question asks for, by name; empty: it asks for none."""
    fields: object = request.arguments.get("fields") if request.tool == FORM_TOOL else None
    return fields if is_object(fields) else {}


def reduce_approvals(state: ApprovalsState, event: Event) -> ApprovalsState:
    """The state after the event; the same object when nothing changed."""
    if isinstance(event, HubStarted):
        return replace(state, home=event.cwd)
    changed = _with_open(state, open_approvals.apply_event(state.open, event))
    agent = state.answering.partition("/")[0]
    if agent and agent in state.open.rows and changed.open.rows.get(agent) is not state.open.rows[agent]:
        return replace(changed, answering="")  # it asks something else now, or nothing
    return changed


def being_answered(state: ApprovalsState, approval: str) -> ApprovalsState:
    """With this program's question out of sight: its answer is on its way."""
    left = replace(open_approvals.without_question(state.open, approval), closed=state.open.closed)
    return replace(_with_open(state, left), answering=approval)


def not_answered(state: ApprovalsState, approval: str) -> ApprovalsState:
    """With the question in its place again, if it is still asked: the answer did not arrive."""
    asked, row = state.programs.get(approval), state.open.rows.get(approval.partition("/")[0])
    state = replace(state, answering="" if state.answering == approval else state.answering)
    if asked is None or row is None or state.open.find(approval) is not None:
        return state
    again = replace(state.open, waiting=(program_request(row, asked), *state.waiting))
    return replace(state, open=again, front=approval)


def turned_to_agent(state: ApprovalsState, agent: str) -> ApprovalsState:
    """Bring an agent's first question to the front, if it asks one."""
    found = next((one.approval for one in state.open.of_agent(agent)), "")
    return replace(state, front=found) if found and found != state.front else state


def turned_where_person_is(state: ApprovalsState, agent: str, *, changed: bool) -> ApprovalsState:
    """Bring a question of the agent whose tab is in front to the front; where there is none, and questions have
    changed, the first one of this folder instead of another folder's.
    """
    if agent and (state.shown is None or state.shown.agent != agent):
        state = turned_to_agent(state, agent)
    shown, first = state.shown, next(iter(state.waiting), None)
    if not changed or shown is None or first is None or shown.agent == agent:
        return state
    return replace(state, front=first.approval) if state.elsewhere(shown) and not state.elsewhere(first) else state


def without_question(state: ApprovalsState, approval: str) -> ApprovalsState:
    """Close a question: the next one comes to the front, or the last one if there is no next."""
    return _with_open(state, open_approvals.without_question(state.open, approval))


def turned_to(state: ApprovalsState, by: int) -> ApprovalsState:
    """Bring the question `by` places further to the front, wrapping around."""
    if len(state.waiting) < 2:
        return state
    place = (state.place - 1 + by) % len(state.waiting)
    return replace(state, front=state.waiting[place].approval)


def _with_open(state: ApprovalsState, now: OpenApprovals) -> ApprovalsState:
    """With these questions; if the one in front is closed, the one that took its place comes to the front."""
    if now is state.open:
        return state
    changed = replace(state, open=now)
    if changed.shown is None:
        waiting = changed.waiting
        front = waiting[min(max(state.place - 1, 0), len(waiting) - 1)].approval if waiting else ""
        return replace(changed, front=front)
    return changed


def how_same(before: ApprovalsState, now: ApprovalsState) -> Literal["", "redrawn", "completed"]:
    """Whether in front is the same question of a program as before, with another box ticked or drawn for a terminal of
    another width; or with more that is told of it."""
    was, asked = before.programs.get(before.front), now.programs.get(now.front)
    if was is None or asked is None or before.front.partition("/")[0] != now.front.partition("/")[0]:
        return ""
    from gshtui.programs.screen import same_question as same  # no first frame has one

    if same.is_completed(was, asked):
        return "completed" if was.partial else "redrawn"
    return "redrawn" if same.is_ticked_elsewhere(was, asked) or same.is_cut_elsewhere(was, asked) else ""
