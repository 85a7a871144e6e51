"""`worktree finish` with real agents, tmux and git; and agents that are archived."""

import shlex
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.commands.declaration import AttachView, Caller, CommandError, Invocation, Unconfirmed
from gshtui.commands.execution import call, question, run_value
from gshtui.commands.registry import Registry
from gshtui.fleet.commands.agent_commands import commands
from gshtui.fleet.commands.spawn_command import SpawnAgent
from gshtui.fleet.commands.worktree_commands import FinishWorktree, TearDown
from gshtui.fleet.commands.worktree_commands import commands as worktree_commands
from gshtui.fleet.core.agent_calls import ArchiveAgent, ForkAgent, ListAgents, RestartAgent, UnarchiveAgent
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.store.record.store import Store
from gshtui.system.processes import process_tree
from gshtui.tools.git.worktree_finish import FinishedWorktree
from gshtui.tools.git.worktree_setup import no_consent
from tests.kit.fleet_harness import FleetHarness, echo_program, wait_for_status, wait_for_text
from tests.kit.tmux import private_server
from tests.real.test_worktree import commit, project, run_git, write_script

__all__ = ["project"]


@pytest.fixture
async def harness(project: Path) -> AsyncGenerator[FleetHarness]:
    (project / ".gitignore").write_text("data/\n")
    run_git(project, "add", ".gitignore")
    run_git(project, "commit", "-q", "-m", "ignore")
    async with private_server() as server:
        yield FleetHarness(project, server)


def registry(fleet: Fleet, teardown: tuple[str, ...] = (), output: Path = Path()) -> Registry:
    return Registry([*commands(fleet), *worktree_commands(fleet, TearDown(teardown, no_consent, output))])


def here(project: Path) -> Invocation:
    return Invocation(caller=Caller(), cwd=project, project=project, agent="main", session="")


async def test_an_agents_worktree_is_finished_after_a_question(harness: FleetHarness, tmp_path: Path) -> None:
    project, output = harness.home, tmp_path / "output"
    script = write_script(tmp_path, "print('down')")
    async with harness.start_hub() as fleet:
        known, around = registry(fleet, script, output), here(project)
        row = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree="feat/x", name="worker"), by_person=True)
        await wait_for_text(harness, row, "ready")
        place = Path(row.worktree)
        commit(place, "x", "x\n")
        (place / "left").write_text("left")
        with pytest.raises(CommandError, match=r"1 uncommitted file \(left\); nothing was merged"):
            await question(known, FinishWorktree(name="worker"), around)
        wanted = FinishWorktree(name="worker", commit=True, message="the rest")
        asked = await question(known, wanted, around)
        assert asked is not None
        assert asked.losses == ("worker (0001) works there, and is ended.",)
        assert "1 uncommitted file will be committed. 2 commits of feat/x will be in main" in asked.text
        assert str(script[-2]) in asked.text
        with pytest.raises(Unconfirmed, match=r"worker \(0001\) still works in"):
            await call(known, wanted, around)
        assert process_tree.runs(row.pid, row.pid_started) and not (project / "x").exists()
        done = await call(known, asked.agreed, around)
        assert isinstance(done, FinishedWorktree) and "succeeded" in done.text
        assert not process_tree.runs(row.pid, row.pid_started)
        assert not place.exists() and run_git(project, "branch", "--list") == "* main"
        assert (project / "x").exists() and (project / "left").exists()
        assert [path.read_text() for path in output.iterdir()] == ["down\n"]
        assert fleet.rows() == [] and [one.id for one in fleet.rows(archived=True)] == [row.id]


