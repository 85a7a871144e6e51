"""What the line under the input says."""

from typing import Any

import pytest

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    Status,
    TextDelta,
    ThinkingDelta,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandStarted
from gshtui.ui.prompt.prompt_status import FAILED, StatusState, doing, reduce_status, waits

START = TurnStarted(at=100.0, agent="main", session="s", turn="t", prompt="p")


def after(*events: Event) -> StatusState:
    state = StatusState("main")
    for event in events:
        state = reduce_status(state, event)
    return state


def test_a_turn_from_start_to_end() -> None:
    state = after(START)
    assert (state.busy, doing(state), state.since) == (True, "Thinking", 100.0)
    state = reduce_status(state, AgentStatusChanged(agent="main", status="tool", doing="bash ls"))
    assert doing(state) == "Working: bash ls"
    state = reduce_status(state, TurnFinished(agent="main", session="s", turn="t", stop="end"))
    assert (state.busy, state.ended) == (False, "")


def test_an_answer_that_streams_says_how_fast() -> None:
    def piece(at: float, length: int) -> Event:
        return TextDelta(at=at, agent="main", session="s", message="m", text="x" * length)

    state = after(START, piece(101.0, 900), TextDelta(at=101.0, agent="other", session="s", message="n", text="y"))
    assert doing(state) == "Writing"
    state = reduce_status(reduce_status(state, piece(102.0, 160)), piece(103.0, 160))
    assert doing(state) == "Writing · ~40 tokens/s", "what came with the first piece took another time"
    thinks = ThinkingDelta(at=104.0, agent="main", session="s", message="m", text="hm")
    assert doing(reduce_status(state, thinks)) == "Thinking"
    assert doing(reduce_status(state, AgentStatusChanged(agent="main", status="tool", doing="ls"))) == "Working: ls"


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (TurnFinished(agent="main", session="s", turn="t", stop="interrupted"), ""),
        (TurnFinished(agent="main", session="s", turn="t", stop="error", error="No key."), FAILED),
    ],
)
def test_how_it_ended_badly(event: Event, says: str) -> None:
    assert after(START, event).ended == says
    assert after(START, event, START).ended == ""


def test_a_retry_is_said_until_it_goes_on() -> None:
    retry = ProviderRetried(at=101.0, agent="main", provider="x", attempt=1, wait=4.2, why="overloaded", most=10)
    seen = [doing(after(START, retry), now) for now in (101.0, 103.5, 105.5)]
    assert seen == [f"{words} · 2 of 10" for words in ("Trying again in 5 s", "Trying again in 2 s", "Trying again")]
    assert doing(after(START, retry, AgentStatusChanged(agent="main", status="thinking"))) == "Thinking"


def test_what_waits() -> None:
    queue = [PromptQueued(prompt=name, agent="main", text="x") for name in "abc"]
    state = after(START, *queue, PromptWithdrawn(prompt="a", agent="main"))
    assert waits(state) == ["2 queued"]


def test_others_are_not_shown() -> None:
    state = after()
    assert reduce_status(state, TurnStarted(agent="other", session="s", turn="t", prompt="p")) is state


def test_commands_of_the_person_run_beside_turns() -> None:
    who: dict[str, Any] = {"agent": "main", "session": "s"}
    state = after(
        InputCommandStarted(run="1", command="make", at=5.0, **who),
        InputCommandStarted(run="2", command="ls", at=6.0, **who),
        START,
    )
    assert [(one.command, one.since) for one in state.running] == [("make", 5.0), ("ls", 6.0)]
    state = reduce_status(state, InputCommandFinished(run="1", status="ok", **who))
    assert [one.command for one in state.running] == ["ls"]


def test_a_command_and_a_question_are_timed_from_their_own_beginning_and_a_turn_from_its() -> None:
    """A command's figure is that of the list of agents and of the shell log: what a person took to answer is in none.
    Beside a question stands for how long it has waited.
    """
    state = after(START)
    seen = [state.counts_from]
    told: list[tuple[float, Status, str]] = [
        (101.0, "tool", "bash"),
        (102.0, "waiting", "approval"),
        (112.0, "tool", "bash"),
        (113.0, "tool", "bash"),
        (120.0, "thinking", ""),
    ]
    for at, status, words in told:
        changed = AgentStatusChanged(agent="main", status=status, doing=words, at=at)
        state = reduce_status(state, changed)
        seen.append(state.counts_from)
    assert seen == [100.0, 101.0, 102.0, 112.0, 112.0, 100.0]
