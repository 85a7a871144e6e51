"""Cuts and summaries of an agent in a real tmux, asked for and answered by the window over its socket."""

from pathlib import Path

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutRequested, SummaryAnswered, SummaryProposed
from gshtui.bus.events.fleet_events import AgentSpawned, AgentSpawnRequested
from gshtui.system.ids import new_id
from tests.kit.context_harness import SUMMARY
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Say
from tests.kit.resident import resident
from tests.kit.running_hub import heard_hub

__all__ = ["resident"]
pytestmark = pytest.mark.tmux


@pytest.fixture
def folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSH_CONTEXT__REVIEW_SUMMARIES", "true")
    return folder


@pytest.mark.usefixtures("resident")
async def test_a_compaction_is_asked_for_shown_and_answered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thinking: Answer = [Say("so " * 400)]
    async with loopback("anthropic", [thinking, thinking, [Say(SUMMARY)]]) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with heard_hub(folder) as (hub, heard):
            hub.bus.publish(AgentSpawnRequested(request=SpawnRequest(prompt="The rule is 4711.", provider="anthropic")))
            agent = (await heard.wait_for(AgentSpawned)).row.id
            await heard.wait_for(TurnFinished, agent=agent)
            early = new_id()
            hub.bus.publish(CutRequested(agent=agent, kind="compact", request=early))
            assert "the conversation is short" in (await heard.wait_for(CutFailed, agent=agent, request=early)).why
            hub.bus.publish(PromptSubmitted(prompt=new_id(), agent=agent, text="Go on."))
            await heard.wait_for(TurnFinished, number=2, agent=agent)
            asked = new_id()
            hub.bus.publish(CutRequested(agent=agent, kind="compact", request=asked))
            proposed = (await heard.wait_for(SummaryProposed, agent=agent)).receipt
            assert "The port is 4711." in proposed.summary
            hub.bus.publish(SummaryAnswered(agent=agent, cut=proposed.id, accepted=True, summary="My words."))
            cut = await heard.wait_for(ContextCut, agent=agent, request=asked)
            assert (cut.receipt.id, cut.receipt.summary) == (proposed.id, "My words.")
            assert hub.contexts is not None
            view = await hub.contexts.queries.view(agent)  # read here, out of the record
            said = [await hub.contexts.queries.text(block.hash) for block in view.blocks if block.section == "history"]
            assert any("My words." in text for text in said)
            assert any("The rule is 4711." in text for text in said)
            assert not any("so so so" in text for text in said)
        assert server.refused == []
