"""The agent loop on a scripted provider: what a turn records and publishes, and every way in which it can go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.conversation import MemoryRecord
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    ContextAssembled,
    InterruptRequested,
    MessageAppended,
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptWithdrawn,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled, Decision
from gshtui.bus.messages import Message, Text
from gshtui.providers.port import ProviderError
from gshtui.store.store_errors import StoreError
from tests.kit.office import Office
from tests.kit.scripted import Hang, ScriptedProvider, call

Open = Callable[..., Awaitable[Office]]


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Open]:
    offices: list[Office] = []

    async def make(provider: ScriptedProvider, **options: Any) -> Office:
        offices.append(Office(tmp_path, provider, **options))
        return offices[-1]

    yield make
    for made in offices:
        await made.close()


async def test_a_turn_answers_and_records(office: Open) -> None:
    here = await office(ScriptedProvider([call("look", text="a")], ["It is ", "fine."]))
    finished = await here.ask("How is it?")
    assert (finished.stop, finished.text, finished.error) == ("end", "It is \n\nfine.", "")
    assert finished.usage.input == 200
    assert finished.cost == pytest.approx(2 * (100 * 1.0 + 10 * 2.0) / 1e6)
    roles = [event.message.role for event in here.recorder.of(MessageAppended)]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert [m.role for m in await here.record.load("s1")] == roles
    assert [e.iteration for e in here.recorder.of(ContextAssembled)] == [1, 2]
    assert len(here.recorder.of(UsageReported)) == 2
    assert "".join(e.text for e in here.recorder.of(TextDelta)) == "It is fine."
    order = [type(e).__name__ for e in here.recorder.events if isinstance(e, TurnStarted | ToolStarted | TurnFinished)]
    assert order == ["TurnStarted", "ToolStarted", "TurnFinished"]
    assert here.recorder.of(AgentStatusChanged)[-1].status == "idle"


async def test_the_second_request_carries_the_result(office: Open) -> None:
    provider = ScriptedProvider([call("look", "c1", text="a")], ["done"])
    here = await office(provider)
    await here.ask("look")
    assert [m.role for m in provider.requests[1].messages] == ["user", "assistant", "tool"]
    assert provider.requests[1].messages[-1].results[0].content == "saw a"
    assert [tool.name for tool in provider.requests[0].tools] == ["act", "look"]


async def test_reads_run_in_parallel_and_acts_in_order(office: Open) -> None:
    calls = [call("look", str(i), text=str(i)) for i in range(3)]
    acts = [call("act", f"a{i}", command=f"do {i}") for i in range(2)]
    here = await office(ScriptedProvider([*calls, *acts], ["ok"]), auto_approve=frozenset({"act"}))
    await here.ask("all")
    assert here.most_running == 3
    assert here.ran[-2:] == ["act do 0", "act do 1"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (call("lok"), "Did you mean look"),
        (call("hidden"), "not among your tools"),
        (call("look", broken='{"text": "a'), "did not arrive as one JSON object"),
        (call("look", txt="a"), "did you mean 'text'"),
        (call("look", text="broken"), "It is broken. Mend it."),
        (call("look", text="bug"), "RuntimeError: a bug"),
    ],
)
async def test_a_call_that_cannot_run_is_answered_so(office: Open, made: Any, said: str) -> None:
    here = await office(ScriptedProvider([made], ["I see."]))
    finished = await here.ask("go")
    assert finished.stop == "end"
    (result,) = here.recorder.of(ToolFinished)
    assert result.status == "error"
    assert said in result.content


async def test_a_long_output_is_shortened_and_kept(office: Open) -> None:
    here = await office(ScriptedProvider([call("look", text="long")], ["ok"]))
    await here.ask("go")
    (result,) = here.recorder.of(ToolFinished)
    assert result.bytes == 5_000
    assert "bytes omitted" in result.content
    assert len(result.content) < 1_100


async def test_a_failure_before_the_answer(office: Open) -> None:
    error = ProviderError("auth", "The key was refused.", hint="Set ANTHROPIC_API_KEY.")
    here = await office(ScriptedProvider([error], ["better"]))
    finished = await here.ask("hello")
    assert (finished.stop, finished.error, finished.error_kind) == ("error", "The key was refused.", "auth")
    assert finished.hint == "Set ANTHROPIC_API_KEY."
    assert (await here.ask("again")).text == "better"


async def test_a_failure_in_the_middle_keeps_the_words(office: Open) -> None:
    error = ProviderError("network", "The connection was lost.", started=True)
    here = await office(ScriptedProvider(["Half an ans", error], ["whole"]))
    finished = await here.ask("hello")
    assert (finished.stop, finished.text) == ("error", "Half an ans")
    kept = (await here.record.load("s1"))[-1]
    assert (kept.role, kept.text, kept.stop) == ("assistant", "Half an ans", "error")
    await here.ask("go on")
    assert [m.role for m in here.provider.requests[1].messages] == ["user", "assistant", "user"]


async def test_an_empty_answer_is_an_error_that_says_so(office: Open) -> None:
    here = await office(ScriptedProvider([], ["something"]))
    finished = await here.ask("hello")
    assert finished.error_kind == "garbage"
    assert (await here.ask("again")).text == "something"


async def test_interrupt_while_it_streams(office: Open) -> None:
    hang = Hang()
    here = await office(ScriptedProvider(["So far", hang], ["next"]))
    waiting = asyncio.create_task(here.ask("hello"))
    await hang.reached.wait()
    here.bus.publish(InterruptRequested(agent="main"))
    finished = await waiting
    assert (finished.stop, finished.text) == ("interrupted", "So far")
    assert (await here.record.load("s1"))[-1].stop == "interrupted"
    assert (await here.ask("again")).text == "next"


async def test_interrupt_while_a_tool_runs(office: Open) -> None:
    calls = [call("act", "a", command="for ever"), call("act", "b", command="never")]
    here = await office(ScriptedProvider(calls, ["next"]), auto_approve=frozenset({"act"}))
    waiting = asyncio.create_task(here.ask("hello"))
    await here.started.wait()
    here.bus.publish(InterruptRequested(agent="main"))
    assert (await waiting).stop == "interrupted"
    assert here.ran == ["act for ever"]
    results = (await here.record.load("s1"))[-1].results
    assert [(r.call_id, r.status) for r in results] == [("a", "cancelled"), ("b", "cancelled")]
    await here.ask("again")
    assert [m.role for m in here.provider.requests[1].messages] == ["user", "assistant", "tool", "user"]


async def test_limits_stop_a_turn(office: Open) -> None:
    for_ever = [[call("look", str(i), text="x")] for i in range(20)]
    here = await office(ScriptedProvider(*for_ever), max_iterations=3)
    finished = await here.ask("go")
    assert (finished.stop, len(here.provider.requests)) == ("max_iterations", 3)
    assert "max_iterations" in finished.hint
    steps = await office(ScriptedProvider(*for_ever), max_steps=2)
    finished = await steps.ask("go")
    assert (finished.stop, len(steps.ran)) == ("max_iterations", 2)
    assert "max_steps" in finished.hint


async def test_a_second_prompt_waits_and_can_be_edited_or_withdrawn(office: Open) -> None:
    hang = Hang()
    here = await office(ScriptedProvider(["one", hang], ["two"], ["three"]))
    await here.say("first")
    await hang.reached.wait()
    second, third = await here.say("second"), await here.say("third")
    await here.bus.wait_for(PromptQueued, lambda e: e.prompt == third, timeout=5)
    here.bus.publish(PromptEditRequested(prompt=second, agent="main", text="second, better"))
    here.bus.publish(PromptEditRequested(prompt=third, agent="main"))
    await here.bus.wait_for(PromptWithdrawn, timeout=5)
    next_end = asyncio.create_task(here.bus.wait_for(TurnFinished, lambda e: e.stop == "end", timeout=5))
    await asyncio.sleep(0)
    here.bus.publish(InterruptRequested(agent="main"))
    assert (await next_end).text == "two"
    await here.bus.drained()
    assert [e.text for e in here.recorder.of(PromptEdited)] == ["second, better"]
    assert here.provider.requests[1].messages[-1].text == "second, better"
    assert len(here.provider.requests) == 2


async def test_a_record_that_fails_stops_the_turn_before_the_model(office: Open) -> None:
    class Full(MemoryRecord):
        async def append(self, session: str, message: Message) -> None:
            raise StoreError("full", "The disk is full.")

    here = await office(ScriptedProvider(["never asked"]), record=Full())
    finished = await here.ask("hello")
    assert (finished.error, finished.error_kind) == ("The disk is full.", "record")
    assert here.provider.requests == []


async def test_a_crash_in_mid_turn_is_repaired_when_opened(office: Open) -> None:
    record = MemoryRecord()
    await record.append("s1", Message("u1", "user", (Text("do it"),), turn="t1"))
    await record.append("s1", Message("a1", "assistant", (call("act", "c1", command="x"),), turn="t1"))

    async def partials(session: str) -> list[Message]:
        return []

    record.partials = partials  # type: ignore[method-assign]
    here = await office(ScriptedProvider(["I see."]), record=record, fresh=False)
    await here.ask("what happened?")
    (request,) = here.provider.requests
    assert [m.role for m in request.messages] == ["user", "assistant", "tool", "user"]
    assert request.messages[2].results[0].status == "lost"


async def _answer(here: Office, decision: Decision, reason: str = "") -> ApprovalRequested:
    asked = await here.bus.wait_for(ApprovalRequested, timeout=5)
    here.bus.publish(ApprovalAnswered(approval=asked.approval, decision=decision, reason=reason))
    return asked


async def _ask_and_answer(here: Office, *decisions: tuple[Decision, str]) -> TurnFinished:
    async def answer_all() -> None:
        for decision, reason in decisions:
            await _answer(here, decision, reason)

    answering = asyncio.create_task(answer_all())
    await asyncio.sleep(0)
    finished = await here.ask("go")
    answering.cancel()
    return finished


async def test_once_asks_each_time(office: Open) -> None:
    act = call("act", "1", command="make")
    here = await office(ScriptedProvider([act], [call("act", "2", command="make")], ["ok"]))
    await _ask_and_answer(here, ("once", ""), ("once", ""))
    assert here.ran == ["act make", "act make"]
    assert len(here.recorder.of(ApprovalRequested)) == 2


async def test_session_allows_the_exact_call_only(office: Open) -> None:
    calls = [[call("act", str(i), command=c)] for i, c in enumerate(("make", "make", "make test"))]
    here = await office(ScriptedProvider(*calls, ["ok"]))
    await _ask_and_answer(here, ("session", ""), ("deny", ""))
    assert here.ran == ["act make", "act make"]


async def test_always_allows_the_pattern(office: Open) -> None:
    calls = [[call("act", str(i), command=c)] for i, c in enumerate(("make a", "make b", "rake"))]
    here = await office(ScriptedProvider(*calls, ["ok"]))
    await _ask_and_answer(here, ("always", ""), ("deny", ""))
    assert here.ran == ["act make a", "act make b"]
    assert await here.grants.allowed("act", "make …")


async def test_a_denial_is_read_by_the_model(office: Open) -> None:
    here = await office(ScriptedProvider([call("act", "c", command="rm x")], ["Understood."]))
    await _ask_and_answer(here, ("deny", "Use the trash."))
    assert here.ran == []
    result = here.provider.requests[1].messages[-1].results[0]
    assert result.status == "denied"
    assert "Use the trash." in result.content


async def test_nobody_to_ask(office: Open) -> None:
    here = await office(ScriptedProvider([call("act", "c", command="x")], ["ok"]), mode="refuse")
    await here.ask("go")
    assert here.ran == []
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["nobody"]


async def test_policy_runs_what_stays_inside_the_project(office: Open) -> None:
    calls = [call("act", "1", command="inside"), call("act", "2", command="outside it")]
    here = await office(ScriptedProvider(calls, ["ok"]), mode="policy")
    await here.ask("go")
    assert here.ran == ["act inside"]
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["once", "deny"]


@pytest.mark.parametrize("mode", ["ask", "policy"])
async def test_a_catastrophe_is_never_run(office: Open, mode: str) -> None:
    made = call("act", "1", command="rm -rf /")
    here = await office(ScriptedProvider([made], ["ok"]), mode=mode, auto_approve=frozenset({"act"}))
    await here.ask("go")
    assert here.ran == []
    assert here.recorder.of(ToolFinished)[0].status == "denied"


async def test_an_interrupt_withdraws_the_question(office: Open) -> None:
    here = await office(ScriptedProvider([call("act", "1", command="x")], ["ok"]))
    waiting = asyncio.create_task(here.ask("go"))
    await here.bus.wait_for(ApprovalRequested, timeout=5)
    here.bus.publish(InterruptRequested(agent="main"))
    assert (await waiting).stop == "interrupted"
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["withdrawn"]


async def test_an_unanswered_question_times_out(office: Open) -> None:
    here = await office(ScriptedProvider([call("act", "1", command="x")], ["ok"]), timeout=0.01)
    await here.ask("go")
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["timeout"]
    assert here.ran == []
