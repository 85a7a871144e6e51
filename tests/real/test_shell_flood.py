"""Nothing is lost: 100,000 commands from ten shells, while the hub is killed and started again twenty times.

The shells are processes that do what the plugin does (`tests.kit.plugin_shell`), without the zsh around it; they hang
up at every hundredth command and not at each, which would take minutes.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gshtui.settings import paths
from gshtui.store.history_query import Wanted
from gshtui.store.store import Store
from tests.kit.command import ROOT

SHELLS, COMMANDS, KILLS = 10, 10_000, 20
HUB = [sys.executable, "-m", "tests.kit.shell_hub_child"]
SHELL = [sys.executable, "-m", "tests.kit.plugin_shell"]


@pytest.mark.timeout(180)
async def test_a_hundred_thousand_commands_survive_twenty_hubs() -> None:
    socket, spool = paths.runtime_dir() / "gsh.sock", paths.data_dir() / "spool"
    store = await Store.open(paths.data_dir() / "gsh.db")
    hub = _hub()
    shells = [_shell(socket, spool, f"shell-{n}") for n in range(SHELLS)]
    try:
        for kill in range(KILLS):
            # A twentieth of the commands for each life of a hub, however fast the machine is.
            await _kept(store, (kill + 1) * SHELLS * COMMANDS // (KILLS + 2))
            hub.kill()
            hub.wait()
            hub = _hub()
        for shell in shells:
            assert await asyncio.to_thread(shell.wait, 90) == 0
        await _kept(store, SHELLS * COMMANDS, finished=True)
        await _empty(spool)
        for number in range(SHELLS):
            rows = await store.history_where(Wanted(shell=f"shell-{number}"), limit=COMMANDS + 1)
            expected = [(n, f"make part-{n} | tee log", n % 3, "done") for n in range(COMMANDS, 0, -1)]
            assert [(row.number, row.command, row.exit, row.state) for row in rows] == expected
        assert await store.history_count() == SHELLS * COMMANDS
        assert await store.running_records() == []
    finally:
        for process in (hub, *shells):
            process.kill()
            process.wait()
        await store.close()


def _hub() -> subprocess.Popen[bytes]:
    return subprocess.Popen(HUB, cwd=ROOT, stdout=subprocess.DEVNULL)


def _shell(socket: Path, spool: Path, name: str) -> subprocess.Popen[bytes]:
    words = [*SHELL, str(socket), str(spool), name, str(COMMANDS), "100"]
    return subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL)


async def _kept(store: Store, count: int, *, finished: bool = False) -> None:
    deadline = time.monotonic() + 120
    while await store.history_count() < count or (finished and await store.running_records()):
        assert time.monotonic() < deadline, f"{await store.history_count()} of {count} commands were kept"
        await asyncio.sleep(0.02)


async def _empty(spool: Path) -> None:
    async with asyncio.timeout(60):
        while any(file.stat().st_size for file in spool.glob("*.jsonl")):  # noqa: ASYNC110 - files tell nothing
            await asyncio.sleep(0.05)
