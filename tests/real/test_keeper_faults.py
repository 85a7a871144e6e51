"""What may happen to a keeper: it is killed or put to sleep, its disk is full, others run; windows come and go."""

import asyncio
import contextlib
import json
import os
import random
import resource
import shlex
import signal
import stat
from collections.abc import AsyncGenerator
from pathlib import Path

import psutil
import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.letter import PERSON
from gshtui.fleet.keeper.keeper import running_keeper, stop_keeper
from gshtui.fleet.mail.outbox import Address, Addresses, MailOutbox
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.settings.paths import data_dir
from gshtui.shell.hub_registry import is_live
from gshtui.system.installation import own_command
from tests.kit.command import command, environment
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.running_hub import running_hub
from tests.kit.shells import Shell
from tests.kit.storms import FULL
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh, start_gsh
from tests.real.test_keeper import CLAUDE, Place, place

pytestmark = pytest.mark.tmux
__all__ = ["place"]


async def listener(place: Place, log: Path) -> None:
    """An agent that writes down what it is told."""
    place.run(
        "agent", "spawn", "--cli", f"{CLAUDE} --heard {shlex.quote(str(log))}", "--profile", "claude", "--name", "ear"
    )
    keeper = await place.keeper()
    await place.row(lambda row: row.owner == keeper.process.pid and row.status == "idle")


async def post(place: Place, text: str) -> None:
    """A message as another process of the person leaves it in the record."""
    row = await place.store.agents.find("0001")
    outbox = MailOutbox(Bus(), place.store, Addresses(place.store, lambda _: ""))
    await outbox.post(PERSON, Address(row.id, row.name, row=row), text, kind="send", defer=True)
    outbox.close()


async def heard(log: Path, count: int) -> list[str]:
    """The lines, once there are so many."""

    async def look() -> list[str]:
        return log.read_text().splitlines() if log.exists() else []

    return await eventually(look, until=lambda lines: len(lines) >= count, within=40)


