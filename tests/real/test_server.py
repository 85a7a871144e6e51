"""A server of our own on real tmux: what is started is exactly what was asked for, and what is ended is gone."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from gshtui.system.processes.processes import running_processes
from gshtui.tmux.quoting import ShownRow
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.tmux.watcher import PaneChange
from tests.kit.tmux import (
    clients,
    eventually,
    pane_is_gone,
    private_server,
    screen_text,
    short_folder,
    tmux,
    wait_for_text,
)

__all__ = ["tmux"]

ENV = {"PATH": os.environ["PATH"], "HOME": "/tmp"}
TELL = """
import json, os, sys
with open(os.environ["TELL_TO"], "w") as file:
    json.dump([sys.argv[1:], os.environ.get("ODD"), os.getcwd()], file)
print("TOLD", flush=True)
sys.stdin.read()
"""


async def kind_of(awaitable: object) -> str:
    """The kind of the error that this raises."""
    with pytest.raises(TmuxError) as raised:
        await awaitable  # type: ignore[misc]
    assert raised.value.message
    return raised.value.kind


async def test_arguments_variables_and_folder_arrive_byte_for_byte(tmux: TmuxServer, tmp_path: Path) -> None:
    trap = tmp_path / "ran"
    cwd = tmp_path / f"a#(touch {str(trap).replace('/', ':')})#{{pane_id}};"
    cwd.mkdir()
    argv = ["ends;", ";", f"#(touch {trap})", "$HOME `x` $(y)", "q\"'\\", "", "-x", "%1", "{a", "~", "é\nnew\tline"]
    odd = f"x\ny;$HOME #(touch {trap}) 'q' \"é\\"
    written = tmp_path / "told"
    env = ENV | {"ODD": odd, "TELL_TO": str(written)}
    pane = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", TELL, *argv], cwd=cwd, env=env)
    await wait_for_text(tmux, pane.pane, "TOLD")
    assert json.loads(written.read_text()) == [argv, odd, str(cwd)]
    assert pane.session == "gsh-agent-0001"
    assert (pane.width, pane.height) == (160, 45)
    assert not trap.exists()


async def test_the_environment_is_in_no_process_listing_and_the_servers_own_holds_no_key(
    tmux: TmuxServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-of-the-person")
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV | {"SECRET": "only-for-this-one"})
    other = await tmux.spawn("gsh-agent-0002", ["cat"], cwd=Path("/tmp"), env=ENV)
    for process in psutil.process_iter():
        try:
            assert "only-for-this-one" not in " ".join(process.cmdline())
        except psutil.Error:
            continue
    assert psutil.Process(pane.pid).environ()["SECRET"] == "only-for-this-one"
    assert "SECRET" not in psutil.Process(other.pid).environ()
    assert "ANTHROPIC_API_KEY" not in psutil.Process(other.pid).environ()


async def test_a_program_that_ends_at_once_is_still_there_to_be_read(tmux: TmuxServer) -> None:
    # Not by a shell: tmux may miss what is written in the very instant of the end.
    program = [sys.executable, "-c", "print('last words'); raise SystemExit(7)"]
    pane = await tmux.spawn("gsh-agent-0001", program, cwd=Path("/tmp"), env=ENV)
    info = await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.exit_status is not None)
    assert info.dead
    assert info.exit_status == 7
    assert await screen_text(tmux, pane.pane) == "last words"


async def test_a_program_that_does_not_exist_says_so_in_its_pane(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["no-such-program"], cwd=Path("/tmp"), env=ENV)
    info = await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.exit_status is not None)
    assert info.dead
    assert info.exit_status == 127
    assert "no-such-program: there is no such program" in await screen_text(tmux, pane.pane)


async def test_a_program_that_a_signal_ended_has_its_status(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["sh", "-c", "kill -9 $$"], cwd=Path("/tmp"), env=ENV)
    info = await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.exit_status is not None)
    assert info.dead
    assert info.exit_status == 137


async def test_a_name_that_is_taken_is_refused_and_what_has_it_lives(tmux: TmuxServer) -> None:
    first = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    with pytest.raises(TmuxError) as raised:
        await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    assert raised.value.kind == "name_taken"
    assert "gsh-agent-0001" in raised.value.message
    assert [info.pane for info in await tmux.panes()] == [first.pane]
    # A name that begins like another's is another name.
    await tmux.spawn("gsh-agent-00011", ["cat"], cwd=Path("/tmp"), env=ENV)
    await tmux.kill_pane(first.pane)
    assert [info.session for info in await tmux.panes()] == ["gsh-agent-00011"]


@pytest.mark.parametrize("session", ["", "UPPER", "a b", "a.b", "a:b", "#(touch x)", "-x", "ä", "=a"])
async def test_names_that_tmux_would_read_otherwise_are_refused(tmux: TmuxServer, session: str) -> None:
    assert await kind_of(tmux.spawn(session, ["cat"], cwd=Path("/tmp"), env=ENV)) == "refused"


async def test_what_cannot_be_started_is_refused_with_a_reason(tmux: TmuxServer, tmp_path: Path) -> None:
    spawn = tmux.spawn
    assert await kind_of(spawn("a", [], cwd=tmp_path, env={})) == "refused"
    assert await kind_of(spawn("a", ["cat"], cwd=tmp_path / "none", env={})) == "refused"
    assert await kind_of(spawn("a", ["cat"], cwd=tmp_path, env={"A=B": "c"})) == "refused"
    assert await kind_of(spawn("a", ["cat", "\0"], cwd=tmp_path, env={})) == "refused"
    assert await kind_of(spawn("a", ["cat"], cwd=tmp_path, env={}, width=100_000)) == "refused"
    assert await tmux.panes() == []


async def test_panes_are_named_by_ids_only(tmux: TmuxServer) -> None:
    await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    for target in ("gsh-agent-0001", "%", "%1x", "", "{last}", "%0;kill-server"):
        assert await kind_of(tmux.pane(target)) == "no_such_pane"
        assert await kind_of(tmux.send_keys(target, "Enter")) == "no_such_pane"
    assert await kind_of(tmux.pane("%77")) == "no_such_pane"
    assert await kind_of(tmux.capture("%77")) == "no_such_pane"
    assert len(await tmux.panes()) == 1


STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
ignoring = "from signal import *; signal(1, SIG_IGN); signal(15, SIG_IGN); print('c', flush=True); pause()"
child = subprocess.Popen([sys.executable, "-c", ignoring], stdout=subprocess.PIPE)
child.stdout.readline()
# A daemon: a session of its own, no parent that is ours.
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    pid = os.fork()
    if pid:
        os._exit(0)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.write(write, str(os.getpid()).encode())
    for fd in (0, 1, 2):
        os.close(fd)
    while True:
        signal.pause()
print("PIDS", os.getpid(), child.pid, os.read(read, 20).decode(), flush=True)
while True:
    signal.pause()
"""


