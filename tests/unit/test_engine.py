"""The context engine under pressure: what it cuts, in which order, and the sentences where nothing helps."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from gshtui.bus.context_data import Task
from gshtui.bus.events.agent_events import ContextAssembled
from gshtui.bus.messages import Message, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.context.assembly.assembly import CutRequest, assemble
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.assembly.request_record import recorded_texts
from gshtui.context.cuts.summary import SummaryWriter
from gshtui.context.engine import Prepared
from gshtui.context.log.overlays import Pinned, Restored, SideNote, Tasks, Undone
from gshtui.context.log.ports import MemoryContextStore, SideText
from gshtui.context.views import ContextError
from gshtui.providers.port import Capabilities, ProviderError, ToolSpec
from gshtui.store.engine.store_errors import StoreError
from tests.kit.context_harness import SUMMARY, TOO_LONG, ContextHarness, SummaryModel, request_text

LONG = "data " * 2_000
"""10,000 bytes: 2,500 tokens."""


def harness(window: int = 10_000, *summaries: object, **given: object) -> ContextHarness:
    model = SummaryModel(window, *summaries, real=int(given.pop("real", 0)))  # type: ignore[arg-type]
    return ContextHarness(model, **given)  # type: ignore[arg-type]


async def worked(here: ContextHarness, calls: int, output: str = LONG, words: str = "Port 4711 is the rule.") -> None:
    """A turn that leads to a request of that many outputs."""
    here.add_prompt(words)
    for _ in range(calls):
        here.add_call(output)


async def test_nothing_is_cut_while_there_is_room() -> None:
    here = harness(200_000)
    await worked(here, 8)
    prepared = await here.prepare()
    assert prepared.assembly.request.messages[-1].id.endswith("-results")
    assert await here.cuts() == []
    (told,) = here.recorder.of(ContextAssembled)
    assert told.tokens == sum(section.tokens for section in told.sections) == prepared.assembly.tokens
    assert told.id == prepared.iteration
    assert sum(block.tokens for block in prepared.assembly.blocks) == prepared.assembly.tokens


async def test_old_outputs_are_pruned_in_steps_and_calls_stay() -> None:
    here = harness(1_000_000)
    await worked(here, 21)  # 52,500 tokens
    text = await here.next_request_text()
    (receipt,) = await here.cuts("prune")
    assert "[output pruned, was ~2500 tokens]" in text
    assert text.count("run ") == 21
    assert receipt.tokens_after < receipt.tokens_before
    kept = text.count(LONG)
    assert kept * 2_500 <= 40_000 < (kept + 1) * 2_500
    here.add_call(LONG)
    await here.prepare()
    assert len(await here.cuts("prune")) == 1, "not one break of the provider's cache for each output"
    for _ in range(5):
        here.add_call(LONG)
    await here.prepare()
    assert len(await here.cuts("prune")) == 2


async def test_small_outputs_and_the_prefix_survive_a_prune() -> None:
    here = harness(1_000_000)
    here.add_prompt("go")
    here.add_call("OK")
    for _ in range(20):
        here.add_call(LONG)
    text = await here.next_request_text()
    assert "OK" in text
    first = (await here.prepare()).assembly.blocks
    second = (await here.prepare()).assembly.blocks
    assert [b.hash for b in first] == [b.hash for b in second]


async def test_a_compaction_keeps_words_pins_tasks_and_files() -> None:
    here = harness(10_000)
    here.add_prompt("Never change the public API, and the port is 4711.")
    _, pinned = here.add_call("the pinned words", name="read", path="docs/rules.md")
    here.add_call("edited", name="edit", path="src/a.py")
    await here.prepare()
    decisions = here.engine.cutter.decisions
    await decisions.add(Pinned(block=pinned))
    await decisions.add(Tasks(tasks=(Task("1", "write the tests"),)))
    here.add_answer("I will.")
    here.add_prompt("Go on.")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    text = await here.next_request_text()
    (receipt,) = await here.cuts("compact")
    assert "[Context compacted - previous conversation summary]" in text
    for kept in (
        "Never change the public API",
        "Go on.",
        "the pinned words",
        "- [ ] write the tests",
        "src/a.py (edited)",
    ):
        assert kept in text
    assert receipt.tokens_after < receipt.tokens_before / 2
    fates = {item.block: (item.fate, item.why) for item in receipt.items}
    assert fates[pinned] == ("carried", "pinned")
    assert fates["m00001/0"] == ("carried", "your words")
    assert "summarised" in {fate for fate, _ in fates.values()}
    assert len(here.messages) == 41


async def test_the_summary_is_asked_with_the_same_prefix_and_tools() -> None:
    tool = ToolSpec("bash", "Run a command", {"type": "object"})
    here = harness(10_000, tools=(tool,))
    here.add_prompt("go")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    before = len(here.messages)
    await here.prepare()
    (request,) = here.model.requests
    assert request.tools == (tool,)
    assert [m.id for m in request.messages[:-1]] == [m.id for m in here.messages]
    assert "CONTEXT CHECKPOINT" in request.messages[-1].text
    assert len(here.messages) == before, "the request for a summary is no part of the log"


@pytest.mark.parametrize(
    "bad",
    [
        ("", ""),
        (ToolCall("x", "bash", {}), ToolCall("y", "bash", {})),
        ("a text without headings", "again"),
        (SUMMARY + "more " * 40_000, SUMMARY + "more " * 40_000),
        (ProviderError("server", "The server failed"),),
        (ProviderError("timeout", "It went silent"),),
    ],
    ids=["nothing", "a tool call", "no headings", "longer", "an error", "silence"],
)
async def test_a_bad_summary_never_counts(bad: tuple[object, ...]) -> None:
    here = harness(10_000, *bad)
    here.add_prompt("The rule is 4711.")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    text = await here.next_request_text()
    (receipt,) = await here.cuts("compact")
    assert "The rule is 4711." in text
    assert receipt.steps[-1] == "The model's summary was rejected, so a plain extract was used."
    assert "no summary" not in text and "more more" not in text


async def test_one_reminder_is_enough() -> None:
    here = harness(10_000, ToolCall("x", "bash", {}), SUMMARY)
    here.add_prompt("go")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    assert "The port is 4711." in await here.next_request_text()
    (receipt,) = await here.cuts("compact")
    assert "asked for the tool bash" in receipt.steps[0]
    assert receipt.summary == SUMMARY


async def test_a_summary_that_hangs_is_given_up() -> None:
    here = harness(10_000, settings=ContextSettings(summary_seconds=0.05))

    async def hang(request: object) -> object:
        await asyncio.Event().wait()
        yield  # pragma: no cover

    here.model.stream = hang  # type: ignore[method-assign]
    here.add_prompt("go")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    await here.prepare()
    (receipt,) = await here.cuts("compact")
    assert "did not arrive within" in receipt.steps[0]


async def test_a_failed_summary_prunes_only_where_that_is_enough() -> None:
    here = harness(20_000, ProviderError("server", "down"), settings=ContextSettings(protect=1_000_000))
    here.add_prompt("go")
    for _ in range(9):
        here.add_call("data " * 1_600)
    await here.prepare()
    kinds = [receipt.kind for receipt in await here.cuts()]
    assert kinds == ["prune"]


@pytest.mark.parametrize(
    ("small", "says", "own"),
    [
        (SummaryModel(50_000), "tiny wrote the summary.", 0),
        (SummaryModel(50_000, ProviderError("network", "Gone")), "tiny wrote no usable summary", 1),
        (SummaryModel(50_000, "no headings", "none again"), "tiny wrote no usable summary", 1),
        (SummaryModel(2_000), "too long for tiny", 1),
        (ProviderError("missing", "There is no key."), "cannot be used, so the agent's own model was asked: There", 1),
    ],
)
async def test_the_small_model_summarises_and_else_the_own_one(
    small: SummaryModel | ProviderError, says: str, own: int
) -> None:
    here = harness()

    async def choose() -> SummaryWriter:
        if isinstance(small, ProviderError):
            raise small
        return SummaryWriter(small, "tiny")

    here.engine.choose_small = choose
    here.add_prompt("go")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    await here.prepare()
    (receipt,) = await here.cuts("compact")
    assert says in " ".join(receipt.steps)
    assert len(here.model.requests) == own
    assert receipt.summary.strip() == SUMMARY.strip()
    if isinstance(small, SummaryModel):
        assert all(request.model == "tiny" for request in small.requests)


async def test_two_compactions_without_progress_stop_with_a_sentence() -> None:
    here = harness(6_000)
    here.add_prompt("go")
    for n in range(40):
        here.add_answer(f"{n} " + "thoughts " * 60)
    await here.report_usage(await here.prepare())
    assert len(await here.cuts("compact")) == 1
    here.add_answer("words " * 5_000)
    with pytest.raises(ContextError) as refused:
        await here.prepare()
    assert refused.value.kind == "full"
    assert "full again right after it was compacted" in refused.value.message
    assert len(here.model.requests) == 1, "no second summary was paid for"


async def test_undo_after_ten_more_turns_and_after_a_restart() -> None:
    store = MemoryContextStore()
    here = harness(20_000, store=store)
    here.add_prompt("first words")
    for n in range(46):
        here.add_answer(f"thought {n} " + "x" * 1_500)
    await here.prepare()
    (receipt,) = await here.cuts("compact")
    for n in range(10):
        here.add_prompt(f"turn {n}")
        here.add_answer("fine")
    assert "thought 3 " not in await here.next_request_text()
    again = ContextHarness(here.model, store=store, messages=here.messages)
    again.turns = here.turns
    await again.prepare()
    await again.engine.cutter.decisions.add(Undone(cut=receipt.id))
    again.model.window = 50_000
    text = await again.next_request_text()
    assert "thought 3 " in text and "thought 44 " in text and "turn 9" in text
    assert "[Context compacted" not in text


async def test_what_a_person_undid_is_not_done_again_while_it_fits() -> None:
    here = harness(20_000)
    here.add_prompt("go")
    for n in range(45):
        here.add_answer(f"thought {n} " + "x" * 1_500)
    await here.prepare()
    (receipt,) = await here.cuts("compact")
    await here.engine.cutter.decisions.add(Undone(cut=receipt.id))
    assert "thought 3 " in await here.next_request_text()
    assert len(await here.cuts("compact")) == 1


async def test_a_provider_that_says_too_long_early_is_asked_again_with_less() -> None:
    here = harness(20_000, real=9_000)
    await worked(here, 4)
    prepared = await here.prepare()
    assert prepared.assembly.tokens < 0.6 * 20_000
    assert here.engine.overflowed(prepared, TOO_LONG.message)
    smaller = await here.prepare()
    assert smaller.assembly.tokens < 9_000
    assert here.model.window == 20_000
    for _ in range(3):
        assert here.engine.overflowed(smaller, TOO_LONG.message)
    assert not here.engine.overflowed(smaller, TOO_LONG.message), "it does not go on for ever"


async def test_the_tiny_window_works_and_the_largest_too() -> None:
    tools = tuple(ToolSpec(f"tool{n}", "words " * 60, {"type": "object"}) for n in range(30))
    bash = ToolSpec("bash", "Run a command", {"type": "object"})
    here = harness(4_096, tools=(*tools, bash))
    for n in range(12):
        here.add_prompt(f"question {n} about port 4711")
        for _ in range(3):
            here.add_call("z" * 4_000)
            prepared = await here.prepare()
            assert prepared.assembly.tokens < 4_096
            assert "bash" in [tool.name for tool in prepared.assembly.request.tools]
            await here.report_usage(prepared)
        here.add_answer("done")
    huge = harness(1_000_000, settings=ContextSettings(protect=2_000_000))
    await worked(huge, 150)
    assert (await huge.prepare()).assembly.tokens > 300_000
    assert await huge.cuts() == []


async def test_a_system_section_larger_than_the_window_is_one_sentence() -> None:
    here = harness(4_096, system="rules " * 5_000)
    here.add_prompt("hello")
    with pytest.raises(ContextError, match="system and tools sections alone"):
        await here.prepare()
    assert here.model.requests == [] and await here.cuts() == []


async def test_a_message_larger_than_the_window_is_one_sentence_and_the_next_turn_works() -> None:
    here = harness(8_000)
    here.add_prompt("essay " * 20_000)
    with pytest.raises(ContextError, match="message is too long"):
        await here.prepare()
    here.add_prompt("And now something short.")
    text = await here.next_request_text()
    assert "something short" in text
    assert "bytes omitted" in text


async def test_pins_larger_than_the_budget_are_one_sentence() -> None:
    here = harness(200_000)
    here.add_prompt("go")
    _, block = here.add_call("pin " * 8_000)
    await here.prepare()
    await here.engine.cutter.decisions.add(Pinned(block=block))
    here.model.window = 8_000
    here.add_answer("fine")
    here.add_prompt("more")
    with pytest.raises(ContextError) as refused:
        await here.prepare()
    assert "pinned blocks" in refused.value.message
    assert "Unpin" in refused.value.hint


async def test_a_crash_between_summary_and_pointer_leaves_all_sound() -> None:
    class Crashing(MemoryContextStore):
        async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int:
            raise asyncio.CancelledError

    store = Crashing()
    here = harness(10_000, store=store)
    here.add_prompt("the words")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    with pytest.raises(asyncio.CancelledError):
        await here.prepare()
    assert await here.cuts() == []
    assert await store.overlays("s1") == []
    after = ContextHarness(here.model, messages=here.messages)
    after.turns = here.turns
    assert "the words" in await after.next_request_text()


async def test_one_dropped_call_comes_back_with_its_result() -> None:
    here = harness(10_000)
    here.add_prompt("the words")
    ids = [here.add_call(f"output {n} " + "x" * 400) for n in range(6)]
    assert await here.engine.cut(here.messages, here.draft, "drop", CutRequest())
    dropped = set(here.engine.cutter.plan.dropped)
    assert "output 0 " not in await here.next_request_text()
    await here.engine.cutter.decisions.add(Restored(block=ids[0][1]))
    request = (await here.prepare()).assembly.request
    assert "output 0 " in request_text(request)
    assert set(here.engine.cutter.plan.dropped) == dropped - {ids[0][0].removesuffix("/0")}
    calls = [call.id for message in request.messages for call in message.calls]
    assert calls == [result.call_id for message in request.messages for result in message.results]


async def test_a_clock_that_goes_backwards_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    here = harness(10_000)
    here.add_prompt("first")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    await here.prepare()
    monkeypatch.setattr("time.time", lambda: 5.0)
    here.add_prompt("second")
    for n in range(34):
        here.add_answer(f"{n} " + "thoughts " * 100)
    text = await here.next_request_text()
    assert len(await here.cuts("compact")) == 2
    assert "first" in text and "second" in text and text.count("[Context compacted") == 1


async def test_strategies_keep_the_last_messages_or_a_budget() -> None:
    here = harness(200_000, settings=ContextSettings(strategy="last 10"))
    for n in range(12):
        here.add_prompt(f"question {n}")
        here.add_answer(f"answer {n} " + "x" * 400)
    text = await here.next_request_text()
    (receipt,) = await here.cuts("clear")
    assert "answer 11" in text and "answer 2 " not in text and "question 2" in text
    assert receipt.by == "strategy"
    budget = harness(200_000, settings=ContextSettings(strategy="budget 1000"))
    budget.add_prompt("the rule")
    for n in range(30):
        budget.add_answer(f"answer {n} " + "x" * 400)
    text = await budget.next_request_text()
    assert "answer 29" in text and "answer 3 " not in text and "the rule" in text


async def test_a_cut_that_is_asked_for_and_one_that_cannot_be() -> None:
    here = harness(200_000)
    here.add_prompt("hello")
    here.engine.request_cut("compact", CutRequest("person", request="r1"))
    await here.prepare()
    (failed,) = await here.failures()
    assert failed.request == "r1" and "nothing to compact" in failed.why
    for n in range(10):
        here.add_answer(f"{n} " + "thoughts " * 100)
    receipt = await here.engine.cut(here.messages, here.draft, "compact", CutRequest("person", focus="the port"))
    assert "Pay particular attention to this, as the person asked: the port" in request_text(here.model.requests[-1])
    assert receipt.id in {cut.id for cut in await here.cuts("compact")}
    here.add_prompt("on")
    assert "[Context compacted" in await here.next_request_text()


async def test_a_preview_does_nothing() -> None:
    here = harness(200_000)
    here.add_prompt("hello")
    for n in range(10):
        here.add_answer(f"{n} " + "thoughts " * 100)
    receipt = await here.engine.cut(here.messages, here.draft, "clear", CutRequest(dry=True))
    assert receipt.id == "" and receipt.tokens_after < receipt.tokens_before
    assert here.model.requests == [] and await here.cuts() == [] and await here.store.overlays("s1") == []


async def test_facts_go_along_with_a_prompt_and_only_when_they_changed() -> None:
    store = MemoryContextStore()
    twice = (SideText("environment", "branch: an earlier word"), SideText("environment", "branch: main"))
    here = harness(200_000, store=store, along=twice)
    here.add_prompt("one")
    assert (await here.next_request_text()).startswith("branch: main\none")
    here.add_answer("yes")
    here.add_prompt("two")
    assert (await here.next_request_text()).count("branch: main") == 1
    moved = ContextHarness(
        here.model, store=store, messages=here.messages, along=(SideText("environment", "branch: other"),)
    )
    moved.turns = here.turns
    moved.add_answer("so")
    moved.add_prompt("three")
    text = await moved.next_request_text()
    assert text.index("branch: main") < text.index("one") < text.index("branch: other") < text.index("three")


async def test_the_estimate_is_corrected_by_the_providers_count() -> None:
    here = harness(20_000)
    here.add_prompt("go")
    for n in range(35):
        here.add_answer(f"thought {n} " + "x" * 1_500)
    here.model.window = 40_000
    await here.report_usage(await here.prepare(), ratio=2.0)
    assert here.engine.correction.error == pytest.approx(0.5, abs=0.01)
    here.add_answer("more " + "x" * 20_000)
    await here.prepare()
    assert len(await here.cuts("compact")) == 1, "half the window by the estimate, all of it by the provider's count"


async def test_an_answer_never_exceeds_the_window_with_its_request() -> None:
    here = harness(20_000)
    here.add_prompt("go")
    for n in range(30):
        here.add_answer(f"thought {n} " + "x" * 1_500)
    prepared = await here.prepare()
    assert 0 < prepared.assembly.request.max_output <= 20_000 - prepared.assembly.tokens


def test_capabilities_of_the_kit_are_the_ports() -> None:
    assert SummaryModel(10).capabilities("x") == Capabilities(
        window=10, max_output=10, price_input=1.0, price_output=2.0
    )


async def test_what_is_reserved_for_the_system_section_makes_history_be_cut_sooner() -> None:
    plain = harness(100_000, settings=ContextSettings(threshold=0.6))
    reserved = harness(100_000, settings=ContextSettings(threshold=0.6, reserved_system=30_000))
    for here in (plain, reserved):
        await worked(here, 15)  # 37,500 tokens
        await here.prepare()
    assert await plain.cuts() == []
    assert await reserved.cuts()


@pytest.mark.parametrize("steps", [0, 1, 4, 9, 16, 40, 200])
async def test_a_request_that_was_made_ahead_is_the_one_made_at_once(
    steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However far it has come when the prompt is there, and with a cut that was made before."""
    monkeypatch.setattr("gshtui.context.engine._STEP", 5)
    monkeypatch.setattr("gshtui.context.engine._TOGETHER", 7)
    before = harness(200_000)
    for number in range(8):
        await worked(before, 3, output=f"{number} {LONG}")
        before.add_answer(f"Answer {number}.")
        await before.prepare()
    await before.engine.cut(before.messages, before.draft, "prune", CutRequest("person", forced=True))
    requests: list[object] = []
    for ahead in (False, True):
        here = harness(200_000, store=before.store, messages=before.messages)
        here.turns = before.turns
        making = asyncio.create_task(here.engine.get_ready(here.messages, here.model, "small-1")) if ahead else None
        for _ in range(steps if ahead else 0):
            await asyncio.sleep(0)
        here.add_prompt("Go on.")
        prepared = await here.prepare()
        if making is not None:
            await making
        requests.append((prepared.assembly.request, prepared.assembly.blocks))
        for block in prepared.assembly.blocks:
            assert await here.store.text(block.hash)
    assert requests[0] == requests[1]


