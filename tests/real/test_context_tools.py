"""An agent that looks at its own context and cuts it while it works, and two hubs on one record; real parts only."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, ToolFinished, TurnFinished
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import BlockPinned, ContextCut
from gshtui.bus.messages import ToolResult
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.providers.port import Request
from gshtui.providers.selection import ModelChoice
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.scripted_provider import Recorder, ScriptedProvider, tool_call

LONG = "a line of a long file that is read and then not needed any more\n" * 300
LOOKING = frozenset({"store", "providers"})


class Window:
    """A hub with a scripted model, and another one that only looks."""

    def __init__(self, cwd: Path, provider: ScriptedProvider) -> None:
        self.provider = provider
        self.hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd)))
        self.looking = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), parts=LOOKING))
        self.recorder = Recorder(self.hub.bus)

    async def ask(self, text: str, *answers: list[Any]) -> TurnFinished:
        """One turn, in which the model answers so."""
        self.provider.answers += answers
        waiting = self.hub.bus.wait_for(TurnFinished, timeout=60)
        self.hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
        finished = await waiting
        await self.hub.bus.drained()
        return finished

    def told(self, tool: str) -> ToolFinished:
        """The last result of a tool."""
        return [event for event in self.recorder.of(ToolFinished) if event.tool == tool][-1]


@pytest.fixture
async def window(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Window]:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "long.txt").write_text(LONG)
    provider = ScriptedProvider()

    async def chosen(*_: Any, **__: Any) -> ModelChoice:
        return ModelChoice(provider, "m", "Scripted", "as asked")  # type: ignore[arg-type]

    monkeypatch.setattr("gshtui.agents.model_pool.choose_model", chosen)
    made = Window(folder, provider)
    await made.hub.start()
    await made.looking.start()
    assert (made.hub.failed, made.looking.failed) == ({}, {})
    yield made
    await made.looking.stop()
    await made.hub.stop()


def results(request: Request) -> str:
    """All tool outputs that a request sends."""
    parts = [part for message in request.messages for part in message.blocks]
    return "\n".join(part.content for part in parts if isinstance(part, ToolResult))


async def test_an_agent_looks_at_itself_and_pins_without_a_question(window: Window) -> None:
    finished = await window.ask(
        "look at yourself",
        [tool_call("read", path="long.txt")],
        [tool_call("context", id="c1")],
        [tool_call("context", id="c2", section="input", limit=50)],
        [tool_call("pin", block="read long.txt")],
        [tool_call("timeline")],
        ["done"],
    )
    assert finished.stop == "end"
    assert window.recorder.of(ApprovalRequested) == []
    sections = json.loads(window.told("context").content)["sections"]
    assert [one["name"] for one in sections] == ["input"]
    assert {"you", "read long.txt", "context"} <= {block["source"] for block in sections[0]["blocks"]}
    assert all("text" not in block for block in sections[0]["blocks"])
    (pinned,) = window.recorder.of(BlockPinned)
    assert (pinned.by, json.loads(window.told("pin").content)["block"]) == ("main", pinned.block)
    assert json.loads(window.told("timeline").content)["requests"] == 5
    assert window.hub.contexts is not None
    view = await window.hub.contexts.queries.view("main")
    assert [block.source for block in view.blocks if block.pinned] == ["read long.txt"]


async def test_an_agent_cuts_itself_in_the_middle_of_a_turn_and_takes_it_back(window: Window) -> None:
    for number in range(3):
        await window.ask(
            f"read it, {number}", [tool_call("read", id=f"r{number}", path="long.txt", start_line=number + 1)], ["ok"]
        )
    await window.looking.run("tune main protect=1000")
    finished = await window.ask("make room", [tool_call("prune")], [tool_call("undo")], ["done"])
    assert finished.stop == "end"
    assert json.loads(window.told("prune").content)["items"] == {"dropped": 1}
    assert window.recorder.of(ApprovalRequested) == []
    assert any("output pruned" in results(request) for request in window.provider.requests)
    assert window.told("undo").status == "ok"


async def test_an_agent_compacts_itself_and_goes_on(window: Window) -> None:
    for number in range(4):
        await window.ask(f"question {number} " + "with many words " * 300, ["an answer of many words " * 300])
    finished = await window.ask(
        "make room", [tool_call("compact", focus="the questions")], ["## Progress\nAsked."], ["done"]
    )
    assert finished.stop == "end"
    told = json.loads(window.told("compact").content)
    assert told["tokens_after"] < told["tokens_before"]
    assert told["items"]["carried"] >= 1
    assert window.recorder.of(ContextCut)[-1].receipt.by == "main"
    after = await window.ask("go on", ["still here"])
    assert after.stop == "end"


async def test_what_another_hub_decides_counts_for_the_next_request(window: Window) -> None:
    for number in range(3):
        await window.ask(
            f"read it, {number}", [tool_call("read", id=f"r{number}", path="long.txt", start_line=number + 1)], ["ok"]
        )
    assert results(window.provider.requests[-1]).count(LONG[:60]) > 600
    outcome = await window.looking.run("context main")
    assert outcome.data["agent"] == "main"
    await window.looking.run("tune main protect=1000")
    cut = (await window.looking.run("prune main")).data
    await window.ask("go on", ["ok"])
    pruned = results(window.provider.requests[-1])
    assert "output pruned" in pruned
    receipts = (await window.hub.run("timeline")).data["cuts"]
    assert cut["id"] in [receipt["id"] for receipt in receipts]
    await window.looking.run(f"undo {cut['id']}")
    await window.ask("go on again", ["ok"])
    assert results(window.provider.requests[-1]).count(LONG[:60]) > pruned.count(LONG[:60])


async def test_both_hubs_tell_the_same(window: Window) -> None:
    await window.ask("read it", [tool_call("read", path="long.txt")], ["ok"])
    here = (await window.hub.run("context json=true")).data
    there = (await window.looking.run("context main json=true")).data
    same = ("agent", "session", "model", "provider", "tokens", "sections")
    assert {name: here[name] for name in same[:4]} == {name: there[name] for name in same[:4]}
    assert [one["blocks"][-1:] == [] or one["tokens"] for one in here["sections"]] == [
        one["blocks"][-1:] == [] or one["tokens"] for one in there["sections"]
    ]
    for line in ("info", "info main", "carry", "whatif other", "timeline", "context diff='1 2'"):
        assert (await window.hub.run(line)).text
    assert "compaction" in (await window.looking.run("info main")).text
    assert window.recorder.of(ContextCut) == []
