"""Real material for the whole program: a conversation in its record, a provider that answers on this machine."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator

from gshtui.bus.messages import Message, Text
from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id
from tests.bench.material import last_turns, turns
from tests.bench.place import ROOT, Place
from tests.kit.endings import closing_async


async def record(place: Place, length: int) -> str:
    """Write a conversation of this length; gives its id."""
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        session = (await store.sessions.create(cwd=str(place.project), agent="main")).id
        told = [*turns(length - 10), *last_turns()]
        for start in range(0, length, 500):
            batch = [Message(id=new_id(), role=role, blocks=(Text(text),)) for role, text in told[start : start + 500]]  # type: ignore[arg-type]
            await asyncio.gather(*(store.messages.append(session, message) for message in batch))
        return session


@contextlib.contextmanager
def provider(place: Place, text: str, *, pace: float, piece: int = 20) -> Iterator[dict[str, str]]:
    """A server that speaks Anthropic's API and answers every prompt with `text`.

    It sends `pace` pieces of `piece` characters a second.
    Yields the variables that send the program to it.
    """
    script = place.home.state / "script.json"
    script.write_text(json.dumps([{"say": text}]))
    command = [sys.executable, "-m", "tests.kit.loopback", "--api", "anthropic", "--script", str(script)]
    with subprocess.Popen(
        [*command, "--pace", str(pace), "--chunk", str(piece)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        try:
            assert server.stdout is not None
            lines = iter(server.stdout.readline, "\n")
            yield dict(line.rstrip("\n").split("=", 1) for line in lines if "=" in line)
        finally:
            server.terminate()
