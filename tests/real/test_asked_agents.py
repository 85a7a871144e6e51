"""Native agents in the resident process, with a thin pane in their terminal: whichever of the two dies."""

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import termios
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    InterruptRequested,
    ToolStarted,
    TurnFinished,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.session_events import SessionOpened
from gshtui.fleet.keeper.keeper import running_keeper
from gshtui.fleet.native.spec import with_mode
from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.store.tables.name_lookup import agents_in
from gshtui.system.caller_environment import MARK
from gshtui.tmux.server import TmuxServer
from tests.kit.command import ROOT, command, environment
from tests.kit.native_agents import (
    AGENT,
    RelayWindow,
    agent_process,
    opening_answer,
    prepare_spec,
    relay_window,
    shown,
    wait_for_exit,
)
from tests.kit.resident import resident
from tests.kit.tmux import eventually, tmux
from tests.kit.warm_program import run_gsh

__all__ = ["resident", "tmux"]
pytestmark = pytest.mark.usefixtures("resident")


def hub() -> int:
    """The pid of the resident process; 0: none."""
    found = running_keeper(paths.data_dir())
    return 0 if found is None or not found.ready else found.process.pid


def holders() -> set[int]:
    """The processes that have agents' conversations open."""
    with closing(sqlite3.connect(paths.data_dir() / "gsh.db")) as record:
        return {int(row[0]) for row in record.execute("SELECT pid FROM holds")}


def holder() -> int:
    """The process that has the agent's conversation open; 0: none."""
    return next(iter(holders()), 0)


def row(agent: str) -> AgentRow:
    """Its row in the record."""
    return next(one for one in agents_in(paths.data_dir() / "gsh.db") if one.id == agent)


async def sleeping(window: RelayWindow) -> psutil.Process:
    """Have the agent run a command that goes on; its process."""
    window.send_prompt("run command sleep 300")
    asked = await window.heard.wait_for(ApprovalRequested)
    window.bus.publish(ApprovalAnswered(approval=asked.approval, decision="once"))
    await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="tool")

    def find() -> psutil.Process | None:
        below = psutil.Process(hub()).children(recursive=True)
        return next((one for one in below if one.name() == "sleep"), None)

    found = await eventually(lambda: asyncio.to_thread(find))
    assert found is not None
    return found


async def stopped() -> None:
    """End the hub in order, as `hub stop` does."""
    process = psutil.Process(hub())
    process.terminate()
    await gone(process)


def reads_keys(pid: int) -> bool:
    """Whether a process reads keys as they are pressed."""
    with contextlib.suppress(OSError, termios.error), Path(f"/proc/{pid}/fd/0").open("rb", buffering=0) as terminal:
        return not termios.tcgetattr(terminal)[3] & termios.ICANON
    return False  # it has none yet


async def gone(process: psutil.Process) -> None:
    def is_gone() -> bool:
        with contextlib.suppress(psutil.NoSuchProcess):
            return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
        return True

    await eventually(lambda: asyncio.to_thread(is_gone))


