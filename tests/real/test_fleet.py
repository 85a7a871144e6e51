"""Agents in terminals on a real tmux server and a real record: started, found again, lost, ended, restored."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from msgspec.structs import replace

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.agent_reducer import local_row
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.events.fleet_events import AgentEnded, AgentKilled, AgentRestored, AgentSpawned, AgentSpawnFailed
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.letter import Letter
from gshtui.commands.declaration import Caller, CommandError, Invocation
from gshtui.commands.execution import call
from gshtui.commands.registry import Registry
from gshtui.fleet.commands.agent_commands import commands
from gshtui.fleet.core.agent_calls import AnswerAgent
from gshtui.fleet.core.agent_states import AgentState
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.lifecycle import killer
from gshtui.guard.people import new_person, people_file, write_people
from gshtui.programs.hooks import hooks
from gshtui.programs.profiles.profile_files import load
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id
from gshtui.system.processes import process_tree
from gshtui.tmux.tmux_connection import TmuxConnection
from tests.kit.fleet_harness import FleetHarness, echo_program, program_request, wait_for_status, wait_for_text
from tests.kit.home import Home
from tests.kit.record import ROOT
from tests.kit.tmux import eventually, kill_server, private_server

ED25519 = "AAAAC3NzaC1lZDI1NTE5AAAAI" + "B" * 43
"""A public key."""


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncGenerator[FleetHarness]:
    async with private_server() as server:
        yield FleetHarness(tmp_path, server)


async def test_a_program_is_started_spoken_to_and_ends_with_its_report(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request(*echo_program(3), name="Repeater"))
        assert (row.id, row.name, row.kind, row.tmux_session) == ("0001", "repeater", "cli", "gsh-agent-0001")
        assert row.owner == os.getpid()
        await wait_for_text(harness, row, "ready")
        assert row.pid_started == process_tree.start_time(row.pid) != 0
        message = await fleet.send("1", "hello\nwith $(date) `x` ; #{pane_id}", defer_if_busy=False)
        assert message
        await wait_for_text(harness, row, "got:with $(date) `x` ; #{pane_id}")
        await fleet.send("repeater", "end", defer_if_busy=False)
        ended = await wait_for_status(fleet, "1", "failed")
        assert (ended.exit_status, ended.doing, ended.status_source) == (3, "exit 3", "process")
        assert "got:end" in await fleet.show("1")
        await harness.wait_for_event(AgentEnded)
        with pytest.raises(FleetError, match="has ended"):
            await fleet.send("1", "more")
        left = [
            harness.home / "data" / name for name in ("hooks/0001.jsonl", "agents/0001.json", "agents/0001.waiting")
        ]
        for path in left:
            path.parent.mkdir(exist_ok=True)
            path.touch()
        await fleet.remove("1")
        assert not any(path.exists() for path in left)
        with pytest.raises(FleetError, match="no agent"):
            await fleet.find("1")
        assert await harness.server.panes() == []
    assert [type(event) for event in harness.events].count(AgentSpawned) == 1


async def test_an_agent_of_a_window_is_answered_there(harness: FleetHarness, tmp_path: Path) -> None:
    async def windows(_cwd: str | None) -> list[AgentState]:
        return [AgentState(replace(local_row("main", 0.0), session=one, cwd=f"/{one}")) for one in ("1aaa", "1bbb")]

    async with harness.start_hub() as fleet:
        known = Registry(commands(fleet, windows=windows))
        around = Invocation(Caller(), cwd=tmp_path, project=tmp_path)
        for wanted, where in (("main", "/1aaa, /1bbb"), ("1bbb", "/1bbb")):
            with pytest.raises(CommandError, match=f"^{wanted} lives in a window of {where},"):
                await call(known, AnswerAgent(agent=wanted), around)
        with pytest.raises(CommandError, match="no agent"):
            await call(known, AnswerAgent(agent="nobody"), around)


async def test_a_prompt_is_typed_once_the_program_is_ready(harness: FleetHarness) -> None:
    slow = (sys.executable, "-c", "import select; select.select([], [], [], 2)\n" + echo_program()[2])
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request(*slow, prompt="first words"))
        await wait_for_text(harness, row, "got:first words")


async def test_what_cannot_start_leaves_nothing(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        with pytest.raises(FleetError, match="not on the PATH") as told:
            await fleet.spawn(program_request("no-such-program-here"))
        assert told.value.hint
        with pytest.raises(FleetError, match="does not exist"):
            await fleet.spawn(SpawnRequest(cli=echo_program(), cwd="/no/such/folder"))
        assert fleet.rows() == []
        assert await harness.server.panes() == []
    assert len(harness.published(AgentSpawnFailed)) == 2


async def test_a_program_that_ends_at_once_is_told_with_its_last_words(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        # It asks the terminal something and ends with the answer: the system drops what a program has just written
        # when it ends before the terminal has read it.
        script = r"stty raw; printf 'no login\r\n\033[6n'; head -c 1 >/dev/null; exit 7"
        row = await fleet.spawn(program_request("sh", "-c", script))
        ended = await wait_for_status(fleet, row.id, "failed")
        assert ended.exit_status == 7
        assert "no login" in await fleet.show(row.id)


async def test_names_that_are_taken_are_gone_round(harness: FleetHarness) -> None:
    await harness.server.spawn("gsh-agent-0001", ["cat"], cwd=harness.home, env={})
    async with harness.start_hub() as fleet:
        first = await fleet.spawn(program_request(*echo_program(), name="twin"))
        second = await fleet.spawn(program_request(*echo_program(), name="twin"))
        assert (first.tmux_session, second.tmux_session) == ("gsh-agent-0001-2", "gsh-agent-0002")
        assert (first.name, second.name) == ("twin", "twin-2")
        assert (await fleet.rename("2", "Other Name")).name == "other-name"
        assert (await fleet.find("other-name")).id == "0002"
        for long in (fleet.rename("2", "n" * 41), fleet.spawn(program_request(*echo_program(), name="n" * 41))):
            with pytest.raises(FleetError, match="An agent's name has at most 40 characters; this one has 41"):
                await long


async def test_no_agent_is_called_like_somebody_who_may_enter(harness: FleetHarness) -> None:
    """They may never have been in a call; a name that looks like theirs would keep them out."""
    person = new_person(f"ssh-ed25519 {ED25519}", "amy", "talk")
    write_people(people_file(create=True), [person])
    async with harness.start_hub() as fleet:
        first = await fleet.spawn(program_request(*echo_program(), name="Amy"))
        second = await fleet.spawn(program_request(*echo_program(), name="arny"))
        assert (first.name, second.name) == ("amy-2", "arny-2")
        assert (await fleet.rename("2", "amy")).name == "amy-3"


async def test_twenty_five_at_once_get_each_their_own_words(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        plain = ("sh", "-c", "echo ready; while read -r line; do echo got:$line; done")
        rows = await asyncio.gather(*(fleet.spawn(program_request(*plain, name=f"n{n}")) for n in range(25)))
        assert len({row.id for row in rows}) == len({row.pane for row in rows}) == 25
        await asyncio.gather(*(fleet.send(row.id, f"words of {row.name}.", defer_if_busy=False) for row in rows))
        for row in rows:
            seen = await wait_for_text(harness, row, f"got:words of {row.name}.")
            assert seen.count("got:") == 1


async def test_agents_outlive_a_hub_that_is_killed_and_the_next_one_takes_over(harness: FleetHarness) -> None:
    async with harness.start_hub_process(echo_program(), echo_program(5)) as (pid, ids), harness.start_hub() as fleet:
        stays, ends = [await fleet.find(id) for id in ids]
        assert (stays.owner, ends.owner) == (pid, pid)
        await wait_for_text(harness, ends, "ready")
        os.kill(pid, signal.SIGKILL)
        await harness.server.send_text(ends.pane, "end", enter=True)
        assert (await wait_for_status(fleet, ends.id, "failed")).exit_status == 5
        back = await fleet.find(stays.id)
        assert (back.pid, back.pane, back.ended, back.owner) == (stays.pid, stays.pane, 0.0, os.getpid())
        await fleet.send(stays.id, "still there", defer_if_busy=False)
        await wait_for_text(harness, stays, "got:still there")


async def test_while_its_hub_lives_another_one_only_reads(harness: FleetHarness) -> None:
    async with harness.start_hub_process(echo_program()) as (pid, ids), harness.start_hub() as fleet:
        row = await fleet.find(ids[0])
        await wait_for_text(harness, row, "ready")
        await fleet.send(row.id, "from the other window", defer_if_busy=False)
        await wait_for_text(harness, row, "got:from the other window")
        os.kill(row.pid, signal.SIGKILL)
        dead = await wait_for_status(fleet, row.id, "failed")
        assert (dead.exit_status, dead.doing, dead.owner) == (137, "signal 9", pid)
    assert harness.published(AgentEnded) == []


async def test_a_killed_server_loses_them_and_they_come_back_only_with_their_memory(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request(*echo_program()))
        await kill_server(harness.server)
        lost = await wait_for_status(fleet, row.id, "lost")
        assert "terminal is gone" in lost.doing
        await harness.wait_for_event(Noticed)
        with pytest.raises(FleetError, match="cannot continue where it was") as told:
            await fleet.recover(row.id)
        assert told.value.kind == "blank"
        revived = await fleet.restart(row.id)
        assert revived.how == "", "nothing is to be said of the conversation of a program that never goes on with one"
        again = revived.row
        assert (again.id, again.status, again.ended) == (row.id, "starting", 0.0)
        assert again.pid != row.pid
        await wait_for_text(harness, again, "ready")


async def test_a_terminal_whose_hub_died_before_it_wrote_it_down_is_found(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request(*echo_program()))
        await wait_for_text(harness, row, "ready")
    nobodys = {"pane": "", "tmux_session": "", "pid": 0, "pid_started": 0.0}
    store = await Store.open(harness.home / "data" / "gsh.db")
    await store.agents.update(row.id, **nobodys)
    await store.close()
    async with harness.start_hub() as fleet:

        async def found() -> AgentRow:
            await fleet.refresh()
            return await fleet.find(row.id)

        back = await eventually(found, until=lambda now: bool(now.pane))
        assert (back.pane, back.pid, back.pid_started) == (row.pane, row.pid, row.pid_started)
        assert back.status not in ("lost", "failed")
        await fleet.send(row.id, "found you", defer_if_busy=False)
        await wait_for_text(harness, row, "got:found you")


async def test_another_program_in_the_same_pane_is_not_the_agent(harness: FleetHarness) -> None:
    """Pane ids begin again on a new server: `%0` alone is nobody."""
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request(*echo_program()))
    await kill_server(harness.server)
    await eventually(harness.server.running, until=lambda runs: not runs)
    stranger = await harness.server.spawn(row.tmux_session, ["cat"], cwd=harness.home, env={})
    assert stranger.pane == row.pane
    async with harness.start_hub() as fleet:
        assert (await fleet.find(row.id)).status == "lost"
        assert await fleet.show(row.id) == ""
        await fleet.restart(row.id)
        assert not (await harness.server.pane(stranger.pane)).dead


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


async def test_recovering_all_stops_when_two_do_not_come_up(harness: FleetHarness, home: Home) -> None:
    folder = home.config / "gsh" / "profiles"
    folder.mkdir(parents=True)
    (folder / "mortal.toml").write_text(MORTAL)
    async with harness.start_hub() as fleet:
        rows = [await fleet.spawn(SpawnRequest(profile="mortal", name=f"m{n}")) for n in range(5)]
        for row in rows:
            await wait_for_text(harness, row, "ready")
        await kill_server(harness.server)
        for row in rows:
            await wait_for_status(fleet, row.id, "lost")
        assert [plan.how for plan in await fleet.plan_recovery()] == ["resumed its conversation"] * 5
        done = await fleet.recover_all()
        assert done.back == []
        assert [one.tried for one in done.lost] == [True, True, False, False, False]
        assert "m0 (0001) was restarted but ended at once" in done.lost[0].why
        assert "Find the common cause" in done.lost[-1].why
        assert [row.failures for row in fleet.rows()] == [1, 1, 0, 0, 0]
        assert len(await fleet.plan_recovery()) == 5, "those that were tried in vain are not left out"
        with pytest.raises(FleetError, match="ended at once, 2 times in a row"):
            await fleet.recover("0001")
        told = [event.text for event in harness.published(Noticed) if isinstance(event, Noticed)]
        assert not [text for text in told if "be recovered" in text], "the result says it, and nothing says it again"


async def mode_of(connection: TmuxConnection) -> str:
    return connection.mode


async def test_a_look_that_fails_changes_nothing(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request(*echo_program()))
        await wait_for_text(harness, row, "ready")
        connection = fleet.terminals.server(row.socket).connection
        await eventually(lambda: mode_of(connection), until="control".__eq__)
        server = next(p for p in psutil.process_iter() if p.pid == psutil.Process(row.pid).ppid())
        server.suspend()
        try:
            await fleet.refresh()
            assert (await fleet.find(row.id)).status not in ("lost", "done", "failed")
        finally:
            server.resume()
        await wait_for_text(harness, row, "ready")


FORKS = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import signal, time\\nfor one in (signal.SIGHUP, signal.SIGTERM):"
                          " signal.signal(one, signal.SIG_IGN)\\nwhile True: print(time.monotonic_ns(), flush=True)"],
                         stdout=open(sys.argv[1], "w"), process_group=0)
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


async def test_a_profile_that_comes_or_changes_counts_at_once(harness: FleetHarness, home: Home) -> None:
    """No agent is started again, and the screen does not move."""
    folder = home.config / "gsh" / "profiles"
    says = (sys.executable, "-c", "print('= open =', flush=True); input()")
    rule = "title = 'New'\n[[rules]]\nname = 'open'\nstatus = '{}'\nall = ['^= open =']\n"
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=says, profile="repl"))
        await wait_for_text(harness, row, "= open =")
        folder.mkdir(parents=True)
        (folder / "repl.toml").write_text(rule.format("waiting"), "utf-8")
        await wait_for_status(fleet, row.id, "waiting")
        (folder / "repl.toml").write_text(rule.format("dozing"), "utf-8")

        async def problem() -> str:
            await asyncio.sleep(0)
            notices = [one for one in harness.published(Noticed) if isinstance(one, Noticed)]
            return next((one.text for one in notices if one.about == "profiles"), "")

        text = await eventually(problem)
        assert str(folder / "repl.toml") in text and "`$.rules[0].status`" in text
        (folder / "repl.toml").write_text(rule.format("thinking"), "utf-8")
        await wait_for_status(fleet, row.id, "thinking")


@pytest.mark.usefixtures("steady")
async def test_a_kill_is_told_stops_the_work_and_can_be_undone(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        output = harness.home / "numbers"
        row = await fleet.spawn(SpawnRequest(cli=(sys.executable, "-c", FORKS, str(output)), profile="steady"))
        await wait_for_text(harness, row, "ready")
        await wait_for_status(fleet, row.id, "idle")
        (unsaved,) = await fleet.unsaved(row.id)
        assert "is running a command" in unsaved
        killed = await fleet.kill(row.id)
        assert killed.killed
        (worker,) = psutil.Process(row.pid).children()
        await eventually(lambda: asyncio.to_thread(worker.status), until=lambda now: now == psutil.STATUS_STOPPED)
        (event,) = await harness.wait_for_event(AgentKilled)
        assert isinstance(event, AgentKilled)
        assert event.until == pytest.approx(killed.killed_at + 60)  # pyright: ignore[reportUnknownMemberType]
        with pytest.raises(FleetError, match="was killed"):
            await fleet.send(row.id, "hello")
        restored = await fleet.undo_kill(row.id)
        assert not restored.killed
        assert worker.status() != psutil.STATUS_STOPPED
        await fleet.send(row.id, "go on", defer_if_busy=False)
        await wait_for_text(harness, row, "go on")
    await harness.wait_for_event(AgentRestored)


@pytest.mark.parametrize("then", ["it asks", "it rests"])
@pytest.mark.parametrize("first", ["it asks", "it rests"])
async def test_after_an_undone_kill_it_needs_a_person_as_what_it_shows_does(
    harness: FleetHarness, home: Home, first: str, then: str
) -> None:
    """Its interrupt has answered its question, has led to one, or to nothing."""
    (folder := home.config / "gsh" / "profiles").mkdir(parents=True)
    rules = "".join(
        f"[[rules]]\nstatus = '{status}'\nall = ['^{shown}']\n"
        for status, shown in (("waiting", "it asks"), ("idle", "it rests"))
    )
    (folder / "fix.toml").write_text(f"title = 'Fix'\nprograms = ['fix']\n{rules}[keys]\ninterrupt = ['Enter']\n")
    program = f"print({first!r}, flush=True); input(); print('\\033[H' {then!r} '\\033[K', flush=True); input()"
    words = {"it asks": "waiting", "it rests": "idle"}
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=(sys.executable, "-c", program), profile="fix"))
        row = await wait_for_status(fleet, row.id, words[first])
        assert row.needs_you == (first == "it asks")
        assert not (await fleet.kill(row.id)).needs_you
        await wait_for_text(harness, row, then)
        killed = await wait_for_status(fleet, row.id, words[then])
        assert (killed.killed, killed.needs_you, killed.doing) == (True, False, "killed")
        back = await fleet.undo_kill(row.id)
        assert (back.killed, back.status, back.needs_you) == (False, words[then], then == "it asks")


@pytest.mark.usefixtures("steady")
@pytest.mark.parametrize("hours_set_back", [0, 1])
async def test_a_killed_agent_ends_with_all_it_started_when_its_while_is_over(
    harness: FleetHarness, monkeypatch: pytest.MonkeyPatch, hours_set_back: int
) -> None:
    harness.grace = 0.3
    killed_at, set_back = time.time() + 3600 * hours_set_back, iter([True])

    def clock() -> float:
        return killed_at if next(set_back, False) else time.time()

    monkeypatch.setattr(killer, "time", SimpleNamespace(time=clock, monotonic=time.monotonic))
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(
            SpawnRequest(cli=(sys.executable, "-c", FORKS, str(harness.home / "numbers")), profile="steady")
        )
        await wait_for_text(harness, row, "ready")
        (worker,) = psutil.Process(row.pid).children()
        await fleet.kill(row.id)
        ended = await wait_for_status(fleet, row.id, "done")
        assert (ended.killed, ended.doing) == (True, "killed")
        assert process_tree.start_time(worker.pid) == 0  # though it obeys nothing but SIGKILL
        assert not process_tree.runs(row.pid, row.pid_started)
        with pytest.raises(FleetError, match="has already ended"):
            await fleet.undo_kill(row.id)


@pytest.mark.usefixtures("steady")
async def test_nothing_waits_for_a_killed_agent_whose_program_has_ended(harness: FleetHarness) -> None:
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(SpawnRequest(cli=("cat",), profile="steady"))
        killed = await fleet.kill(row.id)
        assert not killed.ended
        os.kill(row.pid, signal.SIGKILL)
        ended = await wait_for_status(fleet, row.id, "done")
        assert (ended.killed, ended.doing) == (True, "killed")
        told = await eventually(lambda: harness.wait_for_event(AgentKilled), until=lambda events: len(events) == 2)
        assert [event.until for event in told if isinstance(event, AgentKilled)][-1] == 0, "final at once"


async def test_a_program_that_ignores_the_hang_up_is_ended_too(harness: FleetHarness) -> None:
    stubborn = "trap '' HUP TERM INT; echo ready; while :; do read -r x || sleep 1; done"
    async with harness.start_hub() as fleet:
        row = await fleet.spawn(program_request("sh", "-c", stubborn))
        await wait_for_text(harness, row, "ready")
        ended = await fleet.kill(row.id, now=True)
        assert ended.status == "done"
        assert not process_tree.runs(row.pid, row.pid_started)


async def test_an_agent_may_not_nest_deeper_than_three_nor_start_too_many(harness: FleetHarness) -> None:
    async with harness.start_hub(session_of=lambda agent: "s1") as fleet:
        parent = "main"
        for depth in (1, 2, 3):
            row = await fleet.spawn(SpawnRequest(cli=("cat",), parent=parent))
            assert row.depth == depth
            parent = row.id
        with pytest.raises(FleetError, match="nested 3 deep"):
            await fleet.spawn(SpawnRequest(cli=("cat",), parent=parent))
        for _ in range(7):
            await fleet.spawn(SpawnRequest(cli=("cat",), parent="main"))
        with pytest.raises(FleetError, match="the limit is 8"):
            await fleet.spawn(SpawnRequest(cli=("cat",), parent="main"))
        assert len(fleet.rows()) == 10


SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
CLAUDE = (sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--work", "0.5")


@pytest.mark.parametrize("hooked", [True, False], ids=["by its hooks", "by its screen"])
@pytest.mark.usefixtures("home")
async def test_a_program_that_goes_on_waiting_reports_its_answer(harness: FleetHarness, hooked: bool) -> None:
    """Somebody's program does not end with its task: what it answered is the report of a background agent."""
    if hooked:
        hooks.apply_plan(hooks.plan(load(Path("/nonexistent")).get("claude")))
    async with harness.start_hub(session_of=lambda agent: "s1") as fleet:
        row = await fleet.spawn(
            SpawnRequest(cli=CLAUDE, profile="claude", parent="main", background=True, name="scout", prompt="look")
        )
        (told,) = await harness.wait_for_event(PromptSubmitted)
        assert isinstance(told, PromptSubmitted)
        assert (told.agent, told.source) == ("main", f"agent {row.id}")
        assert "Answer number 1." in told.text
        now = await fleet.find(row.id)
        assert now.ended == 0.0
        assert (now.report == "Answer number 1.") is hooked, "a screen has its bullets"


