"""Agents in worktrees of their own: made when they start, and what is in them is told before they are killed."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.commands.declaration import Caller, Invocation
from gshtui.fleet.commands.agent_commands import commands
from gshtui.fleet.core.agent_calls import ShowAgent
from gshtui.fleet.core.ports import FleetError
from gshtui.guard.approval.gate import Gate
from gshtui.tools.git.worktree_setup import consent_by_gate
from tests.kit.fleet_harness import FleetHarness, echo_program, wait_for_text
from tests.kit.storms import combined
from tests.kit.tmux import private_server
from tests.real.test_worktree import all_of, project, run_git

__all__ = ["project"]


@pytest.fixture
async def harness(project: Path) -> AsyncGenerator[FleetHarness]:
    async with private_server() as server:
        yield FleetHarness(project, server)


async def test_an_agent_works_in_a_worktree_of_its_own(harness: FleetHarness, project: Path, tmp_path: Path) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree="feat/x"))
        place = tmp_path / "project-feat-x"
        assert (row.worktree, row.cwd) == (str(place), str(place))
        assert (await harness.server.pane(row.pane)).command
        await wait_for_text(harness, row, "ready")
        assert await fleet.unsaved(row.id) == []
        (place / "new.txt").write_text("new")
        assert await fleet.unsaved(row.id) == ["Its worktree feat/x has 1 uncommitted file (new.txt)."]
        # Another one on the same branch works in the same place, rather than not at all.
        other = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree="feat/x"))
        assert other.worktree == str(place)
        (place / ".git").unlink()
        assert "Cannot check its worktree" in (await fleet.unsaved(row.id))[0]


@pytest.mark.parametrize(
    ("branch", "fault"), combined(["feat/x", "there"], ["row", "set-up", "start", "terminal", "cancelled"])
)
async def test_an_agent_that_does_not_start_leaves_no_worktree(
    harness: FleetHarness, project: Path, fault: str, branch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(project, "branch", "there")
    before = all_of(project)
    async with harness.start_hub() as fleet:
        context: Any = fleet._context  # pyright: ignore[reportPrivateUsage]
        change = context.rows.change

        async def fail(*given: Any, **fields: Any) -> Any:
            if fault in ("row", "terminal") and ("worktree" if fault == "row" else "pane") not in fields:
                return await change(*given, **fields)
            raise asyncio.CancelledError if fault == "cancelled" else FleetError("failed", "It broke.")

        name = {"row": "change", "terminal": "change", "set-up": "_set_up"}.get(fault, "start")
        with monkeypatch.context() as patched:
            patched.setattr(context.rows if name == "change" else context.launcher, name, fail)
            with pytest.raises((FleetError, asyncio.CancelledError)):
                await fleet.spawn(SpawnRequest(cli=echo_program(), worktree=branch))
        assert (all_of(project), fleet.rows()) == (before, [])
        # One that was there stays.
        row = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree=branch))
        kept = all_of(project)
        with monkeypatch.context() as patched:
            patched.setattr(context.launcher, "start", fail if name == "start" else _fail)
            with pytest.raises((FleetError, asyncio.CancelledError)):
                await fleet.spawn(SpawnRequest(cli=echo_program(), worktree=branch))
        assert all_of(project) == kept and Path(row.worktree).is_dir()


async def _fail(*_: Any) -> Any:
    raise FleetError("failed", "It broke.")


async def test_a_branch_that_cannot_have_a_worktree(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        for branch, why in (("main", "already checked out"), ("-x", "not a valid branch name")):
            with pytest.raises(FleetError, match=why):
                await fleet.spawn(SpawnRequest(cli=echo_program(), worktree=branch))
        assert fleet.rows() == []


async def test_what_its_set_up_command_printed_is_shown_with_the_agent(
    harness: FleetHarness, project: Path, tmp_path: Path
) -> None:
    script = "import sys; [print(f'step {n}') for n in range(int(sys.argv[1]))]; sys.exit(int(sys.argv[2]))"
    for branch, count, code in (("long", 200, 3), ("short", 2, 0), ("silent", 0, 0)):
        async with harness.start_hub(setup=(sys.executable, "-c", script, str(count), str(code))) as fleet:
            row = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree=branch))
            show = next(one for one in commands(fleet) if one.name == "agent").words["show"]
            invocation = Invocation(Caller(), cwd=project, project=project)
            shown = await show.handler(invocation, ShowAgent(agent=row.id))
        setup = shown.data["setup"]
        wanted = [f"step {n}" for n in range(count)][-40:]
        assert (setup["exit_code"], setup["output"].splitlines()) == (code, wanted)
        assert ("failed with exit code 3." if code else "succeeded.") in shown.text
        assert "\n".join(wanted) in shown.text
        assert ("failed with exit code 3." in shown.aside) is bool(code)
        assert ("Only its last 40 lines; all of it is in" in shown.text) is (count > 40)
        assert (setup["file"] in shown.text, Path(setup["file"]).is_file()) == (True, count > 0)
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=echo_program()))
        assert await fleet.setup_of(row) is None


async def test_consent_is_a_question_with_the_very_command(tmp_path: Path) -> None:
    bus, questions = Bus(), list[Event]()
    decisions = iter(("deny", "session"))

    def answer(events: Sequence[Event]) -> None:
        for event in events:
            assert isinstance(event, ApprovalRequested)
            questions.append(event)
            bus.publish(ApprovalAnswered(approval=event.approval, decision=next(decisions)))

    bus.subscribe(answer, ApprovalRequested, name="test")
    gate = Gate(bus, respondent="person", auto_approve=frozenset({"worktree_setup"}))
    consent = consent_by_gate(gate, "0001")
    assert not await consent(("npm", "ci", "--x y"), tmp_path)
    assert await consent(("npm", "ci"), tmp_path)
    assert await consent(("npm", "ci"), tmp_path)
    assert [event.subject for event in questions if isinstance(event, ApprovalRequested)] == [
        "npm ci '--x y'",
        "npm ci",
    ]
    await bus.close()
    silent = consent_by_gate(Gate(Bus(), respondent="person", auto_approve=frozenset()), "0001", wait=0.01)
    assert not await silent(("npm", "ci"), tmp_path)
