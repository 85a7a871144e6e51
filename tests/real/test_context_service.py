"""The context of a hub's agent over the real SDKs and the real record: compaction, overflow, undo, exact bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, ToolStarted, TurnFinished
from gshtui.bus.events.context_events import ContextCut, CutUndone, OutputTruncated, SummaryAnswered, SummaryProposed
from gshtui.context.context_editor import ContextEditor
from gshtui.context.cuts.summary import STAND_IN
from gshtui.context.queries import ContextQueries
from gshtui.context.views import ContextError
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.providers.adapters.openai_responses import OpenAIResponses
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from gshtui.text import units
from tests.kit.context_harness import SUMMARY
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Fault, Say, Spent
from tests.kit.providers import MODELS
from tests.kit.scripted_provider import Recorder
from tests.kit.storms import some

PARTS = frozenset({"store", "guard", "providers", "agents"})


class Here:
    """A started hub with one agent."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.recorder = Recorder(hub.bus)

    @property
    def contexts(self) -> ContextQueries:
        assert self.hub.contexts is not None
        return self.hub.contexts.queries

    async def editor(self) -> ContextEditor:
        assert self.hub.contexts is not None
        return await self.hub.contexts.editor("main")

    async def ask(self, text: str) -> TurnFinished:
        waiting = self.hub.bus.wait_for(TurnFinished, timeout=60)
        self.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
        finished = await waiting
        await self.hub.bus.drained()
        return finished


Open = Callable[..., Awaitable[Here]]


@pytest.fixture
async def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Open]:
    hubs: list[Hub] = []

    async def make(api: str, url: str, **options: Any) -> Here:
        for name, value in variables(api, url).items():
            monkeypatch.setenv(name, value)
        if api == "openai":  # by its address alone a server is taken for one that speaks the older API
            monkeypatch.setattr("gshtui.providers.candidates._openai", OpenAIResponses)
        cwd = tmp_path / "project"
        cwd.mkdir(exist_ok=True)
        given: dict[str, Any] = {
            "provider": api.removesuffix("-chat"),
            "respondent": "policy",
            "parts": PARTS,
        } | options
        hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), **given))
        hubs.append(hub)
        here = Here(hub)
        await hub.start()
        assert hub.failed == {}
        return here

    yield make
    for hub in hubs:
        await hub.stop()


def thinking(words: int = 400) -> Answer:
    return [Say("so " * words)]


async def test_a_person_compacts_looks_at_it_and_undoes_it_after_a_restart(opened: Open) -> None:
    script: list[Answer] = [thinking(), thinking(), [Say(SUMMARY)], thinking(), thinking(), thinking()]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        await here.ask("The rule is 4711.")
        await here.ask("Go on.")
        preview = await (await here.editor()).preview("main", "compact")
        assert (preview.id, preview.summary) == ("", STAND_IN) and len(server.chats) == 2
        receipt = await (await here.editor()).cut("main", "compact", focus="the rule")
        assert receipt.tokens_after < receipt.tokens_before and receipt.cost is not None
        summary_request = server.chats[2].body
        assert summary_request["tools"] == server.chats[1].body["tools"]
        assert summary_request["messages"][:2] == server.chats[1].body["messages"][:2] or "rule" in json.dumps(
            summary_request["messages"][0]
        )
        await here.ask("And now?")
        sent = json.dumps(server.chats[3].body)
        assert "Context compacted" in sent and "The rule is 4711." in sent and "so so so" not in sent
        session = here.hub.invocation(_person()).session
        await here.hub.stop()
        again = await opened("anthropic", server.url, session=session)
        (cut,) = [one for one in await again.contexts.receipts("main") if one.kind == "compact"]
        assert (cut.id, cut.summary) == (receipt.id, SUMMARY)
        await (await again.editor()).undo("main", cut.id)
        await again.ask("Once more.")
        assert "so so so" in json.dumps(server.chats[4].body)
        assert (await again.contexts.receipt(cut.id)).undone
        with pytest.raises(ContextError, match="already undone"):
            await (await again.editor()).undo("main", cut.id)