async def test_the_agent_is_in_the_hub_and_its_terminal_loads_nothing_of_one(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as window:
        _, file = prepare_spec(tmp_path, hub=window.relay.socket)
        with agent_process(file, tmp_path) as process:
            await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            assert holder() == hub()
            window.send_prompt("what failed?")
            await window.heard.wait_for(TurnFinished)
            process.send_signal(signal.SIGTERM)
            assert (await wait_for_exit(process))[0] == 128 + signal.SIGTERM
        assert holder() == 0


def test_the_terminals_process_loads_the_standard_library_alone(tmp_path: Path) -> None:
    """Until its agent has ended: there is one for each agent, and what is loaded is paid for that often."""
    _, file = prepare_spec(tmp_path, "what failed?", background=True)
    code = "import sys; from gshtui.cli.entry import main\n"
    code += f"code = main(['agent', 'run', '--spec', {str(file)!r}])\n"
    code += "print('LOADED', code, *sorted({name.partition('.')[0] for name in sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    *_, line = ran.stdout.splitlines()
    mark, status, *loaded = line.split()
    assert (mark, status) == ("LOADED", "0"), ran.stdout
    own = {"gshtui", "__main__"} | {name for name in loaded if name.startswith(("_", "sitecustomize"))}
    assert set(loaded) - sys.stdlib_module_names - own == set()
    assert {"asyncio", "subprocess", "logging"}.isdisjoint(loaded)


async def test_a_killed_terminal_ends_the_agent_and_its_tools(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as window:
        _, file = prepare_spec(tmp_path, hub=window.relay.socket)
        with agent_process(file, tmp_path) as process:
            await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            tool = await sleeping(window)
            process.send_signal(signal.SIGKILL)
            await gone(tool)
            last = await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="failed")
            assert last.doing == "ended by SIGHUP"
        await eventually(lambda: asyncio.to_thread(lambda: holder() == 0))


async def test_who_starts_again_at_once_gets_the_conversation(tmp_path: Path) -> None:
    """The agent of the killed terminal is still about to end, and its tool with it."""
    async with relay_window(tmp_path) as window:
        _, file = prepare_spec(tmp_path, hub=window.relay.socket)
        with agent_process(file, tmp_path) as process:
            await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            await sleeping(window)
            starts = len(window.heard.of(AgentAdded, agent=AGENT))
            process.send_signal(signal.SIGKILL)
            with agent_process(file, tmp_path) as again:
                await window.heard.wait_for(AgentAdded, agent=AGENT, number=starts + 1)
                window.send_prompt("what failed?")
                await window.heard.wait_for(TurnFinished, stop="end")
                assert holder() == hub()
                again.send_signal(signal.SIGTERM)
                assert (await wait_for_exit(again))[0] == 128 + signal.SIGTERM


async def test_a_killed_hub_is_started_again_and_nothing_runs_twice(tmp_path: Path) -> None:
    """Its tool ends with it; the agent rests, and works on in the next one, which is not below the terminal."""
    async with relay_window(tmp_path) as window:
        _, file = prepare_spec(tmp_path, hub=window.relay.socket)
        with agent_process(file, tmp_path) as process:
            await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            tool, before = await sleeping(window), hub()
            os.kill(before, signal.SIGKILL)
            await gone(tool)
            await eventually(lambda: asyncio.to_thread(lambda: hub() not in (0, before)))
            after = hub()
            await eventually(lambda: asyncio.to_thread(lambda: holder() == after))
            assert process.pid not in [above.pid for above in psutil.Process(after).parents()]
            window.send_prompt("what failed?")
            await window.heard.wait_for(TurnFinished)
            assert len(window.heard.of(ToolStarted, agent=AGENT)) == 1
            assert len({event.session for event in window.heard.of(SessionOpened, agent=AGENT)}) == 1
            process.send_signal(signal.SIGTERM)
            assert (await wait_for_exit(process))[0] == 128 + signal.SIGTERM
    assert run_gsh("hub", "stop").code == 0


@pytest.mark.tmux
def test_a_command_interrupts_an_agent_that_no_window_hears(tmp_path: Path) -> None:
    """It is reached in the process that runs it."""
    spawned = run_gsh("agent", "spawn", "--provider", "offline", "run command sleep 300", cwd=tmp_path)
    agent = spawned.out.split()[0]
    try:
        assert run_gsh("agent", "wait", agent, "--status", "waiting").code == 0
        assert run_gsh("agent", "interrupt", agent).code == 0
        assert run_gsh("agent", "wait", agent, "--status", "idle").code == 0
    finally:
        assert run_gsh("agent", "kill", "--yes", agent).code == 0


@pytest.mark.tmux
def test_a_command_answers_an_agent_that_no_window_hears(tmp_path: Path) -> None:
    line = f"run command touch {tmp_path / 'made'}"
    spawned = run_gsh("agent", "spawn", "--provider", "offline", line, cwd=tmp_path)
    agent = spawned.out.split()[0]
    try:
        assert run_gsh("agent", "wait", agent, "--status", "waiting").code == 0
        assert "1  allow once" in run_gsh("agent", "answer", agent).out
        assert "none of its choices" in run_gsh("agent", "answer", agent, "7").err
        assert run_gsh("agent", "answer", agent, "1").code == 0
        assert run_gsh("agent", "wait", agent, "--status", "idle").code == 0
        assert (tmp_path / "made").exists()
        assert run_gsh("agent", "answer", agent).code == 1
    finally:
        assert run_gsh("agent", "kill", "--yes", agent).code == 0


@pytest.mark.tmux
async def test_what_is_typed_while_the_hub_hangs_is_in_the_next_one(tmux: TmuxServer, tmp_path: Path) -> None:
    _, file = prepare_spec(tmp_path)
    argv = command(["agent", "run", "--spec", str(file)])
    pane = (await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)).pane
    await tmux.type_bytes(pane, b"before ")
    await shown(tmux, pane, "idle", "› before")
    pid = hub()
    assert pid, "0 would stop the tests"
    os.kill(pid, signal.SIGSTOP)
    await tmux.type_bytes(pane, b"it hung, typed")
    os.kill(pid, signal.SIGKILL)
    await shown(tmux, pane, "The hub has ended.", "› before it hung, typed")
    assert run_gsh("hub", "stop", "--yes").code == 0