async def test_kill_ends_what_ignores_signals_and_daemons_and_nothing_else(tmux: TmuxServer) -> None:
    other = await tmux.spawn("gsh-agent-0002", ["cat"], cwd=Path("/tmp"), env=ENV)
    pane = await tmux.spawn("gsh-agent-0001", [sys.executable, "-c", STUBBORN], cwd=Path("/tmp"), env=ENV)
    seen = await wait_for_text(tmux, pane.pane, "PIDS")
    pids = [int(word) for word in seen.split("PIDS", 1)[1].split()]
    assert len(pids) == 3
    processes = [psutil.Process(pid) for pid in pids]
    await tmux.kill_pane(pane.pane, grace=0.6)
    assert await pane_is_gone(tmux, pane.pane)
    assert running_processes(processes) == []
    assert not (await tmux.pane(other.pane)).dead


async def test_a_dead_pane_is_removed_by_kill(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["true"], cwd=Path("/tmp"), env=ENV)
    await eventually(lambda: tmux.pane(pane.pane), until=lambda info: info.dead)
    await tmux.kill_pane(pane.pane)
    assert await tmux.panes() == []


async def test_a_server_lives_while_held_and_ends_with_its_last_session(tmux: TmuxServer) -> None:
    assert not await tmux.running()
    assert await tmux.panes() == []
    assert await kind_of(tmux.pane("%0")) == "gone"
    await tmux.start()
    await tmux.start()
    assert await tmux.running()
    assert await tmux.panes() == []
    assert await kind_of(tmux.pane("%0")) == "no_such_pane"
    await tmux.close()
    await eventually(tmux.running, until=lambda running: not running)


