"""The gate: what was always allowed is listed and taken back; only answers that were offered to a question count."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Assessment, Caller, CommandError, Effect, UsageError
from gshtui.guard.approval import Call, Gate, NoGrants
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit.home import Home
from tests.kit.native_agents import EventLog

COVERS = ("gshtui.agents.approval_commands", "gshtui.agents.commands", "gshtui.store.grant_table")


def call() -> Call:
    return Call("main", "s", "c", "bash", {"command": "make test"})


ASSESSMENT = Assessment(Effect.EXECUTE, "make test", key="make test", pattern="make …")


async def test_what_was_always_allowed_is_listed_and_taken_back(home: Home, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    loaded = load(tmp_path)
    hub = build_hub(HubOptions(cwd=tmp_path, loaded=loaded, parts=frozenset({"store", "guard"}), respondent="nobody"))
    await hub.start()
    try:
        assert hub.failed == {} and hub.store is not None and hub.gate is not None
        assert "Nothing is always allowed here." in (await hub.run("approvals")).text
        await hub.store.grants.add(str(hub.project), "write", "write in src")
        await hub.store.grants.add(str(hub.project), "bash", "make …")
        await hub.store.grants.add("/elsewhere", "bash", "rm …")
        listed = await hub.run("/permissions")
        assert "1. write in src (write, since " in listed.text and "2. make … (bash, since " in listed.text
        assert "rm …" not in listed.text
        assert listed.data["always"][1] == {"number": 2, "tool": "bash", "pattern": "make …"}
        assert (await hub.gate.review(call(), ASSESSMENT)).allowed
        taken = await hub.run("approvals revoke 2")
        assert "needs approval again: make …" in taken.text
        assert not (await hub.gate.review(call(), ASSESSMENT)).allowed
        assert [one["pattern"] for one in (await hub.run("approvals")).data["always"]] == ["write in src"]
        assert len(await hub.store.grants.find_all("/elsewhere")) == 1
        with pytest.raises(CommandError, match="There is no approval number 7"):
            await hub.run("approvals revoke 7")
        with pytest.raises(UsageError, match="number of the approval to revoke"):
            await hub.run("approvals revoke")
        with pytest.raises(UsageError, match="for people only"):
            await hub.run("approvals", Caller("main", is_agent=True))
    finally:
        await hub.stop()


async def test_nothing_unknown_becomes_a_yes() -> None:
    bus = Bus()
    heard = EventLog(bus)
    gate = Gate(bus, NoGrants(), respondent="person", auto_approve=frozenset())

    def ask(number: int) -> asyncio.Task[Any]:
        call = Call("main", "s", f"c{number}", "bash", {})
        return asyncio.ensure_future(gate.review(call, Assessment(Effect.EXECUTE, f"touch {number}")))

    first, second = ask(1), ask(2)
    one = await heard.wait_for(ApprovalRequested)
    other = await heard.wait_for(ApprovalRequested, number=2)
    bus.publish(ApprovalAnswered(approval="unknown", decision="once"))
    bus.publish(ApprovalAnswered(approval="", decision="once"))
    for strange in ("always", "Once", "yes", "", "reason", None):
        answer: Any = strange  # as a program that speaks for a person could say it
        bus.publish(ApprovalAnswered(approval=one.approval, decision=answer))
    await heard.wait_for(Noticed, number=6, level="warning")
    assert not first.done() and not second.done() and heard.of(ApprovalSettled) == []
    bus.publish(ApprovalAnswered(approval=one.approval, decision="deny"))
    bus.publish(ApprovalAnswered(approval=one.approval, decision="once"))
    assert not (await first).allowed and not second.done()
    bus.publish(ApprovalAnswered(approval=one.approval, decision="once"))
    bus.publish(ApprovalAnswered(approval=other.approval, decision="once"))
    assert (await second).allowed
    settled = [(event.approval, event.decision) for event in heard.of(ApprovalSettled)]
    assert settled == [(one.approval, "deny"), (other.approval, "once")]
    await gate.close()
    await bus.close(timeout=2)
