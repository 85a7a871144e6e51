"""The roster's table: numbers, names, owners; several processes on one file."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.store.engine.store_errors import StoreError
from tests.kit.home import Home
from tests.kit.record import ROOT, open_record

OTHER_PROCESS = """
import asyncio, json, sys
from pathlib import Path
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    rows = [await store.agents.add(AgentRow(id="", name="twin", home="/p"), SpawnRequest()) for _ in range(5)]
    print(json.dumps([[row.id, row.name] for row in rows]), flush=True)
    if sys.argv[2] == "stay":
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await store.close()

asyncio.run(main())
"""


def row(name: str = "", home: str = "/p") -> AgentRow:
    return AgentRow(id="", name=name, home=home, status_at=time.time(), created=time.time())


async def other(path: Path, how: str) -> tuple[asyncio.subprocess.Process, list[list[str]]]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        OTHER_PROCESS,
        str(path),
        how,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdout is not None
    return child, json.loads(await child.stdout.readline())


async def test_numbers_grow_and_names_are_made_unique(home: Home) -> None:
    async with open_record(home.data / "gsh.db") as store:
        first = await store.agents.add(row("Fix the Bug!"), SpawnRequest(prompt="go", cli=("sh", "-c", "x")))
        second = await store.agents.add(row("fix-the-bug"), SpawnRequest())
        third = await store.agents.add(row("17"), SpawnRequest())
        assert [r.id for r in (first, second, third)] == ["0001", "0002", "0003"]
        assert [r.name for r in (first, second, third)] == ["fix-the-bug", "fix-the-bug-2", "agent-17"]
        assert first.owner == os.getpid()
        assert await store.agents.request("1") == SpawnRequest(prompt="go", cli=("sh", "-c", "x"))
        assert (await store.agents.find("fix-the-bug-2")).id == "0002"
        await store.agents.remove("3")
        with pytest.raises(StoreError, match="no agent '3'"):
            await store.agents.find("3")
        assert (await store.agents.add(row("next"), SpawnRequest())).id == "0004"
        assert (await store.agents.update("4", name="Größe №7 À jour")).name == "grosse-no7-a-jour"
        for name in ("日本語", "!?", "\x1b[2J"[:1]):
            with pytest.raises(StoreError, match="a to z, digits and hyphens"):
                await store.agents.update("4", name=name)


async def test_a_change_keeps_the_other_fields_and_is_seen(home: Home) -> None:
    async with open_record(home.data / "gsh.db") as store, open_record(home.data / "gsh.db") as elsewhere:
        agent = await store.agents.add(row("a"), SpawnRequest())
        seen = await elsewhere.agents.revision()
        await asyncio.gather(
            store.agents.update(agent.id, status="idle", status_source="event", exit_status=None),
            elsewhere.agents.update(agent.id, pane="%7", pid=12, argv=("cat", "\udcff")),
        )
        (now,) = await elsewhere.agents.find_all()
        assert (now.status, now.pane, now.pid, now.argv) == ("idle", "%7", 12, ("cat", "�"))
        assert await store.agents.revision() > seen
        unchanged = await store.agents.revision()
        await store.agents.update(agent.id, status="idle")
        assert await store.agents.revision() == unchanged
        with pytest.raises(StoreError, match="no field"):
            await store.agents.update(agent.id, colour="red")
        with pytest.raises(StoreError, match="refused"):
            await store.agents.update(agent.id, pid="twelve")


async def test_exactly_one_caller_claims(home: Home) -> None:
    async with open_record(home.data / "gsh.db") as store, open_record(home.data / "gsh.db") as elsewhere:
        agent = await store.agents.add(row("a"), SpawnRequest())
        claims = await asyncio.gather(*(s.agents.claim(agent.id, "reported") for s in (store, elsewhere) * 4))
        assert sorted(claims) == [False] * 7 + [True]


async def test_a_living_hub_keeps_its_agents_and_a_dead_one_hands_them_on(home: Home) -> None:
    path = home.data / "gsh.db"
    async with open_record(path) as store:
        child, theirs = await other(path, "stay")
        try:
            assert [name for _, name in theirs] == ["twin", "twin-2", "twin-3", "twin-4", "twin-5"]
            assert await store.agents.adopt("/p") == []
            assert {r.owner for r in await store.agents.find_all()} == {child.pid}
        finally:
            child.kill()
            await child.wait()
        assert {r.owner for r in await store.agents.find_all()} == {0}
        assert await store.agents.adopt("/elsewhere") == []
        assert await store.agents.adopt("/p") == [id for id, _ in theirs]
        assert {r.owner for r in await store.agents.find_all()} == {os.getpid()}
        assert await store.agents.adopt(None) == []
        await store.agents.release()
        assert {r.owner for r in await store.agents.find_all()} == {0}


async def test_processes_never_give_one_number_or_name_twice(home: Home) -> None:
    path = home.data / "gsh.db"
    async with open_record(path) as store:
        children = await asyncio.gather(*(other(path, "go") for _ in range(3)))
        mine = [await store.agents.add(row("twin"), SpawnRequest()) for _ in range(5)]
        for child, _ in children:
            assert await child.wait() == 0
        everyone = [*(tuple(r) for _, rows in children for r in rows), *((r.id, r.name) for r in mine)]
        assert len({id for id, _ in everyone}) == len({name for _, name in everyone}) == 20


async def test_old_ones_are_forgotten_and_young_ones_kept(home: Home) -> None:
    async with open_record(home.data / "gsh.db") as store:
        for ended in (0.0, time.time() - 60, time.time() - 9 * 86_400):
            agent = await store.agents.add(row("a"), SpawnRequest())
            await store.agents.update(agent.id, ended=ended)
        await store.agents.delete_old(7)
        assert [r.id for r in await store.agents.find_all()] == ["0001", "0002"]
