"""One reducer for every agent's row: figures, conversations, and what ends an agent in a terminal."""

from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.agent_reducer import REPORT_LENGTH, apply_event, differences, local_row
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    ModelChanged,
    ProviderRetried,
    TurnFinished,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Usage

LOCAL = local_row("main", 5.0)
TERMINAL = AgentRow(id="0001", name="scout", session="s1", status="thinking", status_at=5.0)


def used(tokens: int, cost: float | None) -> UsageReported:
    return UsageReported(
        agent="main", session="s", turn="t", iteration=1, provider="p", model="m", usage=Usage(input=tokens), cost=cost
    )


def after(row: AgentRow, *events: Event) -> AgentRow:
    for event in events:
        row = apply_event(row, event)
    return row


def test_one_unknown_price_makes_the_sum_unknown_for_good() -> None:
    for row in (LOCAL, TERMINAL):
        assert after(row, used(10, 0.5), used(20, 0.25)).cost == 0.75
        unknown = after(row, used(10, 0.5), used(20, None), used(5, 0.25))
        assert (unknown.cost, unknown.tokens, unknown.context) == (None, 35, 5)


def test_another_conversation_of_a_window_counts_anew_and_the_same_one_goes_on() -> None:
    row = after(LOCAL, SessionOpened(session="s1", agent="main"), used(10, 0.5))
    assert apply_event(row, SessionOpened(session="s1", agent="main")) is row
    fresh = after(row, SessionOpened(session="s2", agent="main"))
    assert (fresh.session, fresh.tokens, fresh.context, fresh.cost) == ("s2", 0, 0, 0.0)
    kept = after(TERMINAL, used(10, 0.5), SessionOpened(session="s2", agent="0001"))
    assert (kept.session, kept.tokens, kept.cost) == ("s2", 10, 0.5)


def test_an_agent_in_a_terminal_is_over_when_its_process_is_and_not_by_its_word() -> None:
    done = AgentStatusChanged(agent="0001", status="done", source="event", doing="", at=9.0)
    assert (after(TERMINAL, done).status, after(TERMINAL, done).status_at) == ("thinking", 5.0)
    assert after(LOCAL, done).status == "done"
    lost = AgentStatusChanged(agent="0001", status="lost", at=9.0)
    assert (after(TERMINAL, lost).status, after(TERMINAL, lost).status_at) == ("lost", 9.0)


def test_the_age_of_a_status_is_since_it_first_held() -> None:
    first = AgentStatusChanged(agent="main", status="tool", doing="a", at=7.0)
    again = AgentStatusChanged(agent="main", status="tool", doing="b", at=8.0)
    row = after(LOCAL, first, again)
    assert (row.status, row.status_at, row.doing) == ("tool", 7.0, "b")


def test_what_else_events_say() -> None:
    added = AgentAdded(agent="0002", name="echo", kind="cli", runtime="tmux", parent="main", cwd="/p")
    row = apply_event(local_row("0002", 1.0), added)
    assert (row.name, row.kind, row.runtime, row.parent, row.cwd) == ("echo", "cli", "tmux", "main", "/p")
    thinks = AgentStatusChanged(agent="main", status="thinking")
    waits = ProviderRetried(agent="main", provider="p", attempt=2, wait=3, why="busy")
    retried = apply_event(after(LOCAL, thinks), waits)
    assert (retried.state, retried.doing) == ("retrying", "busy")
    assert after(retried, thinks).state == "thinking"
    long = TurnFinished(agent="main", session="s", turn="t", stop="end", text="x" * (REPORT_LENGTH + 1))
    assert len(apply_event(LOCAL, long).report) == REPORT_LENGTH
    failed = TurnFinished(agent="main", session="s", turn="t", stop="error", error="no key")
    stopped = TurnFinished(agent="main", session="s", turn="t", stop="interrupted")
    assert [after(LOCAL, failed).said, after(LOCAL, failed, stopped).said] == ["no key", "Interrupted."]
    rests = replace(after(LOCAL, stopped), status="idle", unread=1)
    assert after(rests, long).state == "done"
    assert (rests.state_words, rests.finished, after(rests, failed).state) == ("interrupted", False, "failed")
    asked = ApprovalRequested(approval="a", agent="main", session="s", call="c", tool="bash", effect="x", subject="ls")
    changed = apply_event(LOCAL, asked)
    assert differences(LOCAL, changed) == {"needs_you": True}
    assert differences(LOCAL, LOCAL) == {}
    model = apply_event(LOCAL, ModelChanged(agent="main", provider="p", model="m", window=9))
    assert (model.provider, model.model, model.window) == ("p", "m", 9)


def test_an_agent_in_a_terminal_whose_turn_has_failed_rests() -> None:
    """Its process is there, and takes the next prompt; that it ended would be told by its terminal."""
    row = AgentRow(id="0001", name="fix", status="thinking", status_at=1.0)
    event = AgentStatusChanged(agent="0001", status="failed", source="event", doing="the model cannot be reached")
    after = apply_event(row, event)
    assert (after.status, after.doing) == ("idle", "the model cannot be reached")