async def test_what_is_queued_when_it_is_killed_is_delivered_once_by_the_next(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    await listener(place, log)
    first = await place.keeper()
    os.kill(first.process.pid, signal.SIGKILL)
    await place.row(lambda row: row.owner == 0)
    sent = [f"leaf {number}" for number in range(5)]
    for text in sent:
        await post(place, text)
    place.run("agent", "ls")
    assert (await place.keeper(lambda state: state is not None and state.process != first.process)).process.pid
    assert await heard(log, len(sent)) == sent


@pytest.mark.parametrize("seed", [1, 2] if FULL else [1])
async def test_windows_come_and_go_and_each_message_arrives_once_and_in_order(
    place: Place, tmp_path: Path, seed: int
) -> None:
    log, chance, sent = tmp_path / "heard", random.Random(seed), list[str]()
    await listener(place, log)
    window: Hub | None = None
    for number in range(14):
        match chance.choice(["window", "post", "post", "send"]):
            case "window" if window is None:
                window = build_hub(HubOptions(cwd=place.project, loaded=load(place.project)))
                await window.start()
            case "window":
                assert window is not None
                await window.stop()
                window = None
            case "send":
                sent.append(f"sent {number}")
                ran = await asyncio.to_thread(run_gsh, "agent", "send", "ear", sent[-1], cwd=place.project)
                assert ran.code == 0 or "stays queued" in ran.err  # it waits for those before it, but not for ever
            case _:
                sent.append(f"posted {number}")
                await post(place, sent[-1])
    if window is not None:
        await window.stop()
    assert await heard(log, len(sent)) == sent

    async def states() -> set[str]:
        return {letter.state for letter in await place.store.mail.find_all((), recipient="0001")}

    await eventually(states, until=lambda found: found <= {"submitted", "acted"})
    assert await heard(log, len(sent)) == sent


async def test_a_command_without_a_keeper_overtakes_no_message(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await listener(place, tmp_path / "heard")
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    place.run("hub", "stop")
    sent = ["first", "second", "third"]
    for text in sent[:2]:
        await post(place, text)
    place.run("agent", "send", "ear", sent[2])
    assert await heard(tmp_path / "heard", 3) == sent


async def test_a_machine_that_slept_goes_on(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    await listener(place, log)
    keeper = (await place.keeper()).process
    row = await place.store.agents.find("0001")
    server = psutil.Process(row.pid).parent()
    assert server is not None
    asleep = [server, psutil.Process(keeper.pid), *psutil.Process(keeper.pid).children(), psutil.Process(row.pid)]

    async def asleep_now() -> list[str]:
        for process in asleep:
            process.suspend()
        return [process.status() for process in asleep]

    # tmux wakes a child whose stop it still sees.
    await eventually(asleep_now, until=lambda found: set(found) == {psutil.STATUS_STOPPED})
    try:
        await post(place, "good morning")
        ran = await asyncio.to_thread(run_gsh, "hub", "status", "--json", cwd=place.project)
        assert (ran.code, ran.json["pid"], ran.json["answers"]) == (1, keeper.pid, False)
    finally:
        for process in reversed(asleep):
            process.resume()
    assert await heard(log, 1) == ["good morning"]
    assert (await place.keeper()).process == keeper


async def test_each_record_has_a_keeper_and_its_own_commands_reach_it(place: Place, tmp_path: Path) -> None:
    other = {"GSH_GENERAL__SESSION_DIR": str(tmp_path / "other"), "GSH_TMUX__SOCKET_NAME": "gsh-other"}
    place.run("hub", "start")
    mine = (await place.keeper()).process.pid
    try:
        started = run_gsh("hub", "start", "--json", cwd=place.project, env=other)
        assert started.code == 0, started.err
        assert started.json["pid"] != mine

        async def sockets() -> list[Path]:
            return [path for path in paths.keeper_sockets() if path.exists()]

        both = await eventually(sockets, until=lambda found: len(found) == 2)
        assert {stat.S_IMODE(path.stat().st_mode) for path in both} == {0o600}
        assert json.loads(place.run("hub", "status", "--json"))["pid"] == mine
        assert run_gsh("hub", "status", "--json", cwd=place.project, env=other).json["pid"] == started.json["pid"]
    finally:
        await stop_keeper(tmp_path / "other")


async def test_without_a_runtime_folder_it_works_the_same(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(Path(os.environ["TMUX_TMPDIR"])))
    await listener(place, tmp_path / "heard")
    place.run("agent", "send", "ear", "here")
    assert await heard(tmp_path / "heard", 1) == ["here"]
    assert running_keeper(data_dir()) is not None
    assert paths.keeper_sockets()[0].exists()


async def test_with_a_full_disk_it_lives_answers_and_delivers_once_there_is_room(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    await listener(place, log)
    keeper = (await place.keeper()).process
    none = (1, resource.RLIM_INFINITY)
    resource.prlimit(keeper.pid, resource.RLIMIT_FSIZE, none)  # no file of the keeper's can grow
    try:
        await post(place, "when there is room")
        for words in (("agent", "ls"), ("hub", "status"), ("agent", "show", "ear")):
            ran = await asyncio.to_thread(run_gsh, *words, cwd=place.project)
            assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
        sent = await asyncio.to_thread(run_gsh, "agent", "send", "ear", "for nobody", cwd=place.project)
        assert sent.code == 1
        assert "full" in sent.err or "space" in sent.err, sent.err
        assert running_keeper(data_dir()) is not None and not log.exists()
    finally:
        resource.prlimit(keeper.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert await heard(log, 1) == ["when there is room"]
    place.run("agent", "send", "ear", "and more")
    assert await heard(log, 2) == ["when there is room", "and more"]
    assert (await place.keeper()).process == keeper


async def test_four_starts_at_once_leave_four_agents_and_one_keeper(place: Place) -> None:
    words = ("agent", "spawn", "--json", "--cli", "sh -c 'exec cat'", "--name", "cat")
    starts = [
        await asyncio.create_subprocess_exec(
            *command(words),
            env=environment(),
            cwd=place.project,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        for _ in range(4)
    ]
    ended = [await process.communicate() for process in starts]
    assert [process.returncode for process in starts] == [0] * 4, [err.decode() for _, err in ended]
    keeper = await place.keeper()

    async def owners() -> list[int]:
        return [row.owner for row in await place.store.agents.find_all()]

    assert await eventually(owners, until=lambda found: set(found) == {keeper.process.pid}) == [keeper.process.pid] * 4

    async def keepers() -> list[int]:
        return await asyncio.to_thread(keeper_processes)

    assert await eventually(keepers, until=lambda found: len(found) == 1) == [keeper.process.pid]


def keeper_processes() -> list[int]:
    """The processes that are a keeper of this test's folders, or about to be."""
    found: list[int] = []
    for process in psutil.process_iter(["cmdline"]):
        with contextlib.suppress(psutil.Error):
            if (process.info["cmdline"] or [])[1:6] == own_command("hub", "run")[1:] and (
                process.environ().get("TMUX_TMPDIR") == os.environ["TMUX_TMPDIR"]
                or process.environ().get("XDG_DATA_HOME") == os.environ.get("XDG_DATA_HOME", "-")
            ):
                found.append(process.pid)
    return found


async def test_beside_a_wedged_keeper_gsh_asks_nothing_and_a_window_goes_on(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    with start_gsh("hub", "run", "--idle", "0", cwd=place.project) as wedged:  # tmux continues what it started
        await listener(place, log)
        shell = await asyncio.to_thread(lambda: Shell(program="bash", editor=False))
        try:
            os.kill(wedged.pid, signal.SIGSTOP)
            assert await asyncio.to_thread(shell.run, "no-such-command-here") == 127
            async with loopback("anthropic", [[Say("ok")]], repeat=True) as provider:
                env = variables("anthropic", provider.url)
                asked = await asyncio.to_thread(run_gsh, "gsh", "what", "failed", cwd=place.project, env=env)
                assert (asked.code, "does not answer" in asked.err, provider.chats) == (1, True, [])
        finally:
            await asyncio.to_thread(shell.close)
        async with running_hub(place.project) as window:
            assert window.failed.keys() <= {"shell"}, "the shells still report to the keeper"
            await place.row(lambda row: row.owner == os.getpid())
            await post(place, "to the window")
            assert await heard(log, 1) == ["to the window"]
        os.kill(wedged.pid, signal.SIGCONT)
        await place.row(lambda row: row.owner == wedged.pid)
        await post(place, "and back")
        assert await heard(log, 2) == ["to the window", "and back"]
        place.run("hub", "stop")


STRANGER = """
import os, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
path, does = sys.argv[1:]
with socket.socket(socket.AF_UNIX) as ours:
    if does == "listen":
        ours.bind(path)
        ours.listen()
        print("listening", flush=True)
        connected, _ = ours.accept()
        print(repr(connected.recv(1000)), flush=True)
    else:
        ours.settimeout(10)
        ours.connect(path)
        print("connected", flush=True)
        try:
            ours.sendall(b'{"hello": "command", "pid": 1}\\n')
            print(repr(ours.recv(1000)), flush=True)
        except OSError as error:
            print(repr(error), flush=True)
"""
"""Another user of this machine. The test has opened our folder to them, as nothing of ours does."""


@contextlib.asynccontextmanager
async def stranger(does: str) -> AsyncGenerator[asyncio.StreamReader]:
    """Another user at the keeper's socket; what they print."""
    path = paths.keeper_sockets()[0]
    modes = [(folder, mode) for folder in path.parents if not (mode := stat.S_IMODE(folder.stat().st_mode)) & 0o001]
    child = None
    try:
        async with asyncio.timeout(20):
            while True:  # whatever of ours uses the folder meanwhile closes it again
                for folder, mode in modes:
                    folder.chmod(mode | 0o777)
                if path.exists():
                    path.chmod(0o666)
                child = await asyncio.create_subprocess_exec(
                    *("/usr/bin/env", "python3", "-c", STRANGER, str(path), does),
                    cwd="/",
                    stdout=asyncio.subprocess.PIPE,
                )
                assert child.stdout is not None
                if (await child.stdout.readline()).strip() in (b"listening", b"connected"):
                    break
                await child.wait()
        for folder, mode in modes:
            folder.chmod(mode)
        yield child.stdout
    finally:
        for folder, mode in modes:
            folder.chmod(mode)
        if child is not None and child.returncode is None:
            child.kill()
            await child.wait()


async def test_another_users_keeper_is_told_nothing(place: Place) -> None:
    if os.getuid() != 0:
        return  # only root can be somebody else
    paths.runtime_dir()
    async with stranger("listen") as told:
        ran = await asyncio.to_thread(run_gsh, "agent", "ls", cwd=place.project)
        assert (ran.code, ran.err) == (0, "")
        assert "No agents here" in ran.out
        place.run("hub", "start")
        keeper = await place.keeper()
        assert json.loads(place.run("hub", "status", "--json"))["pid"] == keeper.process.pid
        assert b"hello" not in await told.read(0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                assert (await told.readline()).strip() == b"b''"
                raise TimeoutError


async def test_another_user_is_refused_by_our_keeper(place: Place) -> None:
    if os.getuid() != 0:
        return  # only root can be somebody else
    place.run("hub", "start")
    await place.keeper()

    async def taken() -> bool:
        return is_live(paths.keeper_sockets()[0])

    await eventually(taken)
    async with stranger("connect") as told:
        async with asyncio.timeout(20):
            answer = (await told.readline()).decode()
        assert "serves" not in answer, answer


MANY = 100 if FULL else 20


async def test_many_agents(place: Place, tmp_path: Path) -> None:
    log = tmp_path / "heard"
    await listener(place, log)
    keeper = (await place.keeper()).process
    options = HubOptions(
        cwd=place.project, loaded=load(place.project), parts=frozenset({"store", "fleet"}), visiting=True
    )
    starter = build_hub(options)
    await starter.start()
    assert starter.fleet is not None
    for number in range(MANY - 1):
        await starter.fleet.spawn(SpawnRequest(cli=("sh", "-c", "exec cat"), name=f"cat-{number}"), by_person=True)
    await starter.stop()

    async def watched() -> int:
        return sum(row.owner == keeper.pid and row.status == "idle" for row in await place.store.agents.find_all())

    assert await eventually(watched, until=lambda count: count == MANY, within=60) == MANY
    listed = json.loads(place.run("agent", "ls", "--json"))
    assert len(listed) == MANY
    await post(place, "among many")
    assert await heard(log, 1) == ["among many"]
    place.run("agent", "send", f"cat-{MANY - 2}", "moss")
    assert "moss" in place.run("agent", "show", f"cat-{MANY - 2}")
    assert (await place.keeper()).process == keeper
