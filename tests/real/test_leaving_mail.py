"""The keeper stops, or a newer one takes its place, while mail is due: each message is acted on once, whoever delivers.

An agent in a terminal works on meanwhile; what it was sent waits for its turn, in the order in which it was said.
"""

import asyncio
import random
from pathlib import Path

import pytest

from gshtui.bus.agent_data import SpawnRequest
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import KEEPER_PARTS, HubOptions
from gshtui.settings.loader import load
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Asked, Loopback
from tests.kit.record import latest_session, texts_of
from tests.kit.storms import FULL

pytestmark = pytest.mark.tmux
NAMES = ("Q1", "Q2", "Q3")
WORK = Call("bash", {"command": "until test -e go; do sleep 0.1; done"})


async def _keeper(folder: Path) -> Hub:
    options = HubOptions(cwd=folder, loaded=load(folder), respondent="nobody", parts=KEEPER_PARTS, keeper=True)
    hub = build_hub(options)
    await hub.start()
    assert hub.failed == {}
    return hub


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
    number, at_work, again = chance.randrange(1, 4), chance.random() < 0.5, chance.random() < 0.5

    def choose(asked: Asked) -> Answer:
        last = str(asked.body["messages"][-1])
        return [WORK] if "NOW" in last and "tool_result" not in last else [Say("well")]

    async with loopback("anthropic", choose=choose) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        hub = await _keeper(folder)
        assert hub.fleet is not None
        row = await hub.fleet.spawn(SpawnRequest(provider="anthropic", mode="yolo", name="Worker"))
        await hub.fleet.wait(row.id, ["idle"], 60)
        if at_work:
            await hub.run(f"agent send target={row.id} text=NOW")
            await _asked_of(server, 1)
        for name in NAMES[:number]:
            await hub.run(f"agent send target={row.id} text={name}")
        for _ in range(chance.randrange(200)):
            await asyncio.sleep(0)
        before = len(server.chats)
        await hub.stop()
        if at_work:
            assert len(server.chats) == before == 1
        if again:
            hub = await _keeper(folder)
        (folder / "go").touch()
        await _asked_of(server, 2 * at_work + number)
        if not again:
            hub = await _keeper(folder)
        assert hub.fleet is not None
        await hub.fleet.wait(row.id, ["idle"], 60)
        await hub.fleet.kill(row.id, now=True)
        await hub.stop()
        asked = ["NOW"] * at_work + list(NAMES[:number])
        assert texts_of(latest_session()) == asked
        assert len(server.chats) == 2 * at_work + number
