"""Other programs are read from their transcripts and not cut; our own agents by the context service."""

import json
import shutil
from pathlib import Path
from typing import Any, cast

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.commands.evaluation import run_line
from gshtui.commands.registry import Registry
from gshtui.context.commands.context_commands import commands
from gshtui.context.commands.context_router import ContextRouter
from gshtui.context.views import ContextError
from gshtui.programs.transcripts.reconstruction import Transcripts
from gshtui.providers.port import Capabilities
from gshtui.store.engine.store_errors import StoreError
from tests.kit.fixed_contexts import FixedContexts

FIXTURE = Path(__file__).resolve().parents[1] / "fixtures" / "transcripts" / "claude.jsonl"
ID = "5f3c7f0e-7e0b-4a53-9d1a-3f3a3b9d2f10"
ROW = AgentRow(id="0012", name="helper", kind="cli", profile="claude", cwd="/home/ada/shop", external_id=ID)
PRICED = Capabilities(window=200_000, price_input=3.0, price_output=15.0, price_cache_read=0.3, known=True)


async def row(id: str) -> AgentRow:
    if id in (ROW.id, ROW.name):
        return ROW
    if id == "0007":
        return AgentRow(id="0007", name="native")
    raise StoreError("unknown", f"There is no agent {id!r}.")


@pytest.fixture
def ours() -> FixedContexts:
    return FixedContexts()


@pytest.fixture
def everywhere(tmp_path: Path, ours: FixedContexts) -> ContextRouter:
    folder = tmp_path / ".claude" / "projects" / "-home-ada-shop"
    folder.mkdir(parents=True)
    shutil.copy(FIXTURE, folder / f"{ID}.jsonl")
    known = lambda _model: PRICED  # noqa: E731
    service = cast("Any", ours)
    return ContextRouter(service, service, row, lambda: Transcripts(known, {}, tmp_path), known)


async def test_another_program_is_read_from_its_transcript(everywhere: ContextRouter) -> None:
    reader = await everywhere.reader("helper")
    view = await reader.view("helper")
    assert "Reconstructed" in view.note
    assert [await everywhere.text(block.hash) for block in view.blocks][-1] == "They say so now."
    assert len(await reader.iterations("0012")) == 4
    assert [cut.by for cut in await reader.receipts("0012")] == ["claude"]
    request = await reader.request("0012")
    assert not request.exact
    assert json.loads(request.text)["messages"][-1]["content"] == "They say so now."
    assert (await reader.forecast("0012")).turns is None


async def test_what_it_costs_to_carry(everywhere: ContextRouter) -> None:
    reader = await everywhere.reader("0012")
    found = {carry.source: carry for carry in await reader.carry("0012")}
    assert found["Bash npm test"].times == 2
    assert all(carry.cost is not None and carry.cost > 0 for carry in found.values())
    told = await reader.what_if("0012", model="m2")
    assert told.window == 200_000


@pytest.mark.parametrize(
    "line", ["compact agent=helper", "prune helper", "clear_context helper", "tune helper threshold=0.5"]
)
async def test_it_is_not_cut_from_here(everywhere: ContextRouter, ours: FixedContexts, line: str) -> None:
    registry = Registry(commands(everywhere, row))
    invocation = Invocation(Caller(), Path("/"), Path("/"), agent="main")
    with pytest.raises(CommandError, match="decides what it sends"):
        await run_line(registry, line, invocation)
    assert ours.calls == []


async def test_a_view_and_a_timeline_through_the_commands(everywhere: ContextRouter) -> None:
    registry = Registry(commands(everywhere, row))
    invocation = Invocation(Caller(), Path("/"), Path("/"), agent="main")
    assert "Reconstructed from its transcript" in (await run_line(registry, "context helper", invocation)).text
    assert "4 requests, 1 cut" in (await run_line(registry, "timeline 0012", invocation)).text
    compared = (await run_line(registry, "context diff='helper:1 helper:2'", invocation)).text
    assert "5 added" in compared
    assert "Bash npm test" in (await run_line(registry, "carry helper", invocation)).text


async def test_our_own_are_read_and_changed_by_the_service(everywhere: ContextRouter, ours: FixedContexts) -> None:
    for agent in ("main", "0007", "nobody"):
        assert await everywhere.reader(agent) is ours
        assert await everywhere.editor(agent) is ours
    assert await everywhere.text("h0") == "You are an agent."
    with pytest.raises(ContextError, match="decides what it sends"):
        await everywhere.editor("helper")