def _person() -> Any:
    from gshtui.commands.declaration import Caller

    return Caller()


@pytest.mark.parametrize("api", ["anthropic", "openai", "openai-chat", "gemini", "ollama"])
async def test_too_long_is_cut_and_asked_again_within_the_turn(opened: Open, api: str) -> None:
    read: Answer = [Call("bash", {"command": "seq 1 2000"})]
    script: list[Answer] = [read, read, [Fault.context()], [Fault.context()], [Say(SUMMARY)], [Say("done")], [Say("x")]]
    async with loopback(api, script, models=[MODELS[api]] if api == "ollama" else []) as server:
        here = await opened(api, server.url, respondent="policy")
        finished = await here.ask("The rule is 4711.")
        assert finished.stop != "error", finished.error
        cuts = here.recorder.of(ContextCut)
        assert "overflow" in {cut.receipt.by for cut in cuts}
        assert "The rule is 4711." in json.dumps(server.chats[-1].body)
        assert server.refused == []
        marks = await here.contexts.iterations("main")
        assert [bool(mark.error) for mark in marks[-2:]] == [True, False]
        for mark, chat in zip(marks[-2:], (server.chats[-3], server.chats[-1]), strict=True):  # a summary is between
            shown = await here.contexts.request("main", mark.id)
            assert shown.exact, shown.note  # of a refused request, too, it is known what went out
            assert json.loads(shown.text) == chat.body


@pytest.mark.parametrize("api", some(["anthropic", "openai", "openai-chat", "gemini", "ollama"], 2))
async def test_what_may_be_too_long_is_tried_once_smaller(opened: Open, api: str) -> None:
    """In words that nobody knows: smaller it is answered, or it was something else, and is told as it was said."""
    read: Answer = [Call("bash", {"command": "seq 1 2000"})]
    odd: Answer = [Fault.status(400, message="E1742: 9000 is beyond the length")]
    script = [read, read, read, odd, [Say(SUMMARY)], [Say("done")], [Say("x")]]
    async with loopback(api, script, models=[MODELS[api]] if api == "ollama" else []) as server:
        here = await opened(api, server.url, respondent="policy")
        finished = await here.ask("The rule is 4711.")
        assert finished.stop != "error", finished.error
        assert "The rule is 4711." in json.dumps(server.chats[-1].body)
        assert len(server.chats[-1].raw) < len(server.chats[3].raw)
    async with loopback(api, [read, read, read, *[odd] * 9], models=[MODELS[api]] if api == "ollama" else []) as server:
        here = await opened(api, server.url, respondent="policy")
        finished = await here.ask("The rule is 4711.")
        assert "E1742" in finished.error
        assert len(server.chats) <= 6  # the refused one, a summary, and one more try


