"""Agents in terminals on a real tmux server and a real record: started, found again, lost, ended, restored."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.events.fleet_events import AgentEnded, AgentKilled, AgentRestored, AgentSpawned, AgentSpawnFailed
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.ports import FleetError
from gshtui.programs import hooks
from gshtui.programs.profile import load
from gshtui.store.store import Store
from gshtui.system import process_tree
from gshtui.tmux.tmux_connection import TmuxConnection
from tests.kit.fleet import Yard, cli, echo, shows, status
from tests.kit.home import Home
from tests.kit.record import ROOT
from tests.kit.tmux import eventually, private_server


@pytest.fixture
async def yard(tmp_path: Path) -> AsyncGenerator[Yard]:
    async with private_server() as server:
        yield Yard(tmp_path, server)


async def test_a_program_is_started_spoken_to_and_ends_with_its_report(yard: Yard) -> None:
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli(*echo(3), name="Repeater"))
        assert (row.id, row.name, row.kind, row.tmux_session) == ("0001", "repeater", "cli", "gsh-agent-0001")
        assert row.owner == os.getpid()
        await shows(yard, row, "ready")
        assert row.pid_started == process_tree.start_time(row.pid) != 0
        message = await fleet.send("1", "hello\nwith $(date) `x` ; #{pane_id}", defer_if_busy=False)
        assert message
        await shows(yard, row, "got:with $(date) `x` ; #{pane_id}")
        await fleet.send("repeater", "end", defer_if_busy=False)
        ended = await status(fleet, "1", "failed")
        assert (ended.exit_status, ended.doing, ended.status_source) == (3, "exit 3", "process")
        assert "got:end" in await fleet.show("1")
        await yard.heard(AgentEnded)
        with pytest.raises(FleetError, match="has ended"):
            await fleet.send("1", "more")
        left = [yard.home / "data" / name for name in ("hooks/0001.jsonl", "agents/0001.json", "agents/0001.waiting")]
        for path in left:
            path.parent.mkdir(exist_ok=True)
            path.touch()
        await fleet.remove("1")
        assert not any(path.exists() for path in left)
        with pytest.raises(FleetError, match="no agent"):
            await fleet.find("1")
        assert await yard.server.panes() == []
    assert [type(event) for event in yard.events].count(AgentSpawned) == 1


async def test_a_prompt_is_typed_once_the_program_is_ready(yard: Yard) -> None:
    slow = (sys.executable, "-c", "import select; select.select([], [], [], 2)\n" + echo()[2])
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli(*slow, prompt="first words"))
        await shows(yard, row, "got:first words")


async def test_what_cannot_start_leaves_nothing(yard: Yard) -> None:
    async with yard.hub() as fleet:
        with pytest.raises(FleetError, match="not on the PATH") as told:
            await fleet.spawn(cli("no-such-program-here"))
        assert told.value.hint
        with pytest.raises(FleetError, match="does not exist"):
            await fleet.spawn(SpawnRequest(cli=echo(), cwd="/no/such/folder"))
        assert fleet.rows() == []
        assert await yard.server.panes() == []
    assert len(yard.said(AgentSpawnFailed)) == 2


async def test_a_program_that_ends_at_once_is_told_with_its_last_words(yard: Yard) -> None:
    async with yard.hub() as fleet:
        # It asks the terminal something and ends with the answer: the system drops what a program has just written
        # when it ends before the terminal has read it.
        script = r"stty raw; printf 'no login\r\n\033[6n'; head -c 1 >/dev/null; exit 7"
        row = await fleet.spawn(cli("sh", "-c", script))
        ended = await status(fleet, row.id, "failed")
        assert ended.exit_status == 7
        assert "no login" in await fleet.show(row.id)


async def test_names_that_are_taken_are_gone_round(yard: Yard) -> None:
    await yard.server.spawn("gsh-agent-0001", ["cat"], cwd=yard.home, env={})
    async with yard.hub() as fleet:
        first = await fleet.spawn(cli(*echo(), name="twin"))
        second = await fleet.spawn(cli(*echo(), name="twin"))
        assert (first.tmux_session, second.tmux_session) == ("gsh-agent-0001-2", "gsh-agent-0002")
        assert (first.name, second.name) == ("twin", "twin-2")
        assert (await fleet.rename("2", "Other Name")).name == "other-name"
        assert (await fleet.find("other-name")).id == "0002"


async def test_twenty_five_at_once_get_each_their_own_words(yard: Yard) -> None:
    async with yard.hub() as fleet:
        plain = ("sh", "-c", "echo ready; while read -r line; do echo got:$line; done")
        rows = await asyncio.gather(*(fleet.spawn(cli(*plain, name=f"n{n}")) for n in range(25)))
        assert len({row.id for row in rows}) == len({row.pane for row in rows}) == 25
        await asyncio.gather(*(fleet.send(row.id, f"words of {row.name}.", defer_if_busy=False) for row in rows))
        for row in rows:
            seen = await shows(yard, row, f"got:words of {row.name}.")
            assert seen.count("got:") == 1


async def test_agents_outlive_a_hub_that_is_killed_and_the_next_one_takes_over(yard: Yard) -> None:
    async with yard.other_process(echo(), echo(5)) as (pid, ids), yard.hub() as fleet:
        stays, ends = [await fleet.find(id) for id in ids]
        assert (stays.owner, ends.owner) == (pid, pid)
        await shows(yard, ends, "ready")
        os.kill(pid, signal.SIGKILL)
        await yard.server.send_text(ends.pane, "end", enter=True)
        assert (await status(fleet, ends.id, "failed")).exit_status == 5
        back = await fleet.find(stays.id)
        assert (back.pid, back.pane, back.ended, back.owner) == (stays.pid, stays.pane, 0.0, os.getpid())
        await fleet.send(stays.id, "still there", defer_if_busy=False)
        await shows(yard, stays, "got:still there")


async def test_while_its_hub_lives_another_one_only_reads(yard: Yard) -> None:
    async with yard.other_process(echo()) as (pid, ids), yard.hub() as fleet:
        row = await fleet.find(ids[0])
        await shows(yard, row, "ready")
        await fleet.send(row.id, "from the other window", defer_if_busy=False)
        await shows(yard, row, "got:from the other window")
        os.kill(row.pid, signal.SIGKILL)
        dead = await status(fleet, row.id, "failed")
        assert (dead.exit_status, dead.doing, dead.owner) == (137, "signal 9", pid)
    assert yard.said(AgentEnded) == []


async def test_a_killed_server_loses_them_and_they_come_back_only_with_their_memory(yard: Yard) -> None:
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli(*echo()))
        await yard.server.kill_server()
        lost = await status(fleet, row.id, "lost")
        assert "terminal is gone" in lost.doing
        await yard.heard(Noticed)
        with pytest.raises(FleetError, match="cannot go on where it was") as told:
            await fleet.recover(row.id)
        assert told.value.kind == "blank"
        again = await fleet.restart(row.id)
        assert (again.id, again.status, again.ended) == (row.id, "starting", 0.0)
        assert again.pid != row.pid
        await shows(yard, again, "ready")


async def test_a_terminal_whose_hub_died_before_it_wrote_it_down_is_found(yard: Yard) -> None:
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli(*echo()))
        await shows(yard, row, "ready")
    nobodys = {"pane": "", "tmux_session": "", "pid": 0, "pid_started": 0.0}
    store = await Store.open(yard.home / "data" / "gsh.db")
    await store.agents.update(row.id, **nobodys)
    await store.close()
    async with yard.hub() as fleet:

        async def found() -> AgentRow:
            await fleet.refresh()
            return await fleet.find(row.id)

        back = await eventually(found, until=lambda now: bool(now.pane))
        assert (back.pane, back.pid, back.pid_started) == (row.pane, row.pid, row.pid_started)
        assert back.status not in ("lost", "failed")
        await fleet.send(row.id, "found you", defer_if_busy=False)
        await shows(yard, row, "got:found you")


async def test_another_program_in_the_same_pane_is_not_the_agent(yard: Yard) -> None:
    """Pane ids begin again on a new server: `%0` alone is nobody."""
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli(*echo()))
    await yard.server.kill_server()
    await eventually(yard.server.running, until=lambda runs: not runs)
    stranger = await yard.server.spawn(row.tmux_session, ["cat"], cwd=yard.home, env={})
    assert stranger.pane == row.pane
    async with yard.hub() as fleet:
        assert (await fleet.find(row.id)).status == "lost"
        assert await fleet.show(row.id) == ""
        await fleet.restart(row.id)
        assert not (await yard.server.pane(stranger.pane)).dead


MORTAL = """
title = "mortal"
programs = ["mortal"]
argv = ["sh"]
ai = false
[[rules]]
status = "idle"
all = ['^ready']
[conversation]
mint = ["-c", "echo ready; exec cat", "{id}"]
resume = ["-c", "echo login expired; exit 1", "{id}"]
"""
"""A program that starts, and fails at every attempt to go on."""


async def test_recovering_all_stops_when_several_in_a_row_fail(yard: Yard, home: Home) -> None:
    folder = home.config / "gsh" / "profiles"
    folder.mkdir(parents=True)
    (folder / "mortal.toml").write_text(MORTAL)
    async with yard.hub() as fleet:
        rows = [await fleet.spawn(SpawnRequest(profile="mortal", name=f"m{n}")) for n in range(5)]
        for row in rows:
            await shows(yard, row, "ready")
        await yard.server.kill_server()
        for row in rows:
            await status(fleet, row.id, "lost")
        back, troubles = await fleet.recover_all()
        assert back == []
        assert len(troubles) == 4 and "could not be recovered" in troubles[0]

        async def said() -> list[str]:
            notices = [event.text for event in yard.said(Noticed) if isinstance(event, Noticed)]
            return [text for text in notices if "recovered" in text]

        told = await eventually(said, until=lambda told: len(told) > 3)
        assert [text.split(" ", 1)[0] for text in told] == ["m0", "m1", "m2", "3"]
        assert told[-1] == "3 agents in a row could not be recovered; 2 more were not tried."
        assert [row.failures for row in fleet.rows()] == [1, 1, 1, 0, 0]


async def mode_of(connection: TmuxConnection) -> str:
    return connection.mode


async def test_a_look_that_fails_changes_nothing(yard: Yard) -> None:
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli(*echo()))
        await shows(yard, row, "ready")
        connection = fleet.terminals.server(row.socket).connection
        await eventually(lambda: mode_of(connection), until="control".__eq__)
        server = next(p for p in psutil.process_iter() if p.pid == psutil.Process(row.pid).ppid())
        server.suspend()
        try:
            await fleet.refresh()
            assert (await fleet.find(row.id)).status not in ("lost", "done", "failed")
        finally:
            server.resume()
        await shows(yard, row, "ready")


FORKS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time\\nwhile True: print(time.monotonic_ns(), flush=True)"],
                         stdout=open(sys.argv[1], "w"))
print("ready", child.pid, flush=True)
for line in sys.stdin: print("got:" + line, flush=True)
"""


