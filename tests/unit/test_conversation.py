"""A prompt that arrives twice, since whoever sent it did not hear that the agent had it: one turn, told as often; and
an answer that is kept while it streams.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.conversation import Conversation, MemoryRecord, answered_turn
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import MessageAppended, PromptSubmitted, TurnFinished, TurnStarted
from gshtui.bus.messages import Message, Text, user_message
from gshtui.store.engine.store_errors import StoreError
from tests.kit.agent_harness import AgentHarness
from tests.kit.scripted_provider import Hang, ScriptedProvider, tool_call

Open = Callable[..., Awaitable[AgentHarness]]


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[Open]:
    harnesses: list[AgentHarness] = []

    async def make(provider: ScriptedProvider, **options: Any) -> AgentHarness:
        harnesses.append(AgentHarness(tmp_path, provider, **options))
        return harnesses[-1]

    yield make
    for made in harnesses:
        await made.close()


async def again(here: AgentHarness, prompt: str, text: str) -> TurnFinished:
    """Deliver it as the relay does, and wait for the end that is told."""
    here.bus.publish(PromptSubmitted(prompt=prompt, agent="main", text=text))
    finished = await here.bus.wait_for(TurnFinished, timeout=60)
    await here.bus.drained()
    return finished


async def test_what_was_answered_is_told_again_and_not_done_again(harness: Open) -> None:
    here = await harness(ScriptedProvider([tool_call("look", text="a")], ["fine"]))
    first = await here.run_turn("look")
    (prompt,) = [event.prompt for event in here.recorder.of(TurnStarted)]
    told = await again(here, prompt, "look")
    assert (told.turn, told.text, told.stop) == (first.turn, first.text, "end")
    assert told.usage.input == 0, "it cost nothing"
    assert here.ran == ["look a"]
    assert len(here.provider.requests) == 2
    assert [message.role for message in await here.record.load("s1")] == ["user", "assistant", "tool", "assistant"]


async def test_what_was_recorded_and_not_answered_is_gone_on_with(harness: Open) -> None:
    """The agent died between the record of the prompt and its answer: the next life has it in its log."""
    record = MemoryRecord()
    await record.append("s1", user_message("look", id="p1", turn="t1"))
    here = await harness(ScriptedProvider(["It is fine."]), record=record, fresh=False)
    finished = await again(here, "p1", "look")
    assert (finished.turn, finished.text, finished.stop) == ("t1", "It is fine.", "end")
    said = await here.record.load("s1")
    assert [(message.role, message.turn) for message in said] == [("user", "t1"), ("assistant", "t1")]
    assert [event.message.role for event in here.recorder.of(MessageAppended)] == ["assistant"]
    assert [message.text for message in here.provider.requests[0].messages] == ["look"]


async def test_what_was_cut_off_is_told_as_cut_off(harness: Open) -> None:
    """An answer whose tools ran is not begun anew: what a tool did would be done twice."""
    record = MemoryRecord()
    await record.append("s1", user_message("act", id="p1", turn="t1"))
    blocks = (Text("I act."), tool_call("act", "c1", command="x"))
    await record.append("s1", Message("m1", "assistant", blocks, at=1.0, agent="main", turn="t1", stop="tool_use"))
    here = await harness(ScriptedProvider(), record=record, fresh=False)
    told = await again(here, "p1", "act")
    assert (told.stop, told.text) == ("interrupted", "I act.")
    assert here.ran == [] and here.provider.requests == []


class KeepingRecord(MemoryRecord):
    """A record whose disk is full at first."""

    def __init__(self) -> None:
        super().__init__()
        self.tries = 0
        self.kept: asyncio.Queue[Message] = asyncio.Queue()

    async def save_partial(self, session: str, message: Message) -> None:
        self.tries += 1
        if self.tries == 1:
            raise StoreError("full", "The disk is full.")
        self.kept.put_nowait(message)


async def test_an_answer_that_says_no_more_is_kept_as_far_as_it_went(
    harness: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gshtui.agents.conversation._KEPT_WITHIN", 0.0)
    monkeypatch.setattr("gshtui.agents.conversation._UNKEPT", 0.0)
    record, hang = KeepingRecord(), Hang()
    here = await harness(ScriptedProvider(["This ", "much", hang]), record=record)
    await here.send_prompt("go")
    await hang.reached.wait()
    assert (record.tries, record.kept.qsize()) == (0, 0), "the answer does not wait for the disk"
    kept = await asyncio.wait_for(record.kept.get(), 60)
    assert (kept.text, kept.stop, record.tries) == ("This much", "interrupted", 2)


class SlowRecord(MemoryRecord):
    """Writes once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.may = asyncio.Event()

    async def append(self, session: str, message: Message) -> None:
        self.begun.set()
        await self.may.wait()
        await super().append(session, message)


async def test_however_often_it_is_interrupted_a_write_ends_first() -> None:
    """Otherwise a prompt that is in the record would be given back as one that was not sent."""
    record = SlowRecord()
    conversation = Conversation(Bus(), record, "s1", "main", fresh=True)
    writing = asyncio.create_task(conversation.append(user_message("go", id="p1", turn="t1")))
    await record.begun.wait()
    for _ in range(3):
        writing.cancel()
        await asyncio.sleep(0)
    assert not writing.done()
    record.may.set()
    with pytest.raises(asyncio.CancelledError):
        await writing
    assert [message.id for message in await conversation.messages()] == ["p1"]


def test_a_prompt_that_is_new_is_not_known() -> None:
    log = [user_message("a", id="p1", turn="t1"), user_message("b", id="p2", turn="t2")]
    assert answered_turn("main", "s1", log, "p3") is None
    assert answered_turn("main", "s1", log, "p2") is None
    left = answered_turn("main", "s1", log, "p1")
    assert left is not None and (left[1].stop, left[1].text) == ("interrupted", "")
