"""What a window that comes to a running hub is told: a few states and the turn in progress, never all that was."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gshtui.agents.agent_snapshot import AgentSnapshot
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    MessageAppended,
    PromptQueued,
    PromptWithdrawn,
    TextDelta,
    ThinkingDelta,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import MessageQueued, MessageSubmitted
from gshtui.bus.events.hub_events import HubStarted, Noticed
from gshtui.bus.events.session_events import SessionOpened, SessionTitled
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.bus.messages import Message, Text
from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.subscription import merged
from gshtui.hub.faces.window_history import WindowHistory


def told(*events: Event) -> list[Event]:
    history = WindowHistory()
    for event in events:
        history.note(event)
    return list(history.events())


STARTED = HubStarted(cwd="/p", project="/p", branch="main")
OPENED = SessionOpened(session="s", agent="main")


def turn(number: int, *, ends: bool = True) -> list[Event]:
    name, words = f"t{number}", [TextDelta(agent="main", session="s", message="m", text=text) for text in ("a", "b")]
    message = Message(f"m{number}", "assistant", (Text("ab"),))
    begun = [TurnStarted(agent="main", session="s", turn=name, prompt=name), *words]
    if not ends:
        return begun
    done = MessageAppended(agent="main", session="s", message=message)
    return [*begun, done, TurnFinished(agent="main", session="s", turn=name, stop="end")]


def test_turns_that_are_over_are_left_to_the_record() -> None:
    events = told(STARTED, OPENED, *turn(1), *turn(2))
    assert [type(event) for event in events] == [HubStarted, SessionOpened]
    opened = events[1]
    assert isinstance(opened, SessionOpened) and opened.joined and opened.messages == 1


def test_the_turn_in_progress_is_told_with_its_words_as_one() -> None:
    events = told(STARTED, OPENED, *turn(1), *turn(2, ends=False), AgentStatusChanged(agent="main", status="thinking"))
    assert [type(event) for event in events] == [HubStarted, SessionOpened, TurnStarted, TextDelta, AgentStatusChanged]
    assert isinstance(events[3], TextDelta) and events[3].text == "ab"


def test_an_open_question_is_told_and_an_answered_one_is_not() -> None:
    asked = [
        ApprovalRequested(
            approval=name, agent="main", session="s", call=name, tool="bash", effect="execute", subject="make"
        )
        for name in "ab"
    ]
    answered = ApprovalSettled(approval="a", agent="main", call="a", decision="once")
    events = told(
        STARTED, OPENED, *turn(1, ends=False), *asked, answered, ApprovalAnswered(approval="a", decision="once")
    )
    assert [event.approval for event in events if isinstance(event, ApprovalRequested)] == ["b"]
    assert not any(isinstance(event, ApprovalAnswered) for event in events)


def test_what_waits_is_told_until_it_has_begun_or_was_withdrawn() -> None:
    queued = [PromptQueued(agent="main", prompt=prompt, text=prompt) for prompt in ("a", "b", "t1")]
    events = told(STARTED, OPENED, *queued, PromptWithdrawn(agent="main", prompt="a"), *turn(1, ends=False))
    assert [event.prompt for event in events if isinstance(event, PromptQueued)] == ["b"]


def test_a_title_comes_behind_its_conversation_and_notices_are_not_said_twice() -> None:
    events = told(STARTED, OPENED, Noticed(level="warning", text="once"), SessionTitled(session="s", title="The title"))
    assert [type(event) for event in events] == [HubStarted, SessionOpened, SessionTitled]


def test_another_conversation_leaves_nothing_of_the_one_before() -> None:
    queued = PromptQueued(agent="main", prompt="p", text="p")
    events = told(STARTED, OPENED, queued, *turn(1), SessionOpened(session="s2", agent="main"))
    assert [event.session for event in events if isinstance(event, SessionOpened)] == ["s2"]


def test_commands_of_shells_are_left_to_the_record() -> None:
    ran = [ShellRecorded(record=ShellRecord(shell="s", number=number)) for number in range(3)]
    assert [type(event) for event in told(STARTED, OPENED, *ran)] == [HubStarted, SessionOpened]


@given(st.lists(st.sampled_from(["words", "thought", "tool"]), max_size=30), st.data())
def test_a_new_hub_is_told_what_an_earlier_one_has_and_nothing_twice(kinds: list[str], data: st.DataObject) -> None:
    about: dict[str, Any] = {"agent": "main", "session": "s", "message": "m"}
    events: list[Event] = [TurnStarted(agent="main", session="s", turn="t", prompt="t")]
    for at, kind in enumerate(kinds):
        match kind:
            case "words":
                events.append(TextDelta(text=f"{at} ", **about))
            case "thought":
                events.append(ThinkingDelta(text=f"{at} ", **about))
            case _:
                events.append(ToolStarted(call=f"c{at}", tool="bash", **about))
    snapshot = AgentSnapshot()
    for number, event in enumerate(events, 1):
        snapshot.note(number, event)
    delivered = data.draw(st.integers(0, len(events)))
    assert list(snapshot.undelivered_events(delivered)) == list(merged(events[:delivered]))
    assert snapshot.turn_events() == list(merged(events))


def test_a_message_that_was_sent_does_not_wait_for_a_later_window() -> None:
    events = [MessageQueued(message="m", agent="0001"), MessageSubmitted(message="m", agent="0001")]
    assert told(*events) == events