STEADY = """
title = "steady"
programs = ["steady"]
ai = false
[[rules]]
status = "idle"
all = ['^ready ']
[keys]
interrupt = ["Escape"]
"""
"""A program of which it is known how to interrupt it."""


@pytest.fixture
def steady(home: Home) -> None:
    folder = home.config / "gsh" / "profiles"
    folder.mkdir(parents=True)
    (folder / "steady.toml").write_text(STEADY)


@pytest.mark.usefixtures("steady")
async def test_a_kill_is_told_stops_the_work_and_can_be_undone(yard: Yard) -> None:
    async with yard.hub() as fleet:
        output = yard.home / "numbers"
        row = await fleet.spawn(SpawnRequest(cli=(sys.executable, "-c", FORKS, str(output)), profile="steady"))
        await shows(yard, row, "ready")
        (told,) = await fleet.unsaved(row.id)
        assert "runs a command" in told
        killed = await fleet.kill(row.id)
        assert killed.killed
        (worker,) = psutil.Process(row.pid).children()
        await eventually(lambda: asyncio.to_thread(worker.status), until=lambda now: now == psutil.STATUS_STOPPED)
        (event,) = await yard.heard(AgentKilled)
        assert isinstance(event, AgentKilled)
        assert event.until == pytest.approx(killed.killed_at + 60)  # pyright: ignore[reportUnknownMemberType]
        with pytest.raises(FleetError, match="is killed"):
            await fleet.send(row.id, "hello")
        restored = await fleet.undo_kill(row.id)
        assert not restored.killed
        assert worker.status() != psutil.STATUS_STOPPED
        await fleet.send(row.id, "go on", defer_if_busy=False)
        await shows(yard, row, "go on")
    await yard.heard(AgentRestored)