async def test_a_fork_is_finished_into_the_branch_that_it_came_from(harness: FleetHarness) -> None:
    project = harness.home
    async with harness.start_hub() as fleet:
        known, around = registry(fleet), here(project)
        row = await fleet.spawn(SpawnRequest(cli=echo_program(), worktree="one", name="worker"), by_person=True)
        made = await call(known, ForkAgent(agent="worker", anew=True, branch="two"), around)
        commit(Path(made.row.worktree), "y", "y\n")
        await fleet.kill(made.row.id, now=True)
        done = await call(known, FinishWorktree(name="two"), around)
        assert (done.branch, done.base, done.commits) == ("two", "one", 1)
        assert (Path(row.worktree) / "y").exists() and not (project / "y").exists()
        with pytest.raises(CommandError, match="has no worktree of its own"):
            plain = await fleet.spawn(SpawnRequest(cli=echo_program(), name="plain"), by_person=True)
            await call(known, FinishWorktree(name=plain.id), around)
        with pytest.raises(CommandError, match="no agent, branch or worktree nothing") as told:
            await call(known, FinishWorktree(name="nothing"), around)
        assert told.value.hint == "Known worktrees: one."
        with pytest.raises(CommandError, match="main working tree"):
            await call(known, FinishWorktree(name="main"), around)
        inside = Invocation(caller=Caller(), cwd=Path(row.worktree), project=project, agent="main", session="")
        with pytest.raises(CommandError, match="your current folder"):
            await call(known, FinishWorktree(name="one", yes=True), inside)


async def test_an_archived_agent_is_in_no_list_and_is_kept(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        known, around = registry(fleet), here(harness.home)
        row = await fleet.spawn(SpawnRequest(cli=echo_program(), name="old"), by_person=True)
        await wait_for_text(harness, row, "ready")
        with pytest.raises(CommandError, match="has not ended"):
            await call(known, ArchiveAgent(agent="old"), around)
        await fleet.send(row.id, "end", defer_if_busy=False)
        await wait_for_status(fleet, row.id, "done")
        assert (await call(known, ArchiveAgent(agent="old"), around)).archived
        assert await harness.server.panes() == []
        listed = [await call(known, ListAgents(archived=flag), around) for flag in (False, True)]
        assert [[one.row.name for one in found.agents] for found in listed] == [[], ["old"]]
        assert "got:end" in await fleet.show("old")
    store = await Store.open(harness.home / "data" / "gsh.db")
    await store.agents.update(row.id, ended=1.0)
    await store.agents.delete_old(14.0)
    assert [one.id for one in await store.agents.find_all()] == [row.id], "it is kept however old it is"
    await store.close()
    async with harness.start_hub() as fleet:
        known = registry(fleet)
        await call(known, UnarchiveAgent(agent="old"), around)
        assert [one.id for one in fleet.rows()] == [row.id]
        await call(known, ArchiveAgent(agent="old"), around)
        await call(known, RestartAgent(agent="old"), around)
        assert [one.archived for one in fleet.rows()] == [0.0], "one that runs again is in the list"


SAYS = """
import os, sys
print("ready", os.environ.get("ACCOUNT"), os.environ.get("GSH_AGENT"), flush=True)
for line in sys.stdin: pass
"""


async def test_variables_of_an_agent_are_kept_by_a_restart_and_a_fork_and_are_no_secrets(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        known, around = registry(fleet), here(harness.home)
        line = f"{sys.executable} -c {shlex.quote(SAYS)}"
        for word, why in (
            ("OPENAI_API_KEY=sk-0123456789abcdef0123", "OPENAI_API_KEY looks like a secret"),
            ("WORD=ghp_0123456789abcdef0123456789", "WORD looks like a secret"),
            ("GSH_AGENT=1", "of gsh-tui itself"),
            ("word", "NAME=VALUE"),
            ("A B=1", "NAME=VALUE"),
        ):
            with pytest.raises(CommandError, match=why) as told:
                await call(known, SpawnAgent(cli=line, env=(word,)), around)
            assert "0123" not in f"{told.value} {told.value.hint}"
        row = await call(known, SpawnAgent(cli=line, env=("ACCOUNT=work",), attach=True), around)
        await wait_for_text(harness, row, f"ready work {row.id}")
        await call(known, RestartAgent(agent=row.id), around)
        await wait_for_text(harness, await fleet.find(row.id), f"ready work {row.id}")
        fork = (await call(known, ForkAgent(agent=row.id, here=True, anew=True), around)).row
        await wait_for_text(harness, fork, f"ready work {fork.id}")
        outcome = await run_value(known, SpawnAgent(cli=line, attach=True), around)
        assert outcome.view == AttachView("0003")
        assert (await run_value(known, SpawnAgent(cli=line), around)).view is None