HUGE = "data " * 80_000
"""400 kB: 100,000 tokens."""


def _huge_call(here: ContextHarness, results: bool, broken: bool = False) -> None:
    call = ToolCall("c-huge", "write", {} if broken else {"path": "f", "content": HUGE}, HUGE if broken else "")
    answer = here._add("assistant", call)
    if results:
        result = ToolResult(call.id, call.name, "The person interrupted the turn.", "cancelled")
        here.messages.append(Message(f"{answer.id}-results", "tool", (result,), answer.at, "main", answer.turn))


HUGE_ITEMS: dict[str, Callable[[ContextHarness], object]] = {
    "a call's arguments": lambda here: _huge_call(here, results=True),
    "an interrupted call's arguments": lambda here: _huge_call(here, results=False),
    "a call that was cut off": lambda here: _huge_call(here, results=True, broken=True),
    "an interrupted call that was cut off": lambda here: _huge_call(here, results=False, broken=True),
    "a result": lambda here: here.add_call(HUGE),
    "an answer": lambda here: here.add_answer(HUGE),
    "a thought": lambda here: here._add("assistant", Thinking(HUGE, {"small": {"signature": "s"}}), Text("So.")),
    "a prompt": lambda here: here.add_prompt(HUGE),
}


@pytest.mark.parametrize("window", [4_096, 8_192, 32_000])
@pytest.mark.parametrize("after", [0, 1, 3])
@pytest.mark.parametrize("item", HUGE_ITEMS)
async def test_no_item_larger_than_the_window_is_in_the_way_of_what_comes_later(
    item: str, after: int, window: int
) -> None:
    here = harness(window)
    here.add_prompt("Begin.")
    HUGE_ITEMS[item](here)
    if after == 0 and item != "a prompt" and "interrupted" not in item:  # the turn goes on
        prepared = await here.prepare()
        assert prepared.assembly.tokens < window
    for number in range(max(1, after)):
        here.add_prompt(f"Now do {number}.")
        prepared = await here.prepare()
        assert prepared.assembly.tokens < window
        assert f"Now do {number}." in request_text(prepared.assembly.request)
        here.add_answer(f"Done {number}.")
    assert await here.cuts(), "a receipt tells it"


