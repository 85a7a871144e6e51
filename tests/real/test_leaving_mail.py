"""The hub stops, and the next one takes its place, while mail is due: each message is acted on once, in its order."""

import asyncio
import random
from pathlib import Path

import psutil
import pytest

from tests.kit.command import CommandResult
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked, Loopback
from tests.kit.record import latest_session, texts_of
from tests.kit.resident import keeper_pid, resident
from tests.kit.storms import FULL
from tests.kit.tmux import eventually
from tests.kit.warm_program import run_gsh

__all__ = ["resident"]
pytestmark = [pytest.mark.tmux, pytest.mark.usefixtures("resident")]
NAMES = ("Q1", "Q2", "Q3")
WORK = Call("bash", {"command": "until test -e go; do sleep 0.1; done"})


async def _asked_of(server: Loopback, number: int) -> None:
    while len(server.chats) < number:
        server.asked.clear()
        await server.asked.wait()


@pytest.mark.timeout(200)
@pytest.mark.parametrize("seed", range(12) if FULL else (1,))
async def test_mail_that_is_due_when_the_keeper_stops_is_acted_on_once(
    seed: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    number, at_work = chance.randrange(1, 4), chance.random() < 0.5

    def choose(asked: Asked) -> Answer:
        last = str(asked.body["messages"][-1])
        return [WORK] if "NOW" in last and "tool_result" not in last else [Say("well")]

    async with loopback("anthropic", choose=choose) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        words = ("agent", "spawn", "--provider", "anthropic", "--mode", "yolo", "--name", "worker")
        assert (await run(folder, *words)).code == 0
        assert (await run(folder, "agent", "wait", "worker", "--status", "idle")).code == 0
        if at_work:
            await run(folder, "agent", "send", "worker", "NOW")
            await _asked_of(server, 1)
        for name in NAMES[:number]:
            assert (await run(folder, "agent", "send", "worker", name)).code == 0
        stopping = psutil.Process(keeper_pid())
        stopping.terminate()
        await eventually(lambda: asyncio.to_thread(lambda: not stopping.is_running() or stopping.status() == "zombie"))
        if at_work:
            assert len(server.chats) == 1
        (folder / "go").touch()
        assert (await run(folder, "hub", "start")).code == 0
        said = ["NOW"] * at_work + list(NAMES[:number])
        await eventually(lambda: asyncio.to_thread(lambda: texts_of(latest_session()) == said))
        assert (await run(folder, "agent", "kill", "--yes", "worker")).code == 0
        assert (await run(folder, "hub", "stop", "--yes")).code == 0
        assert texts_of(latest_session()) == said
        assert len(server.chats) <= len(said), "a turn that was cut is not begun again"


async def run(folder: Path, *words: str) -> CommandResult:
    return await asyncio.to_thread(run_gsh, *words, cwd=folder)