async def test_an_agent_waits_for_the_next_hub_and_is_in_its_last_mode_there(tmp_path: Path) -> None:
    async with relay_window(tmp_path) as window:
        spec, file = prepare_spec(tmp_path, hub=window.relay.socket)
        with agent_process(file, tmp_path) as process:
            await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            with_mode(Path(spec.data), AGENT, "plan")
            await stopped()
            assert run_gsh("hub", "start").code == 0
            await eventually(lambda: asyncio.to_thread(lambda: holder() == hub() != 0))
            window.send_prompt(f"run command touch {tmp_path / 'made'}")
            await window.heard.wait_for(TurnFinished)
            assert not window.heard.of(ApprovalRequested) and not (tmp_path / "made").exists()
            assert not window.heard.of(AgentStatusChanged, agent=AGENT, status="failed")
            starts = window.heard.of(AgentStatusChanged, agent=AGENT, status="starting")
            assert len({event.at for event in starts}) == 1
            assert len({event.session for event in window.heard.of(SessionOpened, agent=AGENT)}) == 1
            process.send_signal(signal.SIGTERM)
            assert (await wait_for_exit(process))[0] == 128 + signal.SIGTERM
    assert run_gsh("hub", "stop").code == 0


@pytest.mark.tmux
async def test_its_terminal_says_that_the_hub_was_stopped_and_enter_starts_the_next(
    tmux: TmuxServer, tmp_path: Path
) -> None:
    """Nothing starts it unasked, and what is typed meanwhile is there then."""
    _, file = prepare_spec(tmp_path)
    argv = command(["agent", "run", "--spec", str(file)])
    pane = (await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)).pane
    await shown(tmux, pane, "idle")
    await stopped()
    await shown(tmux, pane, "The hub was stopped")
    assert hub() == 0
    await tmux.type_bytes(pane, b"a dra")
    await tmux.type_bytes(pane, b"ft\r")
    await shown(tmux, pane, "› a draft", "idle")
    assert hub() and run_gsh("hub", "stop", "--yes").code == 0


@pytest.mark.tmux
async def test_an_update_of_the_program_is_followed_in_the_same_terminal(tmux: TmuxServer, tmp_path: Path) -> None:
    """The next hub is of the new program, and speaks to no terminal of the old one."""
    _, file = prepare_spec(tmp_path)
    old = "import sys; from pathlib import Path; from gshtui.headless.agents import agent_terminal as it\n"
    old += f"it.INSTALLED_AT = 1; sys.exit(it.run_agent(Path({str(file)!r})))"
    argv = [sys.executable, "-c", old]
    made = await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)
    await tmux.type_bytes(made.pane, b"what failed?\r")
    await shown(tmux, made.pane, "── done", "idle")
    await tmux.type_bytes(made.pane, b"half a sentence")
    await shown(tmux, made.pane, "› half a sentence")
    await stopped()
    assert run_gsh("hub", "start").code == 0
    await eventually(lambda: asyncio.to_thread(lambda: "agent run" in " ".join(psutil.Process(made.pid).cmdline())))
    await tmux.type_bytes(made.pane, b", and more\r")
    text = await shown(tmux, made.pane, "› half a sentence, and more\n", "idle")
    assert text.count("› what failed?") == 1
    with closing(sqlite3.connect(paths.data_dir() / "gsh.db")) as record:
        assert record.execute("SELECT count(DISTINCT session) FROM messages").fetchone() == (1,)
    assert run_gsh("hub", "stop", "--yes").code == 0


def of_old(work: str) -> list[str]:
    """A program that does this as one that was installed before this one."""
    begin = "import gshtui.system.installation as it; it.INSTALLED_AT = 1; import sys; from pathlib import Path\n"
    return [sys.executable, "-c", begin + work]


