"""The shell log on real sockets and a real record: what shells say is kept once, told everywhere, and outlives hubs."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.shell_events import ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import ShellRecord
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.shell import hub_listener as listener_module
from gshtui.shell import plugin_files
from gshtui.shell.hub_registry import shells_socket_path
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions, make_shell_log
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.system.network.peer import Peer
from tests.kit.command import ROOT
from tests.kit.home import Home
from tests.kit.plugin_shell import PluginShell
from tests.kit.tmux import eventually

CHILD = [sys.executable, "-m", "tests.kit.shell_log_child"]


class Window:
    """A hub's shell log, and what was told on its bus."""

    def __init__(
        self, store: Store, *, ignore: tuple[str, ...] = (), keep: int = 0, host: ShellLog | None = None
    ) -> None:
        self.store = store
        self.bus = Bus()
        self.told: list[Event] = []
        self.bus.subscribe(self.told.extend, name="test")
        self.socket = paths.runtime_dir() / "gsh.sock"
        self.data = paths.data_dir()
        terms = ShellLogOptions(self.socket, self.data, Path("/p"), keep, ignore)
        self.log = ShellLog(self.bus, store, terms, lambda text: text.replace("s3cret", "[redacted]"), host)

    @property
    def spool(self) -> Path:
        return self.data / "spool"

    def shell(self, name: str = "s1", stay: int = 1) -> PluginShell:
        return PluginShell(self.socket, self.spool, name, stay=stay)

    def records(self) -> list[ShellRecord]:
        return [event.record for event in self.told if isinstance(event, ShellRecorded)]


async def until(holds: Callable[[], object]) -> None:
    async def look() -> object:
        return holds()

    await eventually(look)


async def until_kept(store: Store, count: int) -> None:
    await eventually(store.shells.count, until=lambda kept: kept >= count)
    await eventually(store.shells.running, until=lambda running: not running)


async def until_count(store: Store, count: int) -> None:
    await eventually(store.shells.count, until=lambda kept: kept == count)


@contextlib.asynccontextmanager
async def window(store: Store, *, ignore: tuple[str, ...] = (), keep: int = 0) -> AsyncGenerator[Window]:
    made = Window(store, ignore=ignore, keep=keep)
    await made.log.start()
    await until(lambda: made.log.listens)
    try:
        yield made
    finally:
        await made.log.stop()
        await made.bus.close()


def _hub() -> subprocess.Popen[bytes]:
    return subprocess.Popen(CHILD, stdout=subprocess.PIPE, cwd=ROOT)


def in_thread(work: Callable[[], object]) -> Awaitable[object]:
    return asyncio.to_thread(work)


async def test_a_command_is_told_as_running_and_as_done_and_acknowledged(store: Store) -> None:
    async with window(store) as hub:
        shell = hub.shell()
        await in_thread(lambda: shell.begin("make s3cret", expanded="gmake"))
        await until(lambda: hub.records())
        assert [(r.state, r.command, r.id > 0) for r in hub.records()] == [("running", "make [redacted]", True)]
        await in_thread(lambda: shell.end(2))
        await until(lambda: len(hub.records()) > 1)
        done = hub.records()[-1]
        assert (done.state, done.exit, done.expanded, done.host) == ("done", 2, "gmake", "here")
        assert await store.shells.find_all(HistoryQuery(query="make")) == [done]
        await in_thread(lambda: shell.note("# why"))
        await until(lambda: any(isinstance(event, ShellNoted) for event in hub.told))
        await in_thread(lambda: shell.run("true"))
        await until(lambda: not shell.unheard())
        assert shell.spooled == 0 and len(await store.shells.notes()) == 1


async def test_what_was_left_in_the_spool_is_taken_once(store: Store) -> None:
    file = paths.data_dir() / "spool" / "s1.jsonl"
    shell = PluginShell(paths.runtime_dir() / "gsh.sock", file.parent, "s1")
    for number in range(30):
        shell.run(f"make {number}")
    shell.note("# left behind")
    shell.hang_up()
    whole = file.read_bytes()
    file.write_bytes(b"\xff garbage\n" + whole[:40] + whole + b'{"v":1,"type":"ShellCommandSta')
    async with window(store) as hub:
        await until_kept(store, 30)
        await until(lambda: file.stat().st_size == 0)
        # The hub dies between keeping and emptying: the next one finds the same lines.
        file.write_bytes(whole)
        await until(lambda: file.stat().st_size == 0)
        assert await store.shells.count() == 30 and len(await store.shells.notes()) == 1
        assert len([event for event in hub.told if isinstance(event, ShellNoted)]) == 1
        assert all(row.exit == 0 for row in await store.shells.find_all())
        await in_thread(lambda: shell.run("once more"))
        await until_kept(store, 31)


