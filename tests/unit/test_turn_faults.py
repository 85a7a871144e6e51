"""An agent's turn with each of its steps raising in turn: a failed turn at most, in one sentence; the agent goes on."""

import asyncio
from collections import Counter
from inspect import isasyncgenfunction, iscoroutinefunction
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from gshtui.agents.agent import Agent
from gshtui.agents.answer_stream import AnswerStream
from gshtui.agents.conversation import Conversation, MemoryRecord
from gshtui.agents.loop import Turn
from gshtui.agents.toolbox import Toolbox
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptWithdrawn, TurnFinished
from gshtui.bus.messages import ToolCall, ToolResult
from gshtui.context.engine import ContextEngine
from gshtui.context.log.ports import MemoryContextStore
from gshtui.guard.approval.gate import Gate
from tests.kit.agent_harness import AgentHarness
from tests.kit.home import Home
from tests.kit.scripted_provider import ScriptedProvider, tool_call

pytestmark = pytest.mark.faults

PARTS = (
    Agent,
    Turn,
    AnswerStream,
    Conversation,
    Toolbox,
    ContextEngine,
    MemoryRecord,
    MemoryContextStore,
    Gate,
    ScriptedProvider,
)
NOT_IN_A_TURN = {
    "Agent": ("__init__", "start", "stop", "converse", "_listen", "_queue_prompt", "_edit", "_answer", "_ended")
}
"""What takes prompts in, whose faults are the bus's to report; and what says the end where a turn could not."""


def steps() -> list[tuple[type[Any], str]]:
    """Every method of what a turn is made of."""
    return [
        (part, name)
        for part in PARTS
        for name, member in vars(part).items()
        if isinstance(member, FunctionType)
        and not name.startswith("__")
        and name not in NOT_IN_A_TURN.get(part.__name__, ())
    ]


_ENDS = (TurnFinished, PromptWithdrawn)
"""How a prompt ends: by its turn, or before it could begin."""


class Fault(Exception):
    """The fault."""


def failing(original: Any, at: int, calls: list[int]) -> Any:
    """The method, raising at its call of this number."""

    def due() -> bool:
        calls.append(1)
        return len(calls) == at

    if isasyncgenfunction(original):

        async def generator(*arguments: Any, **named: Any) -> Any:
            if due():
                raise Fault(original.__qualname__)
            async for one in original(*arguments, **named):
                yield one

        return generator
    if iscoroutinefunction(original):

        async def coroutine(*arguments: Any, **named: Any) -> Any:
            if due():
                raise Fault(original.__qualname__)
            return await original(*arguments, **named)

        return coroutine

    def plain(*arguments: Any, **named: Any) -> Any:
        if due():
            raise Fault(original.__qualname__)
        return original(*arguments, **named)

    return plain


@pytest.mark.parametrize("at", [1, 2, 3])
async def test_every_step_failing_in_turn(at: int, tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gshtui.system.tasks.FIRST_PAUSE", 0.0)
    reached: set[str] = set()
    for part, name in steps():
        calls: list[int] = []
        provider = ScriptedProvider(
            [tool_call("look", "c1", text="a"), tool_call("act", "c2", command="b")],
            ["done"],
            *(["well"] for _ in range(8)),
        )
        harness = AgentHarness(tmp_path, provider, auto_approve=frozenset({"act"}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(part, name, failing(vars(part)[name], at, calls))
            ended = harness.bus.wait_for(Event, lambda event: isinstance(event, _ENDS), timeout=60)
            await harness.send_prompt("go")
            finished = await ended
            await harness.bus.drained()
            if len(calls) >= at:
                reached.add(f"{part.__name__}.{name}")
        what = f"{part.__name__}.{name} at call {at}"
        assert isinstance(finished, _ENDS)
        error = finished.why if isinstance(finished, PromptWithdrawn) else finished.error
        if isinstance(finished, PromptWithdrawn) or finished.stop == "error":
            assert "Fault" in error or "ExceptionGroup" in error, (what, finished)
            assert error.count("\n") == 0
            assert list(home.state.glob("**/crash-*.log")), what
        again = await harness.run_turn("again")
        assert again.stop == "end", (what, again)
        assert harness.agent.status == "idle", what
        messages = [*await harness.conversation.messages()]
        asked = Counter(b.id for m in messages for b in m.blocks if isinstance(b, ToolCall))
        given = Counter(b.call_id for m in messages for b in m.blocks if isinstance(b, ToolResult))
        sent = provider.requests[-1].messages
        asked_sent = Counter(b.id for m in sent for b in m.blocks if isinstance(b, ToolCall))
        given_sent = Counter(b.call_id for m in sent for b in m.blocks if isinstance(b, ToolResult))
        assert asked_sent == given_sent, what
        assert all(count == 1 for count in given.values()), (what, given)
        assert not given.keys() - asked.keys(), what
        await harness.close()
    if at == 1:
        assert len(reached) > 50, sorted(reached)
        assert {
            "ContextEngine.prepare",
            "ScriptedProvider.stream",
            "Toolbox.run",
            "MemoryRecord.append",
            "Gate.review",
        } <= reached


async def test_what_was_said_before_a_fault_is_kept(tmp_path: Path) -> None:
    class Cut(ScriptedProvider):
        async def stream(self, request: Any) -> Any:
            async for delta in super().stream(request):
                yield delta
                raise Fault("in the middle")

    harness = AgentHarness(tmp_path, Cut(["Half of it ", "and the rest"]))
    finished = await harness.run_turn("go")
    assert finished.stop == "error"
    assert "in the middle" in finished.error
    assert finished.text == "Half of it "
    assert "crash-" in finished.hint
    await harness.close()


async def test_a_turn_that_is_interrupted_before_it_begins_ends(tmp_path: Path) -> None:
    harness = AgentHarness(tmp_path, ScriptedProvider(["one"], ["two"]))
    loop = asyncio.get_running_loop()

    def cancel_first(loop: asyncio.AbstractEventLoop, work: Any, **named: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **named)
        if work.cr_code is Turn.run.__code__:
            loop.set_task_factory(None)
            task.cancel()
        return task

    loop.set_task_factory(cancel_first)
    finished = await harness.run_turn("go")
    assert finished.stop == "interrupted"
    assert (await harness.run_turn("again")).stop == "end"
    await harness.close()
