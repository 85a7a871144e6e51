"""A window starts the hub that it needs, while it loads; and what it does where there is none."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import psutil
import pytest

from gshtui import __version__
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnStarted
from gshtui.client import hub_dial
from gshtui.client.hub_dial import HubDial, dial, window_opening
from gshtui.client.hub_greeting import HubUnavailable
from gshtui.client.window_link import WindowLink
from gshtui.client.window_protocol import OpenRequest, WindowOpening
from gshtui.fleet.keeper import keeper
from gshtui.fleet.keeper.keeper import KeeperClaim, running_keeper, stop_keeper
from gshtui.headless.servers.keeper_process import OwnHub
from gshtui.hub.faces.window_hub import WindowHub
from gshtui.settings import paths
from gshtui.settings.paths import data_dir
from gshtui.system.installation import INSTALLED_AT
from gshtui.ui.kit import bridge
from gshtui.ui.prompt.prompt_status import PromptStatus
from gshtui.ui.window import app as app_module
from gshtui.ui.window.app import Workbench
from gshtui.ui.window.lazy_imports import make_hub
from tests.kit.command import ROOT
from tests.kit.pty_child import PtyChild
from tests.kit.tmux import eventually, named_servers
from tests.kit.warm_program import run_gsh

__all__ = ["named_servers"]


@pytest.fixture
async def data(monkeypatch: pytest.MonkeyPatch, named_servers: Path) -> AsyncIterator[Path]:
    """The folder of a record whose hub windows may start."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    try:
        yield data_dir()
    finally:
        await stop_keeper(data_dir())


def opening() -> WindowOpening:
    return window_opening(OpenRequest(Path.cwd()), os.environ)


@contextmanager
def listening(answer: bytes, path: Path | None = None) -> Generator[list[bytes]]:
    """A process of this user that listens where the hub does, and answers each first line with this."""
    heard: list[bytes] = []
    path = path or paths.keeper_sockets()[0]
    with socket.socket(socket.AF_UNIX) as server:
        path.parent.mkdir(parents=True, exist_ok=True)
        server.bind(os.fspath(path))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    connected, _ = server.accept()
                except OSError:
                    return
                with connected, connected.makefile("rb") as lines:
                    heard.append(lines.readline())
                    connected.sendall(answer)
                    heard.extend(lines)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield heard
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


async def test_a_window_has_its_hub_in_the_process_that_it_starts_whenever_there_is_none(
    data: Path, tmp_path: Path
) -> None:
    app = Workbench(OpenRequest(tmp_path))
    async with app.run_test():
        assert isinstance(await app.bridge.running(), WindowLink)
        first = running_keeper(data)
        assert first is not None
        os.kill(first.process.pid, signal.SIGKILL)

        async def hub() -> object:
            return app.bridge.hub

        await eventually(hub, until=lambda hub: hub is None)
        assert isinstance(await app.bridge.running(), WindowLink)
        second = running_keeper(data)
        assert second is not None and second.process != first.process


