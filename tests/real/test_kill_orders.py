"""kill -9 of hub, agent and tmux server, in every order: the next window says who is gone and brings it back whole."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from gshtui.bus.events.agent_events import TurnFinished, TurnStarted
from tests.kit.native_agents import DEADLINE
from tests.kit.running_hub import heard_hub
from tests.kit.storms import FULL
from tests.kit.tmux import eventually

pytestmark = pytest.mark.tmux

WINDOW = """
import asyncio, json, sys
from pathlib import Path
from gshtui.bus.agent_data import SpawnRequest
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load

async def main():
    hub = build_hub(HubOptions(cwd=Path.cwd(), loaded=load(Path.cwd())))
    await hub.start()
    row = await hub.fleet.spawn(SpawnRequest(prompt="find Zanzibar", provider="offline", name="keeper"))
    row = await hub.fleet.wait(row.id, ["idle"], 30.0)
    print(json.dumps({"id": row.id, "pid": row.pid}), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def folder(folder: Path) -> Path:
    (folder / "notes.txt").write_text("Zanzibar is an island.\n")
    return folder


@contextlib.asynccontextmanager
async def other_window(folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str, int]]:
    """A window in a process of its own, with an agent that has answered once: (process, agent, the agent's pid)."""
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WINDOW, cwd=folder, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(DEADLINE * 2):
            told = json.loads(await child.stdout.readline())
        yield child, told["id"], told["pid"]
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.wait()


ORDERS = list(itertools.permutations(("hub", "agent", "tmux")))
"""Every second one begins with another victim."""


@pytest.mark.parametrize("order", ORDERS if FULL else ORDERS[::2], ids="-".join)
async def test_whatever_is_killed_first_the_agent_comes_back_with_its_words(
    folder: Path, order: tuple[str, str, str]
) -> None:
    async with other_window(folder) as (window, id, pid):
        server = psutil.Process(pid).ppid()
        victims = {"hub": window.pid, "agent": pid, "tmux": server}
        for victim in order:
            with contextlib.suppress(ProcessLookupError):  # an agent may end with its terminal
                os.kill(victims[victim], signal.SIGKILL)
            await ended(victims[victim])
        async with heard_hub(folder) as (hub, heard):
            assert hub.failed == {} and hub.fleet is not None
            gone = await hub.fleet.wait(id, ["lost", "failed"], DEADLINE)
            assert gone.doing
            back = await (hub.fleet.recover(id) if gone.status == "lost" else hub.fleet.restart(id))
            assert back.how == "resumed its conversation"
            assert (back.row.id, back.row.session) == (id, gone.session)
            await hub.fleet.wait(id, ["idle"], DEADLINE)
            sent = await hub.run(f"agent send target={id} text='find island'")
            taken = await heard.wait_for(TurnStarted, agent=id, prompt=sent.data["message"])
            answer = await heard.wait_for(TurnFinished, agent=id, turn=taken.turn)
            assert "notes.txt" in answer.text
            said = [stored.message for stored in await hub.messages(back.row.session)]
            assert [message.text for message in said if message.role == "user"] == ["find Zanzibar", "find island"]
            assert len({message.id for message in said}) == len(said)
            await hub.fleet.kill(id, now=True)


async def ended(pid: int) -> None:
    """Wait until the process runs no more."""
    await eventually(lambda: _runs(pid), until=lambda runs: not runs)


async def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE  # tmux 3.3a may not hear of a child's end
    except psutil.NoSuchProcess:
        return False
