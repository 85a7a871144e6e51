"""A turn that another agent asked for runs at most in that one's mode; and in plan mode an agent drops nothing."""

import asyncio
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.approval_events import AgentModeChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.letter import Letter
from gshtui.commands.declaration import Assessment, Caller, Effect, Invocation
from gshtui.context.commands.context_router import ContextAccess
from gshtui.guard.approval.gate import Call, Gate
from gshtui.guard.modes import AgentModes
from tests.kit.agent_harness import AgentHarness
from tests.kit.scripted_provider import ScriptedProvider, tool_call


async def test_a_limit_only_tightens_and_ends() -> None:
    bus = Bus()
    modes = AgentModes(bus, "main", "auto")
    assert modes.limit("main", "plan") and modes.mode_of("main") == "plan"
    assert modes.limit("main", "") and modes.mode_of("main") == "auto"
    assert not modes.limit("main", "yolo") and modes.mode_of("main") == "auto", "nobody lends more than the agent has"
    modes.limit("main", "ask")
    modes.change("main", "edit")
    assert modes.mode_of("main") == "edit", "a person's word counts at once"
    assert modes.mode_of("other") == "auto"
    modes.close()


@pytest.mark.parametrize(("kind", "limit"), [("say", "plan"), ("talk", "plan"), ("send", "plan"), ("report", "")])
def test_a_letter_carries_its_senders_mode_and_a_report_none(kind: str, limit: str) -> None:
    letter = Letter(id="1", sender="0001", recipient="0002", text="x", kind=kind, mode="plan")  # type: ignore[arg-type]
    assert letter.limit == limit
    assert Letter(id="1", recipient="0002", text="x").limit == ""


async def test_the_turn_runs_in_the_stricter_mode_says_so_and_the_next_one_does_not(tmp_path: Path) -> None:
    script = ScriptedProvider([tool_call("act", command="one")], ["no"], [tool_call("act", command="two")], ["yes"])
    harness = AgentHarness(tmp_path, script)
    await harness.agent.think_with("", "")
    harness.gate.modes.start = "yolo"
    try:
        ended = harness.bus.wait_for(TurnFinished, timeout=60)
        asked = PromptSubmitted(prompt="p1", agent="main", text="x", source="agent 0001", mode="plan")
        harness.bus.publish(asked)
        await ended
        assert harness.ran == [], "what the other agent may not do is not done for it"
        assert any("plan mode, which is agent 0001's" in notice.text for notice in harness.recorder.of(Noticed))
        await harness.run_turn("y")
        assert harness.ran == ["act two"]
        await harness.bus.drained()
        assert [change.mode for change in harness.recorder.of(AgentModeChanged)] == ["plan", "yolo"]
    finally:
        await harness.close()


async def test_in_plan_mode_an_agent_drops_nothing_of_its_own_context() -> None:
    access = ContextAccess(None)
    invocation = Invocation(Caller("main", is_agent=True), Path("/"), Path("/"))
    for mode, doing, allowed in (
        ("plan", "drop", False),
        ("plan", "cut", True),
        ("plan", "look", True),
        ("ask", "drop", True),
        ("auto", "drop", True),
    ):
        bus = Bus()
        gate = Gate(bus, respondent="person", auto_approve=frozenset(), modes=AgentModes(bus, "main", mode))  # type: ignore[arg-type]
        found = await access.assess(invocation, "", doing, "")  # type: ignore[arg-type]
        async with asyncio.timeout(30):
            verdict = await gate.review(Call("main", "s1", "c1", "clear_context", {}), found)
        assert verdict.allowed is allowed, (mode, doing)
        assert allowed or "plan mode" in verdict.reason
        await gate.close()


async def test_what_a_person_drops_is_theirs_in_every_mode() -> None:
    found = await ContextAccess(None).assess(Invocation(Caller(), Path("/"), Path("/")), "main", "drop", "")
    assert found == Assessment(Effect.READ, "main")
