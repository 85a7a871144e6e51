"""The pairing rule: whatever the log holds, a request holds each call with exactly one result right behind it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.context.log.conversation_log import missing_results
from tests.kit.pairing import paired

_ids = st.sampled_from([f"c{i}" for i in range(6)])
_calls = st.lists(_ids, max_size=4).map(lambda ids: tuple(ToolCall(i, "look", {}) for i in ids))
_results = st.lists(_ids, max_size=4).map(lambda ids: tuple(ToolResult(i, "look", "ok") for i in ids))


def _log(kinds: list[tuple[str, tuple[ToolCall, ...], tuple[ToolResult, ...]]]) -> list[Message]:
    log: list[Message] = []
    for n, (kind, calls, results) in enumerate(kinds):
        # Ids of calls are unique to their answer, as providers make them.
        own = tuple(ToolCall(f"{n}-{c.id}", c.name) for c in calls)
        if kind == "user":
            log.append(Message(f"m{n}", "user", (Text("hello"),)))
        elif kind == "assistant":
            log.append(Message(f"m{n}", "assistant", (Text("yes"), *own)))
        else:
            taken = tuple(ToolResult(f"{n - 1}-{r.call_id}", "look", "ok") for r in results)
            log.append(Message(f"m{n}", "tool", taken))
    return log


_logs = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), _calls, _results), max_size=20).map(_log)


@given(_logs)
def test_every_call_has_its_one_result_next(log: list[Message]) -> None:
    sendable = paired(log)
    seen: set[str] = set()
    for at, message in enumerate(sendable):
        assert message.blocks
        if message.role == "tool":
            assert at > 0
            assert [r.call_id for r in message.results] == [c.id for c in sendable[at - 1].calls]
        for made in message.calls:
            assert made.id not in seen
            seen.add(made.id)
            assert sendable[at + 1].role == "tool"
    kept = [m.id for m in sendable if m.role != "tool"]
    assert kept == [m.id for m in log if m.role != "tool"]


@given(_logs)
def test_it_is_a_function_of_the_log(log: list[Message]) -> None:
    assert paired(log) == paired(list(log))
    assert paired(paired(log)) == paired(log)


@given(_logs)
def test_closing_closes_the_last_answer(log: list[Message]) -> None:
    closing = missing_results(log)
    if closing is not None:
        assert missing_results([*log, closing]) is None
        assert all(result.status == "lost" for result in closing.results)
