"""A person over SSH who leaves, or whose connection drops, starts nothing more, and finds what waited again."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gshtui.settings import paths
from tests.kit.door import Door, door_for
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Fault, Say
from tests.kit.loopback.server import Asked
from tests.kit.pty_child import PtyChild
from tests.kit.record import latest_session, texts_of
from tests.kit.resident import beside
from tests.kit.storms import FULL

__all__ = ["beside"]
pytestmark = pytest.mark.usefixtures("beside")
NAMES = ("Q1", "Q2", "Q3")


def _answer(asked: Asked) -> Answer:
    last = str(asked.body["messages"][-1])
    if waiting := next((name for name in NAMES if name in last), ""):
        return [Call("bash", {"command": f"touch RAN_{waiting}"})]
    return [Say("word " * 40), Fault.hang_after(3)]


def _client_killed(child: PtyChild, door: Door) -> None:
    os.kill(child.pid, signal.SIGKILL)


def _terminal_closed(child: PtyChild, door: Door) -> None:
    os.close(child.fd)
    child.fd = os.open(os.devnull, os.O_RDONLY)


def _server_stopped(child: PtyChild, door: Door) -> None:
    os.kill(door.pid, signal.SIGTERM)


def _server_killed(child: PtyChild, door: Door) -> None:
    os.kill(door.pid, signal.SIGKILL)


def _left(child: PtyChild, door: Door) -> None:
    child.write(b"\x11")


ENDS: dict[str, Callable[[PtyChild, Door], None]] = {
    "client killed": _client_killed,
    "server killed": _server_killed,
    "terminal closed": _terminal_closed,
    "server stopped": _server_stopped,
    "left": _left,
}


def _work_and_end(door: Door, number: int, end: Callable[[PtyChild, Door], None]) -> None:
    child = door.terminal("bo", "workbench", columns=110, rows=40)
    try:
        child.read_until(lambda: b"\x1b[?2004h" in child.output)
        child.write(b"NOW\r")
        child.read_until(lambda: b"word word" in child.output)
        for place, name in enumerate(NAMES[:number], 1):
            child.write(f"{name}\r".encode())
            child.read_until(lambda place=place: f"{place} queued".encode() in child.output)
        begun = psutil.Process(door.pid).children(recursive=True)
        end(child, door)
        assert not psutil.wait_procs(begun, timeout=60)[1]
    finally:
        child.close()


@pytest.mark.timeout(200)
@pytest.mark.parametrize("number", range(4) if FULL else (2,))
@pytest.mark.parametrize("way", list(ENDS) if FULL else list(ENDS)[:2])
async def test_a_workbench_whose_connection_ends_sends_nothing_more(
    way: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (paths.config_dir(create=True) / "config.toml").write_text("[agent]\nmode = 'yolo'\n")
    async with loopback("anthropic", choose=_answer) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        async with door_for(tmp_path, bo="all") as door:
            await asyncio.to_thread(_work_and_end, door, number, ENDS[way])
        assert len(server.chats) == 1
        assert not list(tmp_path.glob("RAN*"))
        assert texts_of(latest_session()) == ["NOW", *NAMES[:number]]