async def test_agents_outlive_whoever_started_them(tmux: TmuxServer) -> None:
    pane = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    await tmux.close()
    later = TmuxServer(socket_path=tmux.socket_path)
    assert [info.pid for info in await later.panes()] == [pane.pid]
    await later.close()


async def test_without_tmux_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    server = TmuxServer("gsh")
    for call in (server.version(), server.start(), server.panes(), server.spawn("a", ["x"], cwd=tmp_path, env={})):
        with pytest.raises(TmuxError) as raised:
            await call
        assert raised.value.kind == "missing"
        assert "Install tmux" in raised.value.hint
    await server.close()


async def test_a_tmux_that_is_too_old_is_refused_before_anything_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claims(tmp_path, monkeypatch, "tmux 2.9a")
    server = TmuxServer("gsh")
    assert await kind_of(server.spawn("a", ["x"], cwd=tmp_path, env={})) == "old"
    assert await kind_of(server.running()) == "old"
    await server.close()


async def test_an_older_tmux_gets_what_it_understands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    claims(tmp_path, monkeypatch, "tmux 3.1c")
    async with private_server() as server:
        written = tmp_path / "told"
        env = ENV | {"ODD": "x;\n$HOME -y", "TELL_TO": str(written)}
        argv = [sys.executable, "-c", TELL, "ends;", "#(x)"]
        pane = await server.spawn("gsh-agent-0001", argv, cwd=tmp_path, env=env)
        await wait_for_text(server, pane.pane, "TOLD")
        assert json.loads(written.read_text()) == [["ends;", "#(x)"], env["ODD"], str(tmp_path)]
        assert psutil.Process(pane.pid).environ()["ODD"] == "x;\n$HOME -y"


def claims(folder: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    """Put a tmux on the PATH that says it is another version, and is the real one otherwise."""
    real = shutil.which("tmux")
    fake = folder / "bin" / "tmux"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\ncase "$*" in *-V*) echo "{version}"; exit;; esac\nexec {real} "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")


async def test_a_stopped_server_costs_a_deadline_not_the_program(tmux: TmuxServer) -> None:
    await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    (told,) = await tmux.connection.ask(["display-message -p '#{pid}'"])
    process = psutil.Process(int(told.text()[0]))
    process.send_signal(signal.SIGSTOP)
    try:
        before = clients_of(tmux)
        with pytest.raises(TmuxError) as raised:
            await tmux.connection.ask(["list-sessions"], deadline=0.3)
        assert raised.value.kind == "timeout"
        assert clients_of(tmux) == before == []
    finally:
        process.send_signal(signal.SIGCONT)
    assert len(await tmux.panes()) == 1