async def test_a_spool_that_is_a_link_or_locked_is_left_alone(store: Store, tmp_path: Path) -> None:
    folder = paths.data_dir() / "spool"
    folder.mkdir()
    elsewhere = tmp_path / "precious"
    line = json.dumps({"v": 1, "type": "ShellNoted", "shell": "x", "text": "# no", "seq": 1})
    elsewhere.write_text(line + "\n")
    (folder / "link.jsonl").symlink_to(elsewhere)
    (folder / "good.jsonl").write_text(line.replace("# no", "# yes") + "\n")
    async with window(store):
        await until(lambda: (folder / "good.jsonl").stat().st_size == 0)
        assert [note.text for note in await store.shells.notes()] == ["# yes"]
        assert elsewhere.read_text() == line + "\n"


async def test_all_workspaces_hear_what_happens_in_shells_and_in_each_other(store: Store) -> None:
    async with window(store) as hub:
        first, second = (Window(store, host=hub.log) for _ in range(2))
        for one in (first, second):
            await one.log.start()
        shell = hub.shell()
        await in_thread(lambda: shell.run("one"))
        await in_thread(lambda: shell.note("# two"))
        await until(lambda: any(isinstance(event, ShellNoted) for event in second.told))
        await until(lambda: second.records() and second.records()[-1].state == "done")
        assert second.records()[-1] == hub.records()[-1] == first.records()[-1]
        ran = ShellRecord(shell="agent", number=1, command="ls", at=time.time(), agent="main", source="agent")
        await second.log.store_records([ran])
        await until(lambda: [one.records()[-1].agent for one in (hub, first, second)] == ["main"] * 3)
        for one in (first, second):
            await one.log.stop()
            await one.bus.close()
        await in_thread(lambda: shell.run("three"))
        await until(lambda: hub.records()[-1].state == "done")
        assert first.records()[-1].command == "ls"


async def test_a_hub_that_follows_a_killed_one_knows_what_runs(store: Store) -> None:
    socket_path = paths.runtime_dir() / "gsh.sock"
    child = _hub()
    assert child.stdout is not None
    await asyncio.to_thread(child.stdout.readline)
    hub = Window(store)
    await hub.log.start()
    owned = socket_path.stat().st_ino
    shell = hub.shell()
    await in_thread(lambda: shell.begin("long"))
    await eventually(store.shells.running, until=bool)
    assert not hub.log.listens and socket_path.stat().st_ino == owned
    child.kill()
    await until(lambda: hub.log.listens)
    await in_thread(lambda: shell.end(7))
    await until(lambda: hub.records() and hub.records()[-1].state == "done")
    assert hub.records()[-1].exit == 7
    await hub.log.stop()
    await hub.bus.close()
    child.wait()
    assert not socket_path.exists()


async def test_a_shell_that_was_killed_leaves_its_command_as_lost(store: Store) -> None:
    async with window(store) as hub:
        code = (
            "import sys; from pathlib import Path; from tests.kit.plugin_shell import PluginShell;"
            f"shell = PluginShell(Path({str(hub.socket)!r}), Path({str(hub.spool)!r}), 'gone');"
            "shell.begin('sleep 1000'); shell.hang_up(); print('on', flush=True); sys.stdin.read()"
        )
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)  # noqa: ASYNC220
        assert child.stdout is not None
        await asyncio.to_thread(child.stdout.readline)
        await until(lambda: hub.records())
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        await until(lambda: hub.records()[-1].state == "lost")
        assert hub.records()[-1].exit is None


async def test_old_commands_go_while_new_ones_come(store: Store) -> None:
    async with window(store, keep=50) as hub:
        shell = hub.shell(stay=1000)
        await in_thread(lambda: [shell.run(f"c{number}") for number in range(120)])
        await until(lambda: len({record.number for record in hub.records()}) == 120)
        await until_count(store, 50)
        assert (await store.shells.find_all(limit=1))[0].command == "c119"
        said = [event.text for event in hub.told if isinstance(event, Noticed) and "older ones" in event.text]
        assert said == ["The shell log keeps the newest 50 commands; older ones are removed."]


async def test_nonsense_costs_a_line_and_is_told_on_the_bus(store: Store) -> None:
    async with window(store, ignore=("hush*",)) as hub:
        hello = json.dumps({"hello": "shell", "pid": os.getpid()})
        good = {
            "v": 1,
            "type": "ShellCommandStarted",
            "shell": "n",
            "number": 1,
            "command": "fine\0\u2028",
            "cwd": "/p",
        }
        odd = [
            b"nonsense",
            json.dumps({**good, "number": "many"}).encode(),
            json.dumps({**good, "number": -1}).encode(),
            json.dumps({**good, "shell": ""}).encode(),
            json.dumps({"v": 1, "type": "ApprovalAnswered", "approval": "a", "decision": "once"}).encode(),
            json.dumps({"v": 1, "type": "ShellRecorded", "record": {"command": "forged"}}).encode(),
            b'{"v":1,"type":"ShellNoted","text":"' + b"x" * 200_000 + b'"}',
            b"\xff\xfe{}",
        ]
        ignored = json.dumps({**good, "number": 2, "command": "hush now"}).encode()
        reader, writer = await asyncio.open_unix_connection(str(hub.socket))
        writer.write(b"\n".join([hello.encode(), *odd, ignored, json.dumps({**good, "number": 3}).encode(), b""]))
        await until(lambda: hub.records())
        errors = [json.loads(await reader.readline()) for _ in range(9)]
        assert len([line for line in errors if "error" in line]) == 8
        assert [record.number for record in hub.records()] == [3]
        assert hub.records()[0].command == "fine\0\u2028"
        await until(
            lambda: any(isinstance(event, Noticed) and "could not be understood" in event.text for event in hub.told)
        )
        writer.close()


