"""Hooks that are told what happened: their events as JSON, and that none of them is lost when the hub stops."""

import json
import os
from pathlib import Path

import pytest

from gshtui.agents.hooks.agent_hooks import AgentHooks
from gshtui.agents.hooks.hook_set import Hook, HookSet
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Receipt
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.fleet_events import AgentEnded
from gshtui.bus.events.session_events import SessionClosed, SessionOpened
from gshtui.context.assembly.assembly import CutRequest
from gshtui.context.views import ContextError
from gshtui.hub.parts.hook_part import HookWatch
from tests.kit.context_harness import ContextHarness, SummaryModel

NAMES = ("SessionStart", "SessionEnd", "Notification", "SubagentStop", "PostCompact")


async def test_what_happens_is_told(tmp_path: Path) -> None:
    hooks = [Hook(name, f"cat > {name}.json; echo noted") for name in NAMES]
    bus = Bus()
    asked = AgentHooks(bus, tmp_path, os.environ, lambda: HookSet(hooks), None)
    watch = HookWatch(bus, asked, lambda agent: agent == "main")
    bus.publish(SessionOpened(session="s1", agent="main", resumed=True))
    bus.publish(SessionOpened(session="s9", agent="elsewhere"))
    bus.publish(
        ApprovalRequested(
            approval="a", agent="main", session="s1", call="c", tool="bash", effect="execute", subject="make"
        )
    )
    bus.publish(AgentEnded(agent="0001", status="done", report="all done"))
    bus.publish(ContextCut(agent="main", session="s1", receipt=Receipt("prune", "main", "s1", by="threshold")))
    await bus.drained()
    told = await asked.contribute("main")
    assert [text.text for text in told.along] == ["noted"]
    await watch.stop()
    seen = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in NAMES}
    assert (seen["SessionStart"]["session_id"], seen["SessionStart"]["source"]) == ("s1", "resume")
    assert seen["SessionEnd"]["session_id"] == "s1"
    assert "main waits for your answer: bash make" in seen["Notification"]["message"]
    assert (seen["SubagentStop"]["agent"], seen["SubagentStop"]["report"]) == ("0001", "all done")
    assert (seen["PostCompact"]["kind"], seen["PostCompact"]["trigger"]) == ("prune", "threshold")
    await bus.close()


async def test_a_conversation_that_is_closed_is_told_once(tmp_path: Path) -> None:
    bus = Bus()
    asked = AgentHooks(bus, tmp_path, os.environ, lambda: HookSet([Hook("SessionEnd", "echo x >> ends")]), None)
    watch = HookWatch(bus, asked, lambda agent: True)
    bus.publish(SessionOpened(session="s1", agent="main"))
    bus.publish(SessionClosed(session="s1", agent="main"))
    await bus.drained()
    await watch.stop()
    assert (tmp_path / "ends").read_text() == "x\n"
    await bus.close()


async def test_a_compaction_can_be_prevented() -> None:
    here = ContextHarness(SummaryModel(200_000, "A summary."))
    for number in range(40):
        here.add_prompt(f"question {number} " + "word " * 300)
        here.add_answer("answer " * 300)
    orders: list[CutRequest] = []

    async def before(order: CutRequest) -> str:
        orders.append(order)
        return "not before the release"

    here.engine.before_compaction = before
    with pytest.raises(ContextError, match="not before the release"):
        await here.engine.cut(here.messages, here.draft, "compact", CutRequest("person", focus="tests"))
    assert [order.focus for order in orders] == ["tests"]
    assert await here.cuts("compact") == []