async def test_the_threshold_compacts_and_the_view_says_what_was_sent(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_CONTEXT__COMPACT_THRESHOLD", "0.1")
    script: list[Answer] = [[Say("word " * 20_000), Spent(input=8_000)], [Say(SUMMARY)], [Say("after"), Spent(10_000)]]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        await here.ask("Remember 4711.")
        await here.ask("Next.")
        (cut,) = here.recorder.of(ContextCut)
        assert cut.receipt.by == "threshold" and cut.receipt.tokens_before > cut.receipt.tokens_after
        marks = await here.contexts.iterations("main")
        assert [mark.cuts for mark in marks] == [(), (cut.receipt.id,)]
        assert all(mark.usage is not None for mark in marks)
        view = await here.contexts.view("main", marks[1].id)
        kinds = [block.kind for block in view.blocks if block.section in ("history", "input")]
        assert "summary" in kinds and "carried" in kinds
        texts = [await here.contexts.text(block.hash) for block in view.blocks]
        assert any("Remember 4711." in text for text in texts)
        request = await here.contexts.request("main", marks[1].id)
        assert request.exact, request.note
        assert json.loads(request.text)["messages"] == server.chats[-1].body["messages"]


async def test_a_long_turn_of_many_calls_is_compacted_in_its_middle(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_CONTEXT__COMPACT_THRESHOLD", "0.1")
    count: Answer = [Call("bash", {"command": "seq 1 4000"})]
    last: Answer = [*count, Spent(input=98_000)]  # nearly a tenth of the window, by the provider's own count
    script: list[Answer] = [*[count] * 5, last, [Say(SUMMARY)], count, [Say("done")]]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        finished = await here.ask("Count often; the rule is 4711.")
        assert (finished.stop, finished.text) == ("end", "done"), finished.error
        (cut,) = here.recorder.of(ContextCut)
        assert (cut.receipt.kind, cut.receipt.by, cut.receipt.turn) == ("compact", "threshold", finished.turn)
        after = json.dumps(server.chats[7].body["messages"])  # the first request behind the summary
        assert "Count often; the rule is 4711." in after and "The port is 4711." in after
        assert len(after) < len(json.dumps(server.chats[5].body["messages"]))
        marks = await here.contexts.iterations("main")
        assert [mark.iteration for mark in marks] == list(range(1, 9))  # one turn, of eight requests
        assert {mark.turn for mark in marks} == {finished.turn}
        assert marks[6].cuts == (cut.receipt.id,)
        assert server.refused == []  # each call with its result, all the way


async def test_long_outputs_are_kept_whole_and_can_be_read_and_restored(opened: Open) -> None:
    script: list[Answer] = [[Call("bash", {"command": "seq 1 20000"})], [Say("long")], [Say("again")]]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        await here.ask("Count.")
        (told,) = here.recorder.of(OutputTruncated)
        assert told.original_bytes == 108_894 and told.kept_bytes < 31_000 and told.output
        assert f"output key={told.output}" in json.dumps(server.chats[1].body)
        page = await here.hub.run(f"output {told.output} 9000")
        assert page.text.startswith("9000\n9001\n")
        found = await here.hub.run(f"output key={told.output} query=12345")
        assert "12345│12345" in found.text
        (receipt,) = await here.contexts.receipts("main")
        assert receipt.kind == "truncate" and receipt.id == told.block  # what is seen live opens the receipt
        assert (await here.contexts.receipt(told.block)).tokens_before == receipt.tokens_before
        (ran,) = here.recorder.of(ToolStarted)
        assert (await here.contexts.receipt(f"{ran.message}/{ran.call}")).id == receipt.id  # as the chat names the call
        await (await here.editor()).restore("main", receipt.id)
        await here.ask("Again.")
        assert "\\n9000\\n9001\\n" in json.dumps(server.chats[2].body)


async def test_a_summary_waits_for_a_persons_word(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSH_CONTEXT__REVIEW_SUMMARIES", "true")
    script: list[Answer] = [thinking(), thinking(), [Say(SUMMARY)], [Say(SUMMARY)]]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url, respondent="person")
        await here.ask("One.")
        await here.ask("Two.")
        cutting = asyncio.create_task((await here.editor()).cut("main", "compact"))
        proposed = await here.hub.bus.wait_for(SummaryProposed, timeout=60)
        here.hub.bus.publish(SummaryAnswered(agent="main", cut=proposed.receipt.id, accepted=True, summary="My words."))
        assert (await cutting).summary == "My words."
        await (await here.editor()).undo("main", proposed.receipt.id)
        cutting = asyncio.create_task((await here.editor()).cut("main", "compact"))
        proposed = await here.hub.bus.wait_for(SummaryProposed, timeout=60)
        here.hub.bus.publish(SummaryAnswered(agent="main", cut=proposed.receipt.id, accepted=False))
        with pytest.raises(ContextError, match="rejected"):
            await cutting


async def test_what_is_told_of_the_size_is_true_at_once(opened: Open) -> None:
    script: list[Answer] = [thinking(4_000), [*thinking(4_000), Spent(input=12_000)], [Say(SUMMARY)], thinking()]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        await here.ask("The rule is 4711.")
        await here.ask("Go on.")
        await here.hub.run("tune threshold=0.5")
        tuned = await here.hub.run("tune threshold=0.7")
        window = tuned.data["window"]
        assert (tuned.data["threshold"], tuned.data["trigger"]) == (0.7, int(window * 0.7))
        assert f"starts at {units.tokens(int(window * 0.7))} tokens" in tuned.text and "(70 % of" in tuned.text
        receipt = await (await here.editor()).cut("main", "compact")
        await here.hub.bus.drained()
        (cut,) = here.recorder.of(ContextCut)
        view = await here.contexts.view("main")
        assert sum(section.tokens for section in cut.sections) == view.tokens
        assert cut.size == view.expected == receipt.tokens_after != view.tokens, "as the provider would count it"
        (entry,) = here.hub.agent_states.all()
        assert entry.row.context == receipt.tokens_after
        await (await here.editor()).undo("main", receipt.id)
        await here.hub.bus.drained()
        (undone,) = here.recorder.of(CutUndone)
        view = await here.contexts.view("main")
        assert undone.tokens == sum(section.tokens for section in undone.sections) == view.tokens
        assert undone.size == view.expected == receipt.tokens_before
        assert here.hub.agent_states.all()[0].row.context == receipt.tokens_before


async def test_pins_edits_and_refusals(opened: Open) -> None:
    script: list[Answer] = [[Call("bash", {"command": "echo the-plan"})], thinking(2_000), [Say(SUMMARY)], [Say("ok")]]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        await here.ask("Look.")
        view = await here.contexts.view("main")
        result = next(block for block in view.blocks if block.kind == "tool_result")
        await (await here.editor()).pin("main", result.id, True)
        for wrong in (result.id, "tool/bash", "nothing/0"):
            with pytest.raises(ContextError):
                await (await here.editor()).pin("main", wrong, True)
        receipt = await (await here.editor()).cut("main", "compact")
        await (await here.editor()).edit_summary("main", receipt.id, "Other words.")
        await (await here.editor()).tune("main", threshold=0.5, strategy="last 40")
        with pytest.raises(ContextError, match="not a strategy"):
            await (await here.editor()).tune("main", strategy="never")
        with pytest.raises(ContextError, match="no agent"):
            await here.contexts.view("nobody")
        await here.ask("Next.")
        sent = json.dumps(server.chats[3].body)
        assert "the-plan" in sent and "Other words." in sent
        view = await here.contexts.view("main")
        assert view.trigger <= view.window * 0.5
        assert next(block for block in view.blocks if block.id == result.id).pinned


async def test_another_process_looks_and_cuts_and_the_agent_reads_along(opened: Open) -> None:
    script: list[Answer] = [
        [Call("bash", {"command": "echo hello"})],
        thinking(3_000),
        [Say(SUMMARY)],
        [Say("and on")],
        [Say("and on")],
    ]
    async with loopback("anthropic", script) as server:
        here = await opened("anthropic", server.url)
        await here.ask("The rule is 4711.")
        other = await opened("anthropic", server.url, parts=frozenset({"store", "providers"}))
        view = await other.contexts.view("main")
        mine = await here.contexts.view("main")
        assert [block.hash for block in view.blocks] == [block.hash for block in mine.blocks]
        receipt = await (await other.editor()).cut("main", "compact")
        assert server.chats[2].body["tools"] == server.chats[1].body["tools"]
        await here.ask("Go on.")
        sent = json.dumps(server.chats[3].body)
        assert "Context compacted" in sent and "The rule is 4711." in sent and "so so" not in sent
        await (await other.editor()).undo("main", receipt.id)
        await here.ask("Once more.")
        assert "so so" in json.dumps(server.chats[4].body)
        assert (await other.contexts.forecast("main")).trigger > 0
        assert max(carry.times for carry in await other.contexts.carry("main")) == 4