async def test_another_user_is_turned_away(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    async with window(store) as hub:
        folder = hub.socket.parent
        assert folder.stat().st_mode & 0o777 == 0o700 and hub.socket.stat().st_mode & 0o777 == 0o600
        if os.getuid() == 0:
            assert _as_nobody(hub.socket) == "PermissionError"
        monkeypatch.setattr(listener_module, "peer_of", _stranger)
        reader, _ = await asyncio.open_unix_connection(str(hub.socket))
        with contextlib.suppress(ConnectionError):
            assert await reader.read() == b""
        assert hub.records() == []


def _stranger(connected: socket.socket) -> Peer:
    return Peer(os.getuid() + 1, 1)


def _as_nobody(path: Path) -> str:
    """What a process of another user gets when it connects."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        told = b"nothing"
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            socket.socket(socket.AF_UNIX).connect(str(path))
        except OSError as error:
            told = type(error).__name__.encode()
        os.write(write, told)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        return pipe.read().decode()


@pytest.mark.parametrize("what", ["file", "folder", "others"])
async def test_what_is_in_the_sockets_place_is_left_alone_and_told(store: Store, what: str) -> None:
    hub = Window(store)
    other = hub.data / "shared"
    if what == "file":
        hub.socket.write_text("precious")
    elif what == "folder":
        hub.socket.mkdir()
    else:
        other.mkdir()
        other.chmod(0o755)
        hub.log = ShellLog(hub.bus, store, ShellLogOptions(other / "s.sock", hub.data, Path("/p"), 0), str)
    await hub.log.start()
    await until(lambda: any(isinstance(event, Noticed) for event in hub.told))
    assert not hub.log.listens
    if what == "others":
        other.chmod(0o700)
    elif what == "file":
        assert hub.socket.read_text() == "precious"
        hub.socket.unlink()
    else:
        hub.socket.rmdir()
    await until(lambda: hub.log.listens)
    await hub.log.stop()
    await hub.bus.close()


async def test_a_socket_that_is_cleared_away_or_stale_is_made_again(store: Store) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(paths.runtime_dir() / "gsh.sock"))
    stale.close()
    async with window(store) as hub:
        before = hub.socket.stat().st_ino, hub.socket.stat().st_ctime_ns
        hub.socket.unlink()
        await until(lambda: hub.socket.exists() and (hub.socket.stat().st_ino, hub.socket.stat().st_ctime_ns) != before)
        await until(lambda: hub.log.listens)
        shell = hub.shell()
        await in_thread(lambda: shell.run("again"))
        await until_kept(store, 1)


async def test_a_change_of_folder_is_told_with_the_branch_there(store: Store, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic/x\n")
    async with window(store) as hub:
        shell = hub.shell()
        shell._line("ShellFolderChanged", old="/p", new=str(tmp_path))  # pyright: ignore[reportPrivateUsage]
        shell._line("ShellCommandStarted", number=9, command="ls", cwd=str(tmp_path))  # pyright: ignore[reportPrivateUsage]
        await in_thread(lambda: shell.note("# x"))
        await until(lambda: hub.records())
        assert hub.records()[0].branch == "topic/x"
        assert [event.new for event in hub.told if isinstance(event, ShellFolderChanged)] == [str(tmp_path)]


async def test_a_socket_in_a_folder_of_everybodys_is_not_used_and_shells_report_all_the_same(
    store: Store, home: Home
) -> None:
    """The seed's own value, `/tmp/gsh-$USER.sock`: others could put a socket of theirs there."""
    everybodys = home.path / "tmp"
    everybodys.mkdir()
    everybodys.chmod(0o1777)
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'[general]\nsocket_path = "{everybodys}/gsh.sock"\n')
    loaded = load(home.path)
    assert [str(problem) for problem in loaded.problems] == []
    private = paths.runtime_dir() / "gsh.sock"
    assert shells_socket_path(loaded.settings.general.socket_path) == private
    assert not [line for line in plugin_files.option_lines(loaded.settings) if line.startswith("socket=")]
    bus = Bus()
    log = make_shell_log(bus, store, loaded.settings, home.path, redact=str)
    await log.start()
    try:
        await until(lambda: log.listens)
        assert private.is_socket() and list(everybodys.iterdir()) == []
    finally:
        await log.stop()
        await bus.close()