async def test_a_background_report_reaches_the_conversation_that_asked_once(harness: FleetHarness) -> None:
    session = "s1"
    async with harness.start_hub(session_of=lambda agent: session) as fleet:
        row = await fleet.spawn(SpawnRequest(cli=echo_program(), parent="main", background=True, name="scout"))
        await wait_for_text(harness, row, "ready")
        session = "another one"
        await fleet.send(row.id, "end", defer_if_busy=False)
        await wait_for_status(fleet, row.id, "done")
        await fleet.refresh()
        assert harness.published(PromptSubmitted) == []
    session = "s1"
    async with harness.start_hub(session_of=lambda agent: session) as fleet:
        (told,) = await harness.wait_for_event(PromptSubmitted)
        assert isinstance(told, PromptSubmitted)
        assert (told.agent, told.source) == ("main", f"agent {row.id}")
        assert "scout (0001) has finished" in told.text
        assert "> got:end" in told.text
    async with harness.start_hub(session_of=lambda agent: session):
        pass
    assert len(harness.published(PromptSubmitted)) == 1


async def test_an_agent_that_another_process_restarts_is_not_lost_meanwhile(harness: FleetHarness) -> None:
    """A window and a command at once: the window watches the terminal that the command exchanges."""
    async with harness.start_hub() as window:
        for number in range(3):
            row = await window.spawn(program_request(*echo_program(), name=f"a{number}"))
            await wait_for_text(harness, row, "ready")
            await run_child(RESTARTS, str(harness.home), str(harness.server.socket_path), row.id)

            async def watched(id: str = row.id) -> AgentRow:
                await window.refresh()
                return await window.find(id)

            back = await eventually(watched, until=lambda now, pid=row.pid: now.pid != pid and now.owner == os.getpid())
            assert not back.ended
        inside = (await window.restart("a0")).row
        assert not (await window.find(inside.id)).ended
        await window.kill(inside.id, now=True)
    assert [event for event in harness.published(Noticed) if "Lost" in str(event)] == []


