"""How the keeper starts: one for a data folder, by whoever needs it first, with neither a terminal nor tmux."""

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from gshtui import __version__
from gshtui.client.hub_greeting import HubSilent
from gshtui.fleet.keeper import keeper
from gshtui.fleet.keeper.keeper import (
    KeeperClaim,
    KeeperState,
    ensure_keeper,
    running_keeper,
    start_keeper,
    stop_keeper,
    wait_for_keeper,
)
from gshtui.headless.commands.command_hub import bring_hub
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.settings.paths import config_file, data_dir
from gshtui.shell.hub_registry import is_live
from gshtui.store.record.store import Store
from gshtui.system.files.file_lock import try_lock
from gshtui.system.installation import INSTALLED_AT, own_command
from gshtui.system.processes.process_identity import is_alive, process_of, this_process
from tests.kit.command import ROOT, command, environment
from tests.kit.tmux import eventually, named_servers
from tests.kit.warm_program import run_gsh, start_gsh
from tests.real.test_asked_turns import events_until

__all__ = ["named_servers"]

NEEDS_IT = """
import os, sys
from pathlib import Path
from gshtui.fleet.keeper.keeper import start_keeper
print("here", flush=True)
sys.stdin.read()
print(start_keeper(Path(sys.argv[1]), os.environ).started)
"""
"""A process that needs the keeper as soon as its input ends."""

HOLDS_IT = """
import signal, sys
from pathlib import Path
from gshtui.store.record.store import Store
from gshtui.system.files.file_lock import try_lock
assert try_lock(Path(sys.argv[1])) is not None
print("locked", flush=True)
signal.pause()
"""