@pytest.mark.tmux
async def test_an_agent_waits_while_a_hub_of_the_old_program_works(tmux: TmuxServer, tmp_path: Path) -> None:
    assert run_gsh("hub", "stop", "--yes").code == 0
    _, works = prepare_spec(tmp_path, "run command sleep 300")
    _, waits = prepare_spec(tmp_path, agent="0013")
    serve = (
        "from gshtui.headless.servers.keeper_process import KeeperTerms, run_keeper; run_keeper(KeeperTerms(idle=0))"
    )
    run = f"from gshtui.headless.agents.agent_terminal import run_agent; run_agent(Path({str(works)!r}))"
    old = await asyncio.create_subprocess_exec(*of_old(serve), env=environment())
    try:
        await eventually(lambda: asyncio.to_thread(hub))
        panes = [
            await tmux.spawn(f"gsh-agent-{number}", argv, cwd=tmp_path, env=environment(), width=80, height=24)
            for number, argv in (("0012", of_old(run)), ("0013", command(["agent", "run", "--spec", str(waits)])))
        ]
        await shown(tmux, panes[0].pane, "sleep 300", "1 allow")
        await shown(tmux, panes[1].pane, "the agent waits for it")
        starting = asyncio.create_task(asyncio.to_thread(run_gsh, "hub", "start"))
        await tmux.type_bytes(panes[0].pane, b"4\r")
        await shown(tmux, panes[1].pane, "idle")
        await starting
        assert hub() not in (0, old.pid) and await old.wait() == 0
    finally:
        if old.returncode is None:
            old.kill()
            await old.wait()
    assert run_gsh("hub", "stop", "--yes").code == 0


async def test_what_the_hub_cannot_run_is_said_in_the_terminal(tmp_path: Path) -> None:
    _, file = prepare_spec(tmp_path)
    line = command(["agent", "run", "--spec", str(file)])
    env = environment({"GSH_TMUX__SOCKET_NAME": "another"})
    child = await asyncio.create_subprocess_exec(
        *line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path
    )
    out, err = await child.communicate()
    assert (child.returncode, out) == (1, b"")
    assert (
        b"the hub does not run this agent: its [tmux] or [store] settings are not the hub's." in err
        and b"Traceback" not in err
    )


@pytest.mark.tmux
async def test_what_its_person_types_before_a_hub_listens_is_answered(tmux: TmuxServer, tmp_path: Path) -> None:
    """A hub that is busy takes the agent late."""
    _, file = prepare_spec(tmp_path)
    argv = command(["agent", "run", "--spec", str(file)])
    pid = hub()
    assert pid, "0 would stop the tests"
    os.kill(pid, signal.SIGSTOP)
    try:
        pane = await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)
        await eventually(lambda: asyncio.to_thread(reads_keys, pane.pid))
        await tmux.type_bytes(pane.pane, b"what failed?\r")
    finally:
        os.kill(pid, signal.SIGCONT)
    await shown(tmux, pane.pane, "› what failed?", "── done")


@pytest.mark.tmux
async def test_what_is_typed_and_not_sent_outlives_the_hub(tmux: TmuxServer, tmp_path: Path) -> None:
    """The next one says so, and draws it where the last one did, in the conversation that there was."""
    _, file = prepare_spec(tmp_path)
    argv = command(["agent", "run", "--spec", str(file)])
    pane = (await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)).pane
    await tmux.type_bytes(pane, b"what failed?\r")
    await shown(tmux, pane, "── done", "idle")
    await tmux.type_bytes(pane, "half a sentence é漢".encode())
    await shown(tmux, pane, "› half a sentence é漢")
    os.kill(hub(), signal.SIGKILL)
    text = await shown(tmux, pane, "The hub has ended.", "› half a sentence é漢")
    assert text.count("› half a sentence") == 1
    await tmux.send_keys(pane, "Enter")
    await shown(tmux, pane, "› half a sentence é漢\n", "── done")
    with closing(sqlite3.connect(paths.data_dir() / "gsh.db")) as record:
        assert record.execute("SELECT count(DISTINCT session) FROM messages").fetchone() == (1,)
    assert run_gsh("hub", "stop", "--yes").code == 0