async def test_a_window_starts_none_where_the_settings_want_none(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSH_HUB__KEEP", "alone")
    app = Workbench(OpenRequest(tmp_path))
    async with app.run_test():
        assert isinstance(await app.bridge.running(), WindowHub)
    assert running_keeper(data) is None


async def test_a_window_ends_where_the_hub_does_not_answer(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be a second one, or would have nothing recorded."""
    monkeypatch.setattr(keeper, "_START_WITHIN", 0.2)
    claim = KeeperClaim(data)
    assert claim.acquire()
    app = Workbench(OpenRequest(tmp_path))

    async def refused() -> str:
        return app.bridge.refused

    try:
        async with app.run_test():
            app.bench.input.text = "half a thought"
            await eventually(refused, until=bool)
        assert f"The hub (pid {os.getpid()}) does not answer. `gsh-tui hub stop`" in app.bridge.refused
        assert app.return_value == 1
        assert not (data / "gsh.db").exists()
    finally:
        claim.release()


async def test_a_window_that_is_to_be_alone_is_the_hub_itself(data: Path, tmp_path: Path) -> None:
    """One for a record, which serves all faces and is gone with the window."""
    with contextlib.closing(
        await asyncio.to_thread(PtyChild, [sys.executable, "-m", "gshtui", "--alone"], tmp_path)
    ) as child:
        child.go()
        await asyncio.to_thread(child.read_until, lambda: b"for anything" in child.output)
        found = running_keeper(data)
        assert found is not None and found.process.pid == child.pid
        with contextlib.closing(
            await asyncio.to_thread(PtyChild, [sys.executable, "-m", "gshtui", "--alone"], tmp_path)
        ) as second:
            second.go()
            assert await asyncio.to_thread(second.wait) == 1
            assert b"a hub runs already" in second.output
        app = Workbench(OpenRequest(tmp_path))
        async with app.run_test():
            assert isinstance(await app.bridge.running(), WindowLink)
        spawned = await asyncio.to_thread(run_gsh, "agent", "spawn", "--provider", "offline", cwd=tmp_path)
        assert spawned.code == 0, spawned.err
        waited = await asyncio.to_thread(run_gsh, "agent", "wait", "0001", "--status", "idle")
        assert waited.code == 0, waited.err
        assert (await asyncio.to_thread(run_gsh, "agent", "kill", "--yes", "0001")).code == 0
        child.write(b"\x11")
        assert await asyncio.to_thread(child.wait) == 0
    assert running_keeper(data) is None


async def test_a_window_whose_hubs_end_as_they_start_does_not_become_one(data: Path, tmp_path: Path) -> None:
    over = asyncio.Event()

    def kill_each() -> None:
        while not over.is_set():
            if (found := running_keeper(data)) is not None and found.process.pid != os.getpid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(found.process.pid, signal.SIGKILL)

    killing = asyncio.ensure_future(asyncio.to_thread(kill_each))
    try:
        with pytest.raises(HubUnavailable, match="ends as soon as it is started"):
            await make_hub(OpenRequest(tmp_path), own=OwnHub)
    finally:
        over.set()
        await killing
    assert running_keeper(data) is None


async def test_two_that_start_at_once_share_one(data: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gshtui"]
    children = [await asyncio.to_thread(PtyChild, words, tmp_path) for _ in range(2)]
    try:
        for child in children:
            child.go()
        for child in children:
            await asyncio.to_thread(child.read_until, lambda child=child: b"\x1b[?2004h" in child.output)

        def linked() -> list[int]:
            found = running_keeper(data)
            if found is None or not psutil.pid_exists(found.process.pid):
                return []
            inside = psutil.Process(found.process.pid).net_connections("unix")
            return [one.fd for one in inside if one.laddr == str(paths.keeper_sockets()[0])]

        # The one that listens, and one for each window.
        await eventually(lambda: asyncio.to_thread(linked), until=lambda found: len(found) == 3)
        for child in children:
            child.write(b"\x11")
            assert await asyncio.to_thread(child.wait) == 0
    finally:
        for child in children:
            child.close()


def test_a_hub_of_another_program_is_told_nothing() -> None:
    other = {"serves": __version__, "installed": INSTALLED_AT + 1}
    with listening(json.dumps(other).encode() + b"\n") as heard:
        assert dial(opening()) is None
    assert len(heard) == 1 and b"environ" not in heard[0]


def test_what_is_no_hub_is_none() -> None:
    for answer in (b"\n", b"[]\n", b"hello\n", b"x" * 20_000 + b"\n"):
        with listening(answer):
            assert dial(opening()) is None
        paths.keeper_sockets()[0].unlink()


OURS = json.dumps({"serves": __version__, "installed": INSTALLED_AT}).encode()


def test_what_comes_behind_the_acceptance_is_left_to_the_link() -> None:
    with listening(OURS + b'\n{"begins":true}\n{"event":1}\n'):
        connected = dial(opening())
        assert connected is not None
        with connected:
            assert connected.recv(100) == b'{"event":1}\n'


def test_where_one_declines_the_next_is_asked() -> None:
    declines, takes = paths.keeper_sockets()[:2]
    with listening(OURS + b'\n{"declined":"it has another record"}\n', declines):
        assert dial(opening()) is None
        with listening(OURS + b'\n{"begins":true}\n', takes):
            connected = dial(opening())
            assert connected is not None
            with connected:
                assert connected.getpeername() == str(takes)


async def test_one_that_does_not_answer_is_given_up_and_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_dial, "ANSWER_WITHIN", 0.05)
    with socket.socket(socket.AF_UNIX) as server:
        paths.keeper_sockets()[0].parent.mkdir(parents=True, exist_ok=True)
        server.bind(os.fspath(paths.keeper_sockets()[0]))
        server.listen()
        call = HubDial(opening(), lambda: True)
        with pytest.raises(TimeoutError):
            await call.connected()
        assert await call.connected() is None


async def test_one_that_is_being_started_is_waited_for_until_it_ends() -> None:
    starting = [True, True, False]
    call = HubDial(opening(), lambda: starting.pop(0))
    assert await call.connected() is None
    assert starting == []


def test_one_that_listens_by_the_time_it_is_no_longer_starting_is_found() -> None:
    with ExitStack() as hub:

        def starts() -> bool:
            hub.enter_context(listening(OURS + b'\n{"begins":true}\n'))
            return False

        connected = dial(opening(), starts)
        assert connected is not None
        connected.close()


async def test_a_window_is_left_although_its_hub_does_not_answer(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it was not seen to take is the draft of the next window."""
    monkeypatch.setattr(bridge, "STOP_WITHIN", 1.0)
    monkeypatch.setattr(bridge, "_OVERDUE", 0.0)
    app = Workbench(OpenRequest(tmp_path, provider="offline"))
    async with app.run_test(size=(110, 24)) as pilot:
        await app.bridge.running()
        hub = running_keeper(data)
        assert hub is not None
        os.kill(hub.process.pid, signal.SIGSTOP)
        app.bench.input.text = "run echo moss"
        await pilot.press("enter", "ctrl+q")
        await eventually(left(app), until=bool)
    assert (app.return_code, app.bridge.refused.startswith("The hub did not answer")) == (0, True)
    os.kill(hub.process.pid, signal.SIGKILL)
    app = Workbench(OpenRequest(tmp_path, provider="offline"))
    async with app.run_test(size=(110, 24)) as pilot:

        async def draft() -> str:
            return app.bench.input.text

        assert await eventually(draft, until=bool) == "run echo moss"


def left(app: Workbench) -> Callable[[], Awaitable[bool]]:
    async def look() -> bool:
        return app.return_code is not None

    return look


@pytest.mark.parametrize("number", [signal.SIGCONT, signal.SIGKILL])
async def test_a_hub_that_stops_in_mid_life_is_told_of_and_no_prompt_is_lost(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setattr(app_module, "SILENT", 0.5)
    app = Workbench(OpenRequest(tmp_path, provider="offline"))
    async with app.run_test(size=(110, 24)) as pilot:
        turns: list[Event] = []
        (await app.bridge.running()).bus.subscribe(turns.extend, TurnStarted, name="test")
        hub = running_keeper(data)
        assert hub is not None

        async def row() -> str:
            return str(app.bench.query_one(PromptStatus).render())

        os.kill(hub.process.pid, signal.SIGSTOP)
        app.bench.input.text = "run echo moss"
        await pilot.press("enter")
        assert "The hub does not answer" in await eventually(row, until=lambda row: "hub" in row)
        os.kill(hub.process.pid, number)
        await eventually(row, until=lambda row: "hub" not in row)

        async def prompt() -> str:
            return app.bench.input.text

        async def begun() -> list[Event]:
            return turns

        if number == signal.SIGKILL:
            assert await eventually(prompt, until=bool) == "run echo moss"
            await app.bridge.running()
        else:
            await eventually(begun, until=bool)
            assert not await prompt()