@pytest.fixture
async def data(monkeypatch: pytest.MonkeyPatch, named_servers: Path) -> AsyncIterator[Path]:
    """The folder of a record whose keeper may run."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    folder = data_dir()
    try:
        yield folder
    finally:
        await stop_keeper(folder)


async def seen(data: Path, until: Callable[[KeeperState | None], object]) -> KeeperState | None:
    """The keeper, once it is so."""

    async def look() -> KeeperState | None:
        return await asyncio.to_thread(running_keeper, data)

    return await eventually(look, until=until)


def keepers(data: Path) -> list[int]:
    """Every process that is the keeper of this record, or was started to be it."""
    found: list[int] = []
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            words = (process.info["cmdline"] or [])[1:6]
            if words == own_command("hub", "run")[1:] and process.environ().get("XDG_DATA_HOME") == str(data.parent):
                found.append(process.pid)
    return found


async def test_of_eight_that_need_it_at_the_same_moment_one_starts_it(data: Path) -> None:
    words = (sys.executable, "-c", NEEDS_IT, str(data))
    pipe = asyncio.subprocess.PIPE
    crowd = [await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, env=environment()) for _ in range(8)]
    for process in crowd:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"here\n"
    for process in crowd:
        assert process.stdin is not None
        process.stdin.close()
    told = [(await process.communicate())[0].strip() for process in crowd]
    assert sorted(told) == [b"False"] * 7 + [b"True"]
    state = await wait_for_keeper(data)
    assert state is not None
    assert await asyncio.to_thread(keepers, data) == [state.process.pid]


async def test_a_word_brings_it_and_has_it_done_there(data: Path, tmp_path: Path) -> None:
    first = await asyncio.to_thread(run_gsh, "session", "ls", cwd=tmp_path)
    assert (first.code, first.err) == (0, "")
    state = running_keeper(data)
    assert state is not None and state.ready
    process = psutil.Process(state.process.pid)
    assert process.cmdline()[-2:] == ["--at-first", "5"]
    assert (process.terminal(), os.getsid(process.pid), os.getpgid(process.pid)) == (None, process.pid, process.pid)
    assert not (Path(os.environ["TMUX_TMPDIR"]) / f"tmux-{os.getuid()}" / "gsh").exists()
    again = await asyncio.to_thread(run_gsh, "hub", "status", "--json", cwd=tmp_path)
    assert again.json["pid"] == state.process.pid


@pytest.mark.parametrize(
    ("words", "env"),
    [
        (("session", "ls"), {"GSH_HUB__KEEP": "alone"}),
        (("hub", "status"), {}),
        (("run", "hub status"), {}),
        (("profiles", "ls"), {}),
        (("config", "show", "--set", "ui.theme=x"), {}),
        (("--version",), {}),
    ],
)
async def test_who_brings_none(data: Path, words: tuple[str, ...], env: dict[str, str]) -> None:
    assert (await asyncio.to_thread(run_gsh, *words, env=env)).code == 0
    assert running_keeper(data) is None
    assert await asyncio.to_thread(keepers, data) == []


@pytest.mark.parametrize("words", [("session", "ls"), ("gsh", "hello"), ("run", "usage"), ("mcp", "serve"), ("acp",)])
async def test_what_an_agent_runs_neither_starts_it_nor_is_it(data: Path, words: tuple[str, ...]) -> None:
    ran = await asyncio.to_thread(run_gsh, *words, env={"GSH_AGENT": "0001"}, stdin=b"")
    assert (ran.code, "No hub runs, and what an agent runs starts none." in ran.err, ran.out) == (1, True, "")
    assert not (data / "gsh.db").exists()


async def test_without_tmux_it_starts_and_does_what_needs_none(data: Path, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path)}
    started = await asyncio.to_thread(run_gsh, "hub", "start", "--json", env=env)
    assert started.code == 0, started.err
    assert is_live(paths.keeper_sockets()[0])
    status = await asyncio.to_thread(run_gsh, "hub", "status", "--json", env=env)
    assert status.json["pid"] == started.json["pid"]


PHASES: dict[str, Callable[[KeeperState | None], object]] = {
    "starter returned": lambda _: True,
    "claimed": lambda state: state is not None and (data_dir() / "keeper.json").exists(),
    "listens": lambda _: is_live(paths.keeper_sockets()[0]),
    "ready": lambda state: state is not None and state.ready,
}


@pytest.mark.parametrize("phase", PHASES)
async def test_killed_in_any_phase_of_its_start_the_next_one_starts(data: Path, phase: str) -> None:
    assert start_keeper(data, os.environ).started
    first = await seen(data, lambda state: state is not None and PHASES[phase](state))
    assert first is not None
    os.kill(first.process.pid, signal.SIGKILL)

    async def gone() -> bool:
        return not is_alive(first.process)

    await eventually(gone)
    assert running_keeper(data) is None
    assert start_keeper(data, os.environ).started
    second = await wait_for_keeper(data)
    assert second is not None
    assert second.process != first.process
    assert await asyncio.to_thread(keepers, data) == [second.process.pid]


@pytest.mark.parametrize("phase", PHASES)
async def test_one_that_stands_still_while_it_starts_is_the_only_one(
    data: Path, phase: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await (await Store.open(data / "gsh.db")).close()  # it is not to stand still while it makes the record
    assert start_keeper(data, os.environ).started
    first = await seen(data, lambda state: state is not None and PHASES[phase](state))
    assert first is not None
    os.kill(first.process.pid, signal.SIGSTOP)
    assert not start_keeper(data, os.environ).started
    monkeypatch.setattr(keeper, "_START_WITHIN", 0.2)
    settings = load(Path.cwd()).settings
    try:
        assert await bring_hub(settings)
    except HubSilent as silent:
        assert silent.pid == first.process.pid
    if phase in ("listens", "ready"):
        ran = await asyncio.to_thread(run_gsh, "session", "ls")
        assert (ran.code, ran.out) == (1, ""), "nothing else writes the record"
        assert f"(pid {first.process.pid}) does not answer" in ran.err
    assert await asyncio.to_thread(keepers, data) == [first.process.pid]
    if phase == "starter returned":
        status = await asyncio.to_thread(run_gsh, "hub", "status")
        assert (status.code, "has been starting since" in status.out) == (0, True)
    waited = await wait_for_keeper(data)
    assert waited is None or waited.process == first.process
    stopped = await asyncio.to_thread(run_gsh, "hub", "stop")
    assert (stopped.code, stopped.out) == (0, "The hub was stopped.\n")
    assert not is_alive(first.process)
    assert start_keeper(data, os.environ).started


async def test_a_starter_that_dies_leaves_nothing_locked(data: Path) -> None:
    """Whoever holds the lock without a keeper is only about to start one: its death frees it."""
    holder = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDS_IT, str(data / "keeper.lock")), stdout=asyncio.subprocess.PIPE, env=environment()
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    assert not start_keeper(data, os.environ).started
    holder.kill()
    await holder.wait()
    assert start_keeper(data, os.environ).started
    assert await wait_for_keeper(data) is not None


async def test_a_new_start_of_its_program_keeps_the_lock(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GSH_HUB__KEEP")  # it would go before the file
    assert start_keeper(data, os.environ).started
    first = await wait_for_keeper(data)
    assert first is not None
    free, over = list[int](), threading.Event()

    def look() -> None:
        while not over.is_set():
            if (descriptor := try_lock(data / "keeper.lock")) is not None:
                free.append(descriptor)
                return

    looking = threading.Thread(target=look)
    looking.start()
    try:
        config_file().parent.mkdir(parents=True, exist_ok=True)
        config_file().write_text("[budget]\nagent_tokens = 5\n")
        second = await seen(data, lambda state: state is not None and state.since > first.since and state.ready)
    finally:
        over.set()
        looking.join()
    assert second is not None
    assert (second.process, free) == (first.process, [])


async def test_a_cleared_runtime_folder_gets_its_socket_back(data: Path) -> None:
    assert start_keeper(data, os.environ).started
    state = await wait_for_keeper(data)
    assert state is not None
    path = paths.keeper_sockets()[0]
    for _ in range(4):
        shutil.rmtree(path.parent, ignore_errors=True)  # what is made anew meanwhile may stay

        async def back() -> bool:
            return path.exists() and is_live(path)

        await eventually(back)
    status = await asyncio.to_thread(run_gsh, "hub", "status", "--json")
    assert status.json["pid"] == state.process.pid


async def test_one_whose_folder_is_removed_ends_and_the_next_serves_the_new_one(data: Path) -> None:
    assert start_keeper(data, os.environ).started
    first = await wait_for_keeper(data)
    assert first is not None
    while data.exists():  # it may be writing there
        shutil.rmtree(data, ignore_errors=True)

    async def gone() -> bool:
        return not is_alive(first.process)

    await eventually(gone)
    ran = await asyncio.to_thread(run_gsh, "session", "ls")
    assert (ran.code, ran.err) == (0, "")
    second = await wait_for_keeper(data)
    assert second is not None
    assert await asyncio.to_thread(keepers, data) == [second.process.pid]


async def test_with_a_full_disk_the_word_is_done_and_none_starts(data: Path) -> None:
    assert (await asyncio.to_thread(run_gsh, "session", "ls", env={"GSH_HUB__KEEP": "alone"})).code == 0
    line = f"ulimit -f 0 && exec {shlex.join(command(('session', 'ls')))}"
    ran = await asyncio.to_thread(
        subprocess.run, ["sh", "-c", line], env=environment(), capture_output=True, text=True, check=False
    )
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr

    async def left() -> list[int]:
        return await asyncio.to_thread(keepers, data)

    await eventually(left, until=lambda found: not found)
    assert running_keeper(data) is None

    async def started() -> bool:  # one that ends has no words for a while in which it still has the lock
        return (await asyncio.to_thread(start_keeper, data, os.environ)).started

    assert await eventually(started)
    assert await wait_for_keeper(data) is not None


async def test_in_a_folder_that_cannot_be_written_the_word_is_done_and_none_starts(data: Path) -> None:
    assert (await asyncio.to_thread(run_gsh, "session", "ls", env={"GSH_HUB__KEEP": "alone"})).code == 0
    words = shlex.join(command(("profiles", "ls")))
    line = f"mount --bind {data} {data} && mount -o remount,ro,bind {data} && exec {words}"
    ran = await asyncio.to_thread(
        subprocess.run,
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", line],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    assert await asyncio.to_thread(keepers, data) == []


async def test_a_turn_with_settings_of_its_own_brings_it_and_makes_it_stay_no_longer(
    data: Path, tmp_path: Path
) -> None:
    words = ("prompt", "--set", "ui.theme=gsh-light", "--provider", "offline", "--json", "what failed?")
    assert (await asyncio.to_thread(run_gsh, *words, cwd=tmp_path)).code == 0
    state = running_keeper(data)
    assert state is not None and state.ready
    await stop_keeper(data)
    with start_gsh("hub", "run", "--at-first", "0.4", "--idle", "0") as process:
        await seen(data, lambda state: state is not None and state.ready)
        ran = await asyncio.to_thread(run_gsh, *words[:-1], "--yes", "run sleep 1", cwd=tmp_path)
        assert ran.code == 0
        assert await asyncio.to_thread(process.wait, 30) == 0


async def test_it_ends_soon_unless_there_was_something_to_do(data: Path, tmp_path: Path) -> None:
    with start_gsh("hub", "run", "--at-first", "0.2", "--idle", "0") as process:
        assert await asyncio.to_thread(process.wait, 30) == 0
    line = "sh -c 'until test -e end; do sleep 0.05; done'"
    assert run_gsh("agent", "spawn", "--cli", line, env={"GSH_HUB__KEEP": "alone"}, cwd=tmp_path).code == 0
    with start_gsh("hub", "run", "--at-first", "100", "--idle", "0.2") as process:
        await seen(data, lambda state: state is not None and state.process.pid == process.pid and state.ready)
        store = await Store.open(data / "gsh.db")

        async def owner() -> int:
            return (await store.agents.find("0001")).owner

        await eventually(owner, until=lambda pid: pid == process.pid)
        await store.close()
        (tmp_path / "end").touch()
        assert await asyncio.to_thread(process.wait, 30) == 0


async def test_its_end_at_a_logout_is_told_once_by_the_next_start(data: Path) -> None:
    claim = KeeperClaim(data)
    assert claim.acquire()
    claim.release(logged_out=True)
    written = msgspec.json.decode((data / "keeper.json").read_bytes(), type=KeeperState)
    over = msgspec.structs.replace(written.process, started="another process's")
    (data / "keeper.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(written, process=over)))
    ran = await asyncio.to_thread(run_gsh, "session", "ls")
    assert "The hub was ended when you logged out" in ran.err
    assert "enable-linger" in ran.err
    assert await wait_for_keeper(data) is not None
    assert (await asyncio.to_thread(run_gsh, "session", "ls")).err == ""


def test_only_the_lock_of_the_folder_is_taken_over(tmp_path: Path) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    other.mkdir()
    elsewhere = try_lock(other / "keeper.lock")
    assert elsewhere is not None
    for wrong in (elsewhere, 987):
        claim = KeeperClaim(folder, wrong)
        assert not claim.acquire()
    inherited = try_lock(folder / "keeper.lock")
    assert inherited is not None
    claim = KeeperClaim(folder, inherited)
    assert claim.acquire()
    assert not os.get_inheritable(inherited)
    assert try_lock(folder / "keeper.lock") is None
    assert claim.pass_on() == ["--lock", str(inherited)]
    assert os.get_inheritable(inherited)
    claim.release()
    assert try_lock(folder / "keeper.lock") is not None


async def test_one_of_another_container_is_never_signalled_by_its_number(data: Path) -> None:
    """Its number is another process here. Whether it is there, the lock tells, which counts in all of them."""
    stranger = await asyncio.create_subprocess_exec("sleep", "300")
    here = process_of(stranger.pid)
    there = msgspec.structs.replace(here, machine=here.machine.replace("pid:[", "pid:[9"))
    data.mkdir(parents=True, exist_ok=True)
    (data / "keeper.json").write_bytes(msgspec.json.encode(KeeperState(there, __version__, 0.0, ready=True)))
    assert running_keeper(data) is None
    assert await stop_keeper(data)
    lock = try_lock(data / "keeper.lock")
    assert lock is not None
    found = running_keeper(data)
    assert found is not None and found.process == there
    assert not await stop_keeper(data)
    ran = await asyncio.to_thread(run_gsh, "hub", "stop", "--yes")
    assert ran.code != 0 and "another container" in ran.err
    os.close(lock)
    assert stranger.returncode is None
    stranger.kill()
    await stranger.wait()


async def test_who_wants_it_longer_than_a_command_is_heard(tmp_path: Path) -> None:
    lock = try_lock(tmp_path / "keeper.lock")
    assert lock is not None
    starting = KeeperState(this_process(), __version__, 1.0, INSTALLED_AT, ready=False, brief=True)
    os.write(lock, msgspec.json.encode(starting))
    claim = KeeperClaim(tmp_path, lock)
    for claimed in (False, True):
        assert not claim.is_wanted_longer()
        assert not (await ensure_keeper(tmp_path, os.environ, briefly=True)).started
        assert not start_keeper(tmp_path, os.environ, briefly=True).started
        assert not claim.is_wanted_longer()
        if claimed:
            assert not (await ensure_keeper(tmp_path, os.environ)).started
        else:
            assert not start_keeper(tmp_path, os.environ).started
        assert claim.is_wanted_longer()
        os.pwrite(lock, msgspec.json.encode(starting) + b" ", 0)
        if not claimed:
            assert claim.acquire()
    claim.release()
    other = KeeperClaim(tmp_path)
    assert other.acquire()
    (tmp_path / "keeper.lock").write_bytes(
        msgspec.json.encode(msgspec.structs.replace(starting, process=process_of(os.getppid()), brief=False))
    )
    assert not other.is_wanted_longer(), "that was about another one"
    other.release()


def test_what_a_process_is_known_by() -> None:
    assert process_of(os.getpid()) == this_process()


async def test_hub_start_waits_for_one_that_another_process_starts(data: Path) -> None:
    started = [
        await asyncio.create_subprocess_exec(
            *command(("hub", "start", "--json")), stdout=asyncio.subprocess.PIPE, env=environment()
        )
        for _ in range(3)
    ]
    told = {json.loads((await process.communicate())[0])["pid"] for process in started}
    state = running_keeper(data)
    assert state is not None
    assert (told, state.ready) == ({state.process.pid}, True)


async def test_one_of_an_older_program_that_rests_makes_way_for_a_word(data: Path) -> None:
    assert start_keeper(data, os.environ).started
    first = await wait_for_keeper(data)
    assert first is not None
    (data / "keeper.json").write_bytes(msgspec.json.encode(msgspec.structs.replace(first, version="0.0.1")))
    assert (await ensure_keeper(data, os.environ, briefly=True)).started
    second = await wait_for_keeper(data)
    assert second is not None and second.process != first.process


async def test_a_newer_program_waits_for_the_end_of_a_turn_and_starts_the_next(data: Path, tmp_path: Path) -> None:
    assert start_keeper(data, os.environ).started
    first = await wait_for_keeper(data)
    assert first is not None
    line = "run sh -c 'until test -e go; do sleep 0.05; done; echo through'"
    with start_gsh("prompt", "--provider", "offline", "--json", "--yes", line, cwd=tmp_path) as process:
        await asyncio.to_thread(events_until, process, "ToolStarted")
        older = msgspec.structs.replace(first, version="0.0.1")
        (data / "keeper.json").write_bytes(msgspec.json.encode(older))
        for _ in range(2):
            assert not (await ensure_keeper(data, os.environ, briefly=True)).started

        async def closed() -> bool:
            return not paths.keeper_sockets()[0].exists()

        await eventually(closed)
        word = await asyncio.to_thread(run_gsh, "session", "ls", cwd=tmp_path)
        assert (word.code, "another version" in word.err) == (1, True), "it takes nothing new"
        assert await asyncio.to_thread(keepers, data) == [first.process.pid], "it has the lock until it ends"
        (tmp_path / "go").touch()
        out, err = await asyncio.to_thread(process.communicate, timeout=60)
    assert (process.returncode, b"through" in out) == (0, True), err

    async def gone() -> bool:
        return not is_alive(first.process)

    await eventually(gone)
    assert (await asyncio.to_thread(run_gsh, "session", "ls", cwd=tmp_path)).code == 0
    second = await wait_for_keeper(data)
    assert second is not None
    assert second.process != first.process