@pytest.mark.tmux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_whose_turn_was_cut_is_told_and_who_rested_rests_since_then(
    tmp_path: Path, number: signal.Signals
) -> None:
    words = ("agent", "spawn", "--provider", "offline")
    asks, rests = [run_gsh(*words, *more, cwd=tmp_path).out.split()[0] for more in (["run command sleep 300"], [])]
    try:
        assert run_gsh("agent", "wait", asks, "--status", "waiting").code == 0
        await eventually(lambda: asyncio.to_thread(lambda: row(rests).status == "idle"))
        before, since = hub(), row(rests).status_at
        process = psutil.Process(before)
        process.send_signal(number)
        await gone(process)
        run_gsh("hub", "start")
        await eventually(lambda: asyncio.to_thread(lambda: row(asks).doing == "its turn was cut"))
        await eventually(lambda: asyncio.to_thread(lambda: holders() == {hub()}))
        assert (row(asks).status, row(rests).status, row(rests).doing) == ("idle", "idle", "")
        assert row(rests).status_at == since
    finally:
        assert run_gsh("agent", "kill", "--yes", asks).code == run_gsh("agent", "kill", "--yes", rests).code == 0
    assert run_gsh("hub", "stop", "--yes").code == 0


async def test_a_background_agent_that_rests_goes_on_when_its_hub_is_stopped(tmp_path: Path) -> None:
    """One whose turn the person interrupted: nothing was cut, so it has not failed."""
    async with relay_window(tmp_path) as window:
        _, file = prepare_spec(tmp_path, "run command sleep 300", hub=window.relay.socket, background=True)
        with agent_process(file, tmp_path) as process:
            await window.heard.wait_for(ApprovalRequested)
            window.bus.publish(InterruptRequested(agent=AGENT))
            await window.heard.wait_for(TurnFinished)
            await window.heard.wait_for(AgentStatusChanged, agent=AGENT, status="idle")
            await stopped()
            assert run_gsh("hub", "start").code == 0
            await eventually(lambda: asyncio.to_thread(lambda: holder() == hub() != 0))
            window.send_prompt("what failed?")
            assert (await window.heard.wait_for(TurnFinished, number=2)).stop == "end"
            assert not window.heard.of(AgentStatusChanged, agent=AGENT, status="failed")
            assert (await wait_for_exit(process))[0] == 0
    assert run_gsh("hub", "stop").code == 0


async def test_a_hub_that_ends_in_mid_turn_takes_none_of_its_agents_again(tmp_path: Path) -> None:
    """The first pane that is given back asks at once, while another's turn still ends."""
    async with relay_window(tmp_path) as window:
        _, file = prepare_spec(tmp_path, hub=window.relay.socket)
        _, other = prepare_spec(tmp_path, agent="0013", hub=window.relay.socket)
        with agent_process(file, tmp_path) as process, agent_process(other, tmp_path) as second:
            for agent in (AGENT, "0013"):
                await window.heard.wait_for(AgentStatusChanged, agent=agent, status="idle")
            tool, pid = await sleeping(window), hub()
            os.kill(pid, signal.SIGTERM)
            await gone(tool)
            await gone(psutil.Process(pid))
            for one in (process, second):
                one.send_signal(signal.SIGTERM)
                assert (await wait_for_exit(one))[0] == 128 + signal.SIGTERM


async def test_who_the_record_does_not_name_is_no_pane(tmp_path: Path) -> None:
    """Neither of an agent that has ended, nor of one whose terminal has another process."""
    store = await Store.open(paths.data_dir() / "gsh.db")
    for ended, pid in ((1.0, 0), (0.0, os.getppid())):
        row = AgentRow(id="", name=f"bud-{pid}", cwd=str(tmp_path), home=str(tmp_path))
        row = await store.agents.add(row, SpawnRequest())
        await store.agents.update(row.id, ended=ended, pid=pid)
        prepare_spec(tmp_path, agent=row.id)
        assert "begins" not in await asyncio.to_thread(opening_answer, paths.data_dir() / "agents" / f"{row.id}.json")
    await store.close()


