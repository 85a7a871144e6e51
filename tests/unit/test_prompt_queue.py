"""The prompts that wait."""

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptEdited, PromptQueued, PromptWithdrawn, TurnStarted
from gshtui.ui.prompt.prompt_queue import QueueState, reduce_queue


def after(*events: Event) -> QueueState:
    state = QueueState()
    for event in events:
        state = reduce_queue(state, event)
    return state


def queued(*names: str) -> list[Event]:
    return [PromptQueued(prompt=name, agent="main", text=f"do {name}") for name in names]


def shown(state: QueueState) -> list[str]:
    return [waiting.text for waiting in state.waiting]


def test_in_the_order_in_which_they_came() -> None:
    assert shown(after(*queued("a", "b"))) == ["do a", "do b"]


def test_a_changed_prompt_keeps_its_place() -> None:
    assert shown(after(*queued("a", "b"), PromptEdited(prompt="a", agent="main", text="else"))) == ["else", "do b"]


def test_taken_or_taken_back() -> None:
    start = TurnStarted(agent="main", session="s", turn="t", prompt="a")
    assert shown(after(*queued("a", "b", "c"), start, PromptWithdrawn(prompt="c", agent="main"))) == ["do b"]


def test_what_is_not_there_changes_nothing() -> None:
    state = after(*queued("a"))
    start = TurnStarted(agent="main", session="s", turn="t", prompt="x")
    assert reduce_queue(state, start) is state
    assert reduce_queue(state, PromptEdited(prompt="x", agent="main", text="y")) is state


def test_a_replayed_event_adds_nothing() -> None:
    assert shown(after(*queued("a"), *queued("a"))) == ["do a"]
