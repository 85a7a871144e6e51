"""The agent loop on a scripted provider: what a turn records and publishes, and every way in which it can go wrong."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import pytest

from gshtui.agents.agent import LocalRoster
from gshtui.agents.conversation import MemoryRecord
from gshtui.agents.sessions import OpenedSession, OpenSessions
from gshtui.bus.agent_reducer import apply_event, local_row
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    ContextAssembled,
    InterruptRequested,
    MessageAppended,
    ModelChangeRequested,
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptWithdrawn,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled, Decision
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.bus.messages import Message, Text, Usage
from gshtui.providers.port import Completed, Delta, ProviderError, Request, Retrying, TextPart, ThinkingPart
from gshtui.store.engine.store_errors import StoreError
from tests.kit.agent_harness import AgentHarness
from tests.kit.scripted_provider import Hang, ScriptedProvider, tool_call

Open = Callable[..., Awaitable[AgentHarness]]


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Open]:
    offices: list[AgentHarness] = []

    async def make(provider: ScriptedProvider, **options: Any) -> AgentHarness:
        offices.append(AgentHarness(tmp_path, provider, **options))
        return offices[-1]

    yield make
    for made in offices:
        await made.close()


async def test_a_turn_answers_and_records(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("look", text="a")], ["It is ", "fine."]))
    finished = await here.run_turn("How is it?")
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


class Thinks(ScriptedProvider):
    """Says what it thinks between its words, all at once."""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        said = ("It ", TextPart), ("is", TextPart), ("hm", ThinkingPart), ("m", ThinkingPart), (" fine.", TextPart)
        for text, part in said:
            yield part(text)
        yield Completed(Message(id="", role="assistant", blocks=(Text("It is fine."),)), "end", Usage())


async def test_what_comes_at_once_is_told_at_once_and_in_order(harness: Open) -> None:
    here = await harness(Thinks())
    await here.run_turn("How is it?")
    told = [e for e in here.recorder.events if isinstance(e, TextDelta | ThinkingDelta | MessageAppended)][1:]
    assert [type(e).__name__ for e in told] == ["TextDelta", "ThinkingDelta", "TextDelta", "MessageAppended"]
    assert [e.text for e in told if not isinstance(e, MessageAppended)] == ["It is", "hmm", " fine."]


class Retries(ScriptedProvider):
    """Does not answer at first."""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        yield Retrying(1, 4.0, ProviderError("overloaded", "It is busy."), 5)
        yield TextPart("Fine.")
        yield Completed(Message(id="", role="assistant", blocks=(Text("Fine."),)), "end", Usage())


async def test_it_is_retrying_until_an_answer_comes(harness: Open) -> None:
    here = await harness(Retries())
    await here.run_turn("How is it?")
    row, states = local_row("main", 1.0), list[str]()
    for event in here.recorder.events:
        row = apply_event(row, event) if getattr(event, "agent", "main") == "main" else row
        states += [row.state] if not states or states[-1] != row.state else []
        if isinstance(event, TextDelta):
            break
    assert states[-3:] == ["thinking", "retrying", "thinking"]


async def test_the_second_request_carries_the_result(harness: Open) -> None:
    provider = ScriptedProvider([tool_call("look", "c1", text="a")], ["done"])
    here = await harness(provider)
    await here.run_turn("look")
    assert [m.role for m in provider.requests[1].messages] == ["user", "assistant", "tool"]
    assert provider.requests[1].messages[-1].results[0].content == "saw a"
    assert [tool.name for tool in provider.requests[0].tools] == ["act", "look", "note"]


async def test_reads_run_in_parallel_and_acts_in_order(harness: Open) -> None:
    calls = [tool_call("look", str(i), text=str(i)) for i in range(3)]
    acts = [tool_call("act", f"a{i}", command=f"do {i}") for i in range(2)]
    here = await harness(ScriptedProvider([*calls, *acts], ["ok"]), auto_approve=frozenset({"act"}))
    await here.run_turn("all")
    assert here.most_running == 3
    assert here.ran[-2:] == ["act do 0", "act do 1"]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (tool_call("lok"), "Did you mean look"),
        (tool_call("hidden"), "not one of your tools"),
        (tool_call("note", action="drop"), "note drop is for people only"),
        (tool_call("look", broken='{"text": "a'), "are not one JSON object"),
        (tool_call("look", txt="a"), "did you mean 'text'"),
        (tool_call("look", text="broken"), "It is broken. Mend it."),
        (tool_call("look", text="bug"), "RuntimeError: a bug"),
    ],
)
async def test_a_call_that_cannot_run_is_answered_so(harness: Open, made: Any, said: str) -> None:
    here = await harness(ScriptedProvider([made], ["I see."]))
    finished = await here.run_turn("go")
    assert finished.stop == "end"
    (result,) = here.recorder.of(ToolFinished)
    assert result.status == "error"
    assert said in result.content


async def test_a_long_output_is_shortened_and_kept(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("look", text="long")], ["ok"]))
    await here.run_turn("go")
    (result,) = here.recorder.of(ToolFinished)
    assert result.bytes == 5_000
    assert "bytes omitted" in result.content
    assert len(result.content) < 1_100


async def test_a_failure_before_the_answer(harness: Open) -> None:
    error = ProviderError("auth", "The key was refused.", hint="Set ANTHROPIC_API_KEY.")
    here = await harness(ScriptedProvider([error], ["better"]))
    finished = await here.run_turn("hello")
    assert (finished.stop, finished.error, finished.error_kind) == ("error", "The key was refused.", "auth")
    assert finished.hint == "Set ANTHROPIC_API_KEY."
    assert (await here.run_turn("again")).text == "better"


async def test_a_failure_in_the_middle_keeps_the_words(harness: Open) -> None:
    error = ProviderError("network", "The connection was lost.", started=True)
    here = await harness(ScriptedProvider(["Half an ans", error], ["whole"]))
    finished = await here.run_turn("hello")
    assert (finished.stop, finished.text) == ("error", "Half an ans")
    kept = (await here.record.load("s1"))[-1]
    assert (kept.role, kept.text, kept.stop) == ("assistant", "Half an ans", "error")
    await here.run_turn("go on")
    assert [m.role for m in here.provider.requests[1].messages] == ["user", "assistant", "user"]


async def test_an_empty_answer_is_an_error_that_says_so(harness: Open) -> None:
    here = await harness(ScriptedProvider([], ["something"]))
    finished = await here.run_turn("hello")
    assert finished.error_kind == "garbage"
    assert (await here.run_turn("again")).text == "something"


async def test_interrupt_while_it_streams(harness: Open) -> None:
    hang = Hang()
    here = await harness(ScriptedProvider(["So far", hang], ["next"]))
    waiting = asyncio.create_task(here.run_turn("hello"))
    await hang.reached.wait()
    here.bus.publish(InterruptRequested(agent="main"))
    finished = await waiting
    assert (finished.stop, finished.text) == ("interrupted", "So far")
    assert (await here.record.load("s1"))[-1].stop == "interrupted"
    assert (await here.run_turn("again")).text == "next"


async def test_interrupt_while_a_tool_runs(harness: Open) -> None:
    calls = [tool_call("act", "a", command="for ever"), tool_call("act", "b", command="never")]
    here = await harness(ScriptedProvider(calls, ["next"]), auto_approve=frozenset({"act"}))
    waiting = asyncio.create_task(here.run_turn("hello"))
    await here.started.wait()
    here.bus.publish(InterruptRequested(agent="main"))
    assert (await waiting).stop == "interrupted"
    assert here.ran == ["act for ever"]
    results = (await here.record.load("s1"))[-1].results
    assert [(r.call_id, r.status) for r in results] == [("a", "cancelled"), ("b", "cancelled")]
    await here.run_turn("again")
    assert [m.role for m in here.provider.requests[1].messages] == ["user", "assistant", "tool", "user"]


async def test_limits_stop_a_turn(harness: Open) -> None:
    for_ever = [[tool_call("look", str(i), text="x")] for i in range(20)]
    here = await harness(ScriptedProvider(*for_ever), max_iterations=3)
    finished = await here.run_turn("go")
    assert (finished.stop, len(here.provider.requests)) == ("max_iterations", 3)
    assert "max_iterations" in finished.hint
    steps = await harness(ScriptedProvider(*for_ever), max_steps=2)
    finished = await steps.run_turn("go")
    assert (finished.stop, len(steps.ran)) == ("max_iterations", 2)
    assert "max_steps" in finished.hint


async def test_a_second_prompt_waits_and_can_be_edited_or_withdrawn(harness: Open) -> None:
    hang = Hang()
    here = await harness(ScriptedProvider(["one", hang], ["two"], ["three"]))
    await here.send_prompt("first")
    await hang.reached.wait()
    second, third = await here.send_prompt("second"), await here.send_prompt("third")
    await here.bus.wait_for(PromptQueued, lambda e: e.prompt == third, timeout=60)
    here.bus.publish(PromptEditRequested(prompt=second, agent="main", text="second, better"))
    here.bus.publish(PromptEditRequested(prompt=third, agent="main"))
    await here.bus.wait_for(PromptWithdrawn, timeout=60)
    next_end = here.bus.wait_for(TurnFinished, lambda e: e.stop == "end", timeout=60)
    here.bus.publish(InterruptRequested(agent="main"))
    assert (await next_end).text == "two"
    await here.bus.drained()
    assert [e.text for e in here.recorder.of(PromptEdited)] == ["second, better"]
    assert here.provider.requests[1].messages[-1].text == "second, better"
    assert len(here.provider.requests) == 2


async def test_a_prompt_sent_while_a_conversation_is_opened_is_answered_in_that_one(
    harness: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, opened = asyncio.Event(), asyncio.Event()

    class Slow(OpenSessions):
        async def open(
            self, wanted: str, *, agent: str, cwd: str, provider: str = "", model: str = "", or_new: bool = False
        ) -> OpenedSession:
            opening.set()
            await opened.wait()
            return await super().open(wanted, agent=agent, cwd=cwd, provider=provider, model=model, or_new=or_new)

    hang = Hang()
    here = await harness(ScriptedProvider(["one", hang], ["two"]))
    monkeypatch.setattr(here.agent, "start", lambda: None)  # it works already
    opened.set()
    first = (await LocalRoster(here.bus, Slow(here.bus, None, "here"), "/").add(here.agent, "new")).info.id
    opening.clear()
    opened.clear()
    here.bus.publish(SessionChangeRequested(agent="main", session="new"))
    await opening.wait()
    await here.send_prompt("sent meanwhile")
    for _ in range(50):
        await asyncio.sleep(0)
    assert (here.agent.waiting, here.provider.requests, here.agent.session) == (1, [], first)
    opened.set()
    await hang.reached.wait()
    assert here.agent.session == here.recorder.of(TurnStarted)[-1].session != first
    refused = here.bus.wait_for(Noticed, lambda e: "busy" in e.text, timeout=60)
    here.bus.publish(SessionChangeRequested(agent="main", session="new"))
    assert (await refused).level == "warning"


class Full(MemoryRecord):
    """A record on a disk that is full for as long as `full` is set."""

    full = False

    async def append(self, session: str, message: Message) -> None:
        if self.full:
            raise StoreError("full", "The disk is full.", hint="Free some space.")
        await super().append(session, message)


async def _refused(here: AgentHarness, text: str) -> PromptWithdrawn:
    waiting = here.bus.wait_for(PromptWithdrawn, timeout=60)
    id = await here.send_prompt(text)
    withdrawn = await waiting
    assert (withdrawn.prompt, withdrawn.text) == (id, text)
    return withdrawn


async def test_a_prompt_that_cannot_be_recorded_is_not_sent_and_comes_back(harness: Open) -> None:
    record = Full()
    here = await harness(ScriptedProvider(["I am here."], ["So am I."]), record=record)
    await here.run_turn("hello")
    record.full = True
    assert (await _refused(here, "into the void")).why == "The prompt was not sent: The disk is full."
    record.full = False
    await here.run_turn("still there?")
    said = [m.text for m in here.provider.requests[-1].messages]
    assert "into the void" not in said and said == [m.text for m in await record.load("s1")][:-1]
    assert "into the void" not in {m.text for m in (e.message for e in here.recorder.of(MessageAppended))}
    assert [e.text for e in here.recorder.of(TurnStarted)] == ["hello", "still there?"]
    assert here.recorder.of(AgentStatusChanged)[-1].status == "idle"


@pytest.mark.parametrize("while_it", ["answers", "acts"])
async def test_what_came_while_the_disk_was_full_is_recorded_before_anything_newer(
    harness: Open, while_it: str
) -> None:
    record = Full()

    def fill(request: Request) -> None:
        if len(request.messages) == (1 if while_it == "answers" else 3):
            record.full = True

    act = [tool_call("look", "c1", text="once")]
    script = ScriptedProvider(act, ["That was it."], ["Go on?"], ["Yes."], check=fill)
    here = await harness(script, record=record)
    finished = await here.run_turn("look")
    assert (finished.stop, finished.error_kind, here.ran) == (
        "error",
        "record",
        [] if while_it == "answers" else ["look once"],
    )
    kept = len(await record.load("s1"))
    await _refused(here, "too early")
    assert len(await record.load("s1")) == kept and len(script.requests) == (1 if while_it == "answers" else 2)
    record.full = False
    await here.run_turn("and now?")
    log = await record.load("s1")
    assert [m.id for m in script.requests[-1].messages] == [m.id for m in log][:-1], "a request is what the record has"
    assert [m.role for m in log] == (
        ["user", "assistant", "tool", "user", "assistant"]
        if while_it == "answers"
        else ["user", "assistant", "tool", "assistant", "user", "assistant"]
    )


async def test_what_is_owed_is_recorded_when_the_conversation_is_closed(harness: Open) -> None:
    record = Full()
    here = await harness(ScriptedProvider(["Late."], check=lambda _: setattr(record, "full", True)), record=record)
    await here.run_turn("hello")
    record.full = False
    await here.conversation.close()
    assert [m.text for m in await record.load("s1")] == ["hello", "Late."]


async def test_a_crash_in_mid_turn_is_repaired_when_opened(harness: Open) -> None:
    record = MemoryRecord()
    await record.append("s1", Message("u1", "user", (Text("do it"),), turn="t1"))
    await record.append("s1", Message("a1", "assistant", (tool_call("act", "c1", command="x"),), turn="t1"))

    async def partials(session: str) -> list[Message]:
        return []

    record.partials = partials  # type: ignore[method-assign]
    here = await harness(ScriptedProvider(["I see."]), record=record, fresh=False)
    await here.run_turn("what happened?")
    (request,) = here.provider.requests
    assert [m.role for m in request.messages] == ["user", "assistant", "tool", "user"]
    assert request.messages[2].results[0].status == "lost"


async def _answer(here: AgentHarness, decision: Decision, reason: str = "") -> ApprovalRequested:
    asked = await here.bus.wait_for(ApprovalRequested, timeout=60)
    here.bus.publish(ApprovalAnswered(approval=asked.approval, decision=decision, reason=reason))
    return asked


async def _ask_and_answer(here: AgentHarness, *decisions: tuple[Decision, str]) -> TurnFinished:
    async def answer_all() -> None:
        for decision, reason in decisions:
            await _answer(here, decision, reason)

    answering = asyncio.create_task(answer_all())
    await asyncio.sleep(0)
    finished = await here.run_turn("go")
    answering.cancel()
    return finished


async def test_once_asks_each_time(harness: Open) -> None:
    act = tool_call("act", "1", command="make")
    here = await harness(ScriptedProvider([act], [tool_call("act", "2", command="make")], ["ok"]))
    await _ask_and_answer(here, ("once", ""), ("once", ""))
    assert here.ran == ["act make", "act make"]
    assert len(here.recorder.of(ApprovalRequested)) == 2


async def test_session_allows_the_exact_call_only(harness: Open) -> None:
    calls = [[tool_call("act", str(i), command=c)] for i, c in enumerate(("make", "make", "make test"))]
    here = await harness(ScriptedProvider(*calls, ["ok"]))
    await _ask_and_answer(here, ("session", ""), ("deny", ""))
    assert here.ran == ["act make", "act make"]


async def test_always_allows_the_pattern(harness: Open) -> None:
    calls = [[tool_call("act", str(i), command=c)] for i, c in enumerate(("make a", "make b", "rake"))]
    here = await harness(ScriptedProvider(*calls, ["ok"]))
    await _ask_and_answer(here, ("always", ""), ("deny", ""))
    assert here.ran == ["act make a", "act make b"]
    assert 'program = "make"' in here.rules.text


async def test_a_denial_is_read_by_the_model(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("act", "c", command="rm x")], ["Understood."]))
    await _ask_and_answer(here, ("deny", "Use the trash."))
    assert here.ran == []
    result = here.provider.requests[1].messages[-1].results[0]
    assert result.status == "denied"
    assert "Use the trash." in result.content


async def test_nobody_to_ask(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("act", "c", command="x")], ["ok"]), respondent="nobody")
    await here.run_turn("go")
    assert here.ran == []
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["nobody"]


async def test_policy_runs_what_stays_inside_the_project(harness: Open) -> None:
    calls = [tool_call("act", "1", command="inside"), tool_call("act", "2", command="outside it")]
    here = await harness(ScriptedProvider(calls, ["ok"]), respondent="policy")
    await here.run_turn("go")
    assert here.ran == ["act inside"]
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["once", "deny"]


@pytest.mark.parametrize("respondent", ["person", "policy"])
async def test_a_catastrophe_is_never_run(harness: Open, respondent: str) -> None:
    made = tool_call("act", "1", command="rm -rf /")
    here = await harness(ScriptedProvider([made], ["ok"]), respondent=respondent, auto_approve=frozenset({"act"}))
    await here.run_turn("go")
    assert here.ran == []
    assert here.recorder.of(ToolFinished)[0].status == "denied"


async def test_an_interrupt_withdraws_the_question(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("act", "1", command="x")], ["ok"]))
    waiting = asyncio.create_task(here.run_turn("go"))
    await here.bus.wait_for(ApprovalRequested, timeout=60)
    here.bus.publish(InterruptRequested(agent="main"))
    assert (await waiting).stop == "interrupted"
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["withdrawn"]


async def test_an_unanswered_question_times_out(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("act", "1", command="x")], ["ok"]), timeout=0.01)
    await here.run_turn("go")
    assert [e.decision for e in here.recorder.of(ApprovalSettled)] == ["timeout"]
    assert here.ran == []


async def test_only_an_error_about_a_model_ends_with_one(harness: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    here = await harness(ScriptedProvider(["one"]))
    await here.run_turn("hello")
    for owner, name, error, wish in (
        (
            here.agent,
            "_choose",
            ProviderError("unknown_model", "There is no x."),
            ModelChangeRequested(agent="main", model="x"),
        ),
        (
            here.engine,
            "set_effort",
            StoreError("full", "It is full."),
            ModelChangeRequested(agent="main", model="", effort="low"),
        ),
    ):
        monkeypatch.setattr(owner, name, AsyncMock(side_effect=error))
        told = here.bus.wait_for(Noticed, lambda one, text=error.message: one.text == text, timeout=60)
        here.bus.publish(wish)
        assert (await told).ends_with_model is isinstance(error, ProviderError)