@pytest.mark.usefixtures("steady")
async def test_a_killed_agent_ends_with_all_it_started_when_its_while_is_over(yard: Yard) -> None:
    yard.grace = 0.3
    async with yard.hub() as fleet:
        row = await fleet.spawn(
            SpawnRequest(cli=(sys.executable, "-c", FORKS, str(yard.home / "numbers")), profile="steady")
        )
        await shows(yard, row, "ready")
        (worker,) = psutil.Process(row.pid).children()
        await fleet.kill(row.id)
        ended = await status(fleet, row.id, "done")
        assert (ended.killed, ended.doing) == (True, "killed")
        assert process_tree.start_time(worker.pid) == 0
        assert not process_tree.runs(row.pid, row.pid_started)
        with pytest.raises(FleetError, match="has ended already"):
            await fleet.undo_kill(row.id)


async def test_a_program_that_ignores_the_hang_up_is_ended_too(yard: Yard) -> None:
    stubborn = "trap '' HUP TERM INT; echo ready; while :; do read -r x || sleep 1; done"
    async with yard.hub() as fleet:
        row = await fleet.spawn(cli("sh", "-c", stubborn))
        await shows(yard, row, "ready")
        ended = await fleet.kill(row.id, now=True)
        assert ended.status == "done"
        assert not process_tree.runs(row.pid, row.pid_started)