async def test_only_the_agents_own_terminal_is_its_pane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither another agent's terminal nor a command of an agent gets one, nor does anybody one that runs."""
    _, file = prepare_spec(tmp_path)
    code = "import sys; from pathlib import Path; from tests.kit.native_agents import opening_answer\n"
    code += f"sys.exit('begins' in opening_answer(Path({str(file)!r})))"
    for marks in ({"GSH_AGENT": "0099"}, {MARK: "call", "GSH_AGENT": AGENT}):
        path = {"PYTHONPATH": str(ROOT)}
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, cwd=tmp_path, env=environment(marks | path)
        )
        assert await child.wait() == 0, marks
    with agent_process(file, tmp_path) as process:
        await eventually(lambda: asyncio.to_thread(lambda: holder() == hub() != 0))
        assert "begins" not in await asyncio.to_thread(opening_answer, file)
        process.send_signal(signal.SIGTERM)
        await wait_for_exit(process)


def test_what_a_terminal_leaves_to_its_next_program_is_all_there_and_comes_by_no_variable(tmp_path: Path) -> None:
    """However long the draft; and nobody who spawns an agent types into its pane."""
    _, file = prepare_spec(tmp_path)
    code = "import os, sys; from pathlib import Path; from gshtui.headless.agents.agent_terminal import *\n"
    code += f"terminal = AgentTerminal(Path({str(file)!r})); terminal.kept = {{'draft': 'ä' * 200_000}}\n"
    code += "terminal.untaken[:] = bytes(range(256)) * 500; terminal.end = AgentEnd(None, None, True)\n"
    code += "kept = []\n"
    code += "os.execv = lambda program, words: kept.append((words, os.dup(int(words[-1]))))\n"
    code += "terminal.begin_anew(); words, fd = kept[0]; os.lseek(fd, 0, 0)\n"
    code += f"after = AgentTerminal(Path({str(file)!r})); after.go_on(fd)\n"
    code += "assert (after.kept, after.untaken, after.end) == (terminal.kept, terminal.untaken, terminal.end)\n"
    code += "assert words[1:8] == ['-P', '-m', 'gshtui', 'agent', 'run', '--spec', words[7]], words\n"
    code += "after.go_on(os.open('/dev/null', 0)); print('kept', len(after.untaken))"
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True)
    assert ran.stdout == "kept 128000\n"


@pytest.mark.tmux
async def test_a_paste_while_there_is_no_hub_is_as_it_was_pasted_and_ctrl_c_leaves(
    tmux: TmuxServer, tmp_path: Path
) -> None:
    _, file = prepare_spec(tmp_path)
    argv = command(["agent", "run", "--spec", str(file)])
    made = await tmux.spawn("gsh-agent-0012", argv, cwd=tmp_path, env=environment(), width=80, height=24)
    await shown(tmux, made.pane, "idle")
    await stopped()
    await shown(tmux, made.pane, "The hub was stopped")
    await tmux.type_bytes(made.pane, b"\x1b[200~first line\rsecond line\rthird\x1b[201~")
    assert run_gsh("hub", "start").code == 0
    await shown(tmux, made.pane, "first line", "second line", "third")
    assert run_gsh("hub", "stop", "--yes").code == 0
    await shown(tmux, made.pane, "The hub was stopped")
    process = psutil.Process(made.pid)
    await tmux.type_bytes(made.pane, b"\x03")
    await gone(process)


async def test_hubs_of_two_records_keep_their_own_agents(tmp_path: Path) -> None:
    """One that listens and has another record neither takes an agent nor keeps its own hub from starting."""
    env = {"GSH_GENERAL__SESSION_DIR": str(tmp_path / "other"), "GSH_TMUX__SOCKET_NAME": f"gsh-{os.getpid()}"}
    spawned = await asyncio.to_thread(run_gsh, "agent", "spawn", "--provider", "offline", env=env, cwd=tmp_path)
    assert spawned.code == 0, spawned.err
    try:
        waited = await asyncio.to_thread(run_gsh, "agent", "wait", "0001", "--status", "idle", env=env)
        assert waited.code == 0, waited.err
        assert (await asyncio.to_thread(run_gsh, "hub", "stop", "--yes", env=env)).code == 0
        first = hub()
        await eventually(lambda: asyncio.to_thread(lambda: running_keeper(tmp_path / "other") is None))
        assert hub() == first
    finally:
        await asyncio.to_thread(run_gsh, "agent", "kill", "--yes", "0001", env=env)
        await asyncio.to_thread(run_gsh, "hub", "stop", "--yes", env=env)
        words = ["tmux", "-L", f"gsh-{os.getpid()}", "kill-server"]
        await asyncio.to_thread(subprocess.run, words, check=False, capture_output=True)
