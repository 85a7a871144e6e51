"""The questions that wait."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.agent_data import AgentRow, OpenQuestion, QuestionChoice
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged, AgentRemoved
from gshtui.guard.approval.question_text import question_title
from gshtui.ui.approvals.approvals_state import (
    ApprovalsState,
    being_answered,
    not_answered,
    reduce_approvals,
    turned_to,
    turned_to_agent,
    without_question,
)
from tests.kit.prompt_host import make_question


def settled(number: int) -> ApprovalSettled:
    return ApprovalSettled(approval=f"a{number}", agent="main", call=f"c{number}", decision="withdrawn")


def asked(*numbers: int) -> ApprovalsState:
    state = ApprovalsState()
    for number in numbers:
        state = reduce_approvals(state, make_question(number))
    return state


def test_the_first_one_stays_in_front() -> None:
    state = asked(1, 2, 3)
    assert (state.front, state.place, len(state.waiting)) == ("a1", 1, 3)
    assert reduce_approvals(state, settled(3)).front == "a1"
    assert reduce_approvals(state, settled(1)).front == "a2"


def test_the_last_one_goes_back_to_the_one_before() -> None:
    state = turned_to(asked(1, 2), 1)
    assert state.front == "a2"
    assert reduce_approvals(state, settled(2)).front == "a1"
    assert reduce_approvals(reduce_approvals(state, settled(2)), settled(1)).shown is None


def test_turning_goes_round() -> None:
    state = asked(1, 2, 3)
    assert [turned_to(state, by).front for by in (1, 2, 3, -1)] == ["a2", "a3", "a1", "a3"]
    assert turned_to(asked(1), 1).front == "a1"


def test_an_answered_question_does_not_come_back() -> None:
    state = without_question(asked(1), "a1")
    assert reduce_approvals(state, make_question(1)).shown is None
    settled_first = reduce_approvals(ApprovalsState(), settled(5))
    assert reduce_approvals(settled_first, make_question(5)).shown is None


@given(st.lists(st.tuples(st.sampled_from(["ask", "settle", "turn"]), st.integers(1, 6))))
def test_something_is_in_front_while_something_waits(steps: list[tuple[str, int]]) -> None:
    state = ApprovalsState()
    waiting: set[str] = set()
    closed: set[str] = set()
    for what, number in steps:
        name = f"a{number}"
        if what == "ask":
            waiting |= {name} - closed
            state = reduce_approvals(state, make_question(number))
        elif what == "settle":
            waiting.discard(name)
            closed.add(name)
            state = reduce_approvals(state, settled(number))
        else:
            state = turned_to(state, number)
        assert {request.approval for request in state.waiting} == waiting
        assert (state.shown is not None) == bool(waiting)
        assert len(state.waiting) == len(waiting)


def test_an_agent_in_a_terminal_is_called_by_its_name() -> None:
    request = msgspec.structs.replace(make_question(1), agent="0002")
    state = reduce_approvals(reduce_approvals(ApprovalsState(), request), settled(7))
    assert question_title(request, state.names.get("0002", "")).startswith("0002 wants to")
    row = AgentRow(id="0002", name="lexer\x1b[1m")
    state = reduce_approvals(state, AgentChanged(agent="0002", row=row))
    assert reduce_approvals(state, AgentChanged(agent="0002", row=row)) is state, (
        "nothing is drawn again for what is known"
    )
    named = question_title(request, state.names["0002"])
    assert named.startswith("lexer") and " wants to" in named and named.isprintable()
    assert without_question(state, "a1").names == state.names


def program(agent: int, asks: str, status: str = "waiting") -> AgentChanged:
    """A program that asks this; empty: nothing."""
    question = OpenQuestion(asks, f"{asks}?", choices=(QuestionChoice("1", "Yes"),)) if asks else None
    row = AgentRow(id=f"{agent:04}", name=f"it-{agent}", kind="cli", status=status, question=question)
    return AgentChanged(agent=row.id, row=row)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["asks", "asks", "ask", "answer", "fails", "turn", "go", "removed"]),
            st.integers(1, 3),
            st.sampled_from(["", "a", "b"]),
        ),
        max_size=40,
    )
)
def test_a_program_has_its_one_question_in_the_list_for_as_long_as_it_asks(steps: list[tuple[str, int, str]]) -> None:
    state, asks, answering = ApprovalsState(), dict[str, str](), set[str]()
    for what, number, question in steps:
        agent = f"{number:04}"
        id = f"{agent}/{asks.get(agent, '')}"
        match what:
            case "asks":
                state = reduce_approvals(state, program(number, question))
                if asks.get(agent, "") != question:
                    answering.discard(agent)
                asks[agent] = question
            case "ask":
                state = reduce_approvals(state, make_question(number))
            case "answer" if asks.get(agent) and agent not in answering:
                state = being_answered(state, id)
                answering.add(agent)
            case "fails" if agent in answering:
                state = not_answered(state, id)
                answering.discard(agent)
            case "turn":
                state = turned_to(state, 1)
            case "go":
                state = turned_to_agent(state, agent)
                if asks.get(agent) and agent not in answering:
                    assert state.front == id
            case "removed":
                state = reduce_approvals(state, AgentRemoved(agent=agent))
                asks.pop(agent, None)
                answering.discard(agent)
            case _:
                pass
        shown = [one.approval for one in state.waiting if "/" in one.approval]
        wanted = {f"{agent}/{asked}" for agent, asked in asks.items() if asked and agent not in answering}
        assert sorted(shown) == sorted(wanted)
        assert bool(state.front) == bool(state.waiting)
        assert (state.shown is not None) == bool(state.waiting)


def test_a_program_offers_its_own_choices_and_its_tab() -> None:
    state = reduce_approvals(asked(1), program(7, "a"))
    assert [offer.choice for offer in state.offered] == ["once", "session", "always", "deny", "reason"]
    state = turned_to_agent(state, "0007")
    assert [(offer.key, offer.choice, offer.words[0]) for offer in state.offered] == [
        ("1", "1", "Yes"),
        ("0", "open", "open its tab"),
    ]
    assert reduce_approvals(state, program(7, "a", status="done")).front == "a1"