async def test_an_agent_may_not_nest_deeper_than_three_nor_start_too_many(yard: Yard) -> None:
    async with yard.hub(session_of=lambda agent: "s1") as fleet:
        parent = "main"
        for depth in (1, 2, 3):
            row = await fleet.spawn(SpawnRequest(cli=("cat",), parent=parent))
            assert row.depth == depth
            parent = row.id
        with pytest.raises(FleetError, match="nested 3 deep"):
            await fleet.spawn(SpawnRequest(cli=("cat",), parent=parent))
        for _ in range(7):
            await fleet.spawn(SpawnRequest(cli=("cat",), parent="main"))
        with pytest.raises(FleetError, match="8 are the most"):
            await fleet.spawn(SpawnRequest(cli=("cat",), parent="main"))
        assert len(fleet.rows()) == 10


SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
CLAUDE = (sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--work", "0.5")


@pytest.mark.parametrize("hooked", [True, False], ids=["by its hooks", "by its screen"])
@pytest.mark.usefixtures("home")
async def test_a_program_that_goes_on_waiting_reports_its_answer(yard: Yard, hooked: bool) -> None:
    """Somebody's program does not end with its task: what it answered is the report of a background agent."""
    if hooked:
        hooks.apply_plan(hooks.plan(load(Path("/nonexistent")).get("claude")))
    async with yard.hub(session_of=lambda agent: "s1") as fleet:
        row = await fleet.spawn(
            SpawnRequest(cli=CLAUDE, profile="claude", parent="main", background=True, name="scout", prompt="look")
        )
        (told,) = await yard.heard(PromptSubmitted)
        assert isinstance(told, PromptSubmitted)
        assert (told.agent, told.source) == ("main", f"agent {row.id}")
        assert "Answer number 1." in told.text
        now = await fleet.find(row.id)
        assert now.ended == 0.0
        assert (now.report == "Answer number 1.") is hooked, "a screen has its bullets"


async def test_a_background_report_reaches_the_conversation_that_asked_once(yard: Yard) -> None:
    session = "s1"
    async with yard.hub(session_of=lambda agent: session) as fleet:
        row = await fleet.spawn(SpawnRequest(cli=echo(), parent="main", background=True, name="scout"))
        await shows(yard, row, "ready")
        session = "another one"
        await fleet.send(row.id, "end", defer_if_busy=False)
        await status(fleet, row.id, "done")
        await fleet.refresh()
        assert yard.said(PromptSubmitted) == []
    session = "s1"
    async with yard.hub(session_of=lambda agent: session) as fleet:
        (told,) = await yard.heard(PromptSubmitted)
        assert isinstance(told, PromptSubmitted)
        assert (told.agent, told.source) == ("main", f"agent {row.id}")
        assert "scout (0001) has finished" in told.text
        assert "> got:end" in told.text
    async with yard.hub(session_of=lambda agent: session):
        pass
    assert len(yard.said(PromptSubmitted)) == 1