async def test_an_agent_whose_restart_is_killed_half_way_is_found_lost(harness: FleetHarness) -> None:
    async with harness.start_hub() as window:
        row = await window.spawn(program_request(*echo_program(), name="a"))
        await wait_for_text(harness, row, "ready")
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            TAKES,
            str(harness.home / "data" / "gsh.db"),
            row.id,
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert child.stdout is not None
        assert (await child.stdout.readline()).strip() == b"taken"
        await harness.server.kill_pane(row.pane)
        assert not (await window.refresh())[0].ended, "another process restarts it"
        plans = asyncio.create_task(window.plan_recovery())  # what is about to end still has it
        assert not (await asyncio.wait([plans], timeout=0.5))[0], "it waits for that"
        child.kill()
        await child.wait()
        assert [plan.row.id for plan in await plans] == [row.id]
        await wait_for_status(window, row.id, "lost")


async def run_child(*words: str) -> None:
    """Run Python with these arguments, to the end."""
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", *words, cwd=ROOT)
    assert await child.wait() == 0


RESTARTS = """
import asyncio, sys
from pathlib import Path
from gshtui.tmux.server import TmuxServer
from tests.kit.fleet_harness import FleetHarness

async def main():
    home, socket, id = sys.argv[1:]
    async with FleetHarness(Path(home), TmuxServer(socket_path=Path(socket))).start_hub(visiting=True) as command:
        await command.restart(id)

asyncio.run(main())
"""
TAKES = """
import asyncio, sys
from pathlib import Path
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    await store.agents.acquire(sys.argv[2])
    print("taken", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_who_waits_for_an_agent_is_told_once_that_it_asks(harness: FleetHarness) -> None:
    async with harness.start_hub(visiting=True) as fleet:
        row = await fleet.spawn(program_request("sh", "-c", "printf 'Delete it? [y/n] '; read -r answer", name="it"))
        store = await Store.open(harness.home / "data" / "gsh.db")
        try:
            letter = await store.mail.add(Letter(id=new_id(), recipient=row.id, text="go on"))

            async def told() -> list[str]:
                assert await fleet.sent.handled(letter.id) is None
                return [event.text for event in harness.events if isinstance(event, Noticed) and event.about == row.id]

            first = await eventually(told, until=bool)
            assert "waits for an answer" in first[0]
            assert [await told() for _ in range(3)] == [first] * 3
        finally:
            await store.close()