async def test_a_prompt_larger_than_the_window_is_refused_in_one_sentence() -> None:
    here = harness(8_192)
    here.add_prompt(HUGE)
    with pytest.raises(ContextError, match="The message is too long"):
        await here.prepare()


async def test_what_a_long_conversation_has_on_record_is_kept_under_its_hash_after_the_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request does not wait for texts that are recorded as messages; a record that fails keeps them the next time."""

    class Fails(MemoryContextStore):
        fails = False

        async def keep_texts(self, session: str, texts: Mapping[str, str]) -> None:
            if self.fails:
                raise StoreError("full", "The disk is full.")
            await super().keep_texts(session, texts)

    monkeypatch.setattr("gshtui.context.assembly.request_record._MANY", 5)
    monkeypatch.setattr("gshtui.context.assembly.request_record._TOGETHER", 3)
    store = Fails()
    here = harness(200_000, store=store)
    for number in range(8):
        await worked(here, 2, output=f"{number} {LONG}", words=f"Prompt {number}.")
        here.add_answer(f"Answer {number}.")

    async def unkept(prepared: Prepared) -> set[str]:
        kept = set(await store.texts_of(here.engine.session))
        return {block.kind for block in prepared.assembly.blocks if block.hash not in kept}

    store.fails = True
    prepared = await here.prepare()
    said = {"text", "tool_call", "tool_result"}
    assert await unkept(prepared) == said
    await here.engine.answered(prepared, Usage(input=1, output=1), None)
    await here.engine.settle()
    assert await unkept(prepared) == said
    left = {block.hash for block in prepared.assembly.blocks} - set(await store.texts_of(here.engine.session))
    assert recorded_texts(left, here.messages).keys() == left
    store.fails = False
    here.add_prompt("Go on.")
    prepared = await here.prepare()
    await here.engine.failed(prepared, "")
    await here.engine.settle()
    assert await unkept(prepared) == set()


async def test_what_is_made_ahead_writes_no_text_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversation that is only opened leaves the record as it was; its texts are kept after the first answer."""
    monkeypatch.setattr("gshtui.context.engine._TOGETHER", 7)
    here = harness(200_000, store=MemoryContextStore())
    for number in range(8):
        await worked(here, 2, output=f"{number} {LONG}", words=f"Prompt {number}.")
        here.add_answer(f"Answer {number}.")
    await here.engine.get_ready(here.messages, here.model, "small-1")
    assert await here.store.texts_of(here.engine.session) == []
    here.add_prompt("Go on.")
    prepared = await here.prepare()
    sent = {block.hash for block in prepared.assembly.blocks}
    assert len(set(await here.store.texts_of(here.engine.session)) & sent) < len(sent) / 2, "a request waits for few"
    await here.engine.answered(prepared, Usage(input=1, output=1), None)
    await here.engine.settle()
    assert set(await here.store.texts_of(here.engine.session)) >= sent


async def test_a_text_along_with_a_prompt_leaves_what_came_before_as_it_was_made() -> None:
    """A turn costs what is new in it, also where facts go along with its prompt; it is what is made from scratch."""
    here = harness(200_000)
    for number in range(8):
        await worked(here, 2, words=f"Prompt {number}.")
        here.add_answer(f"Answer {number}.")
    await here.prepare()
    history = here.engine.cutter.assembler.history
    for number in range(3):
        here.add_prompt(f"And {number}?")
        settled = sum(block.section == "history" for block in history.blocks)
        note = SideNote(message=here.messages[-1].id, source="shell", text=f"exit {number}")
        await here.engine.cutter.decisions.add(note)
        prepared = await here.prepare()
        assert history.fresh >= settled > 0
        terms = await here.engine.terms(here.messages, here.draft)
        anew = assemble(here.messages, here.engine.cutter.plan, terms.inputs)
        assert (prepared.assembly.request.messages, prepared.assembly.blocks) == (anew.request.messages, anew.blocks)
        assert f"exit {number}" in request_text(prepared.assembly.request)
        here.add_answer(f"That {number}.")