async def test_a_look_is_the_pane_and_its_screen_wherever_the_pane_is(tmux: TmuxServer) -> None:
    one = await tmux.spawn("gsh-agent-0001", ["sh", "-c", "printf 'one\\n'; exec cat"], cwd=Path("/tmp"), env=ENV)
    two = await tmux.spawn("gsh-agent-0002", ["sh", "-c", "printf 'two\\n'; exec cat"], cwd=Path("/tmp"), env=ENV)
    seen: list[PaneChange] = []
    tmux.watcher.watch(one.pane, seen.append)

    async def known() -> object:
        return tmux.watcher.info(one.pane)

    await eventually(known)
    for pane, text, session in ((one, "one", "gsh-agent-0001"), (two, "two", "gsh-agent-0002")):
        await wait_for_text(tmux, pane.pane, text)
        info, lines = await tmux.capture_screen(pane.pane)
        assert (info.pane, info.session, info.cursor_y) == (pane.pane, session, 1)
        assert lines[0] == text and list(lines) == await tmux.capture(pane.pane)
    (moved,) = await tmux.connection.ask(["move-window -s =gsh-agent-0001: -t =gsh-agent-0002:7"])
    moved.text()
    info, lines = await tmux.capture_screen(one.pane)
    assert (info.pane, info.session, lines[0]) == (one.pane, "gsh-agent-0002", "one")
    await tmux.kill_pane(one.pane)
    with pytest.raises(TmuxError) as raised:
        await tmux.capture_screen(one.pane)
    assert raised.value.kind == "no_such_pane"


def clients_of(server: TmuxServer) -> list[int]:
    """Children of ours that talk to the server."""
    return [client.pid for client, _ in clients(server)]


async def test_who_watches_a_panes_keys_hears_of_all_that_is_typed_into_it_from_here(tmux: TmuxServer) -> None:
    one = await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    other = await tmux.spawn("gsh-agent-0002", ["cat"], cwd=Path("/tmp"), env=ENV)
    heard = list[bool]()
    end = tmux.watcher.watch_keys(one.pane, heard.append)
    ways: tuple[tuple[Callable[[str], Awaitable[object]], bool | None], ...] = (
        (lambda pane: tmux.type_bytes(pane, b"a"), False),
        (lambda pane: tmux.type_bytes(pane, b"b\r"), True),
        (lambda pane: wait_for_text(tmux, pane, "ab"), None),
        (lambda pane: tmux.send_keys(pane, "c", "Enter"), True),
        (lambda pane: tmux.send_keys(pane, "Left"), False),
        (lambda pane: tmux.send_text(pane, "two\nlines"), False),
        (lambda pane: tmux.press_where_shown(pane, "Enter", [ShownRow("ab")]), True),
        (lambda pane: tmux.press_where_shown(pane, "Enter", [ShownRow("what is not there")]), None),
    )
    for way, entered in ways:
        await way(one.pane)
        assert heard == ([] if entered is None else [entered])
        heard.clear()
    await tmux.send_keys(other.pane, "Enter")
    end()
    await tmux.send_keys(one.pane, "Enter")
    assert not heard


async def test_a_cancelled_call_leaves_no_process(tmux: TmuxServer) -> None:
    await tmux.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env=ENV)
    (told,) = await tmux.connection.ask(["display-message -p '#{pid}'"])
    process = psutil.Process(int(told.text()[0]))
    process.send_signal(signal.SIGSTOP)
    try:
        task = asyncio.create_task(tmux.panes())

        async def started() -> bool:
            return bool(clients_of(tmux))

        await eventually(started)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert clients_of(tmux) == []
    finally:
        process.send_signal(signal.SIGCONT)


BY_PATH = "TmuxServer(socket_path=folder / 's')"
BY_NAME = "(os.environ.__setitem__('TMUX_TMPDIR', str(folder)), TmuxServer(socket_name='gsh'))[1]"


@pytest.mark.parametrize("server", [BY_PATH, BY_NAME], ids=["by path", "by name"])
def test_a_server_left_by_a_crash_is_reaped(server: str) -> None:
    """A test process that is killed leaves a server; the next one that makes a server ends it."""
    script = textwrap.dedent(
        f"""
        import asyncio, os, signal
        from pathlib import Path
        from gshtui.tmux.server import TmuxServer
        from tests.kit.tmux import short_folder

        async def main():
            with short_folder() as folder:
                server = {server}
                pane = await server.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env={{}})
                print(pane.pid, flush=True)
                os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
        """
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False)
    left = psutil.Process(int(ran.stdout))
    with short_folder():
        pass
    assert running_processes([left]) == []
