"""Nothing is lost: thousands of commands from ten shells, while the hub is killed and started again and again.

The shells are processes that do what the plugin does (`tests.kit.plugin_shell`), without the zsh around it; they hang
up at every hundredth command and not at each, which would take minutes. They run a piece of their commands for each of
the hubs, which is killed in the midst of it.
"""

import asyncio
import select
import subprocess
import sys
from pathlib import Path

import pytest

from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from tests.kit.command import ROOT
from tests.kit.storms import FULL
from tests.kit.tmux import eventually

SHELLS, COMMANDS, KILLS = (10, 2_000, 10) if FULL else (10, 800, 4)
PIECE = COMMANDS // KILLS
HUB = [sys.executable, "-m", "tests.kit.shell_log_child"]
SHELL = [sys.executable, "-m", "tests.kit.plugin_shell"]


@pytest.mark.timeout(240)
async def test_the_commands_of_ten_shells_outlive_their_hubs() -> None:
    socket, spool = paths.runtime_dir() / "gsh.sock", paths.data_dir() / "spool"
    store = await Store.open(paths.data_dir() / "gsh.db")
    hub = _hub()
    assert hub.stdout is not None and await asyncio.to_thread(hub.stdout.readline) == b"listening\n"
    shells = [_shell(socket, spool, f"shell-{n}") for n in range(SHELLS)]
    try:
        for _ in range(KILLS):
            for shell in shells:
                _go_on(shell)
            # Whatever the hubs before it have heard, this piece is not among it.
            await asyncio.to_thread(_heard, hub, SHELLS * PIECE // 2)
            hub.kill()
            hub.wait()
            hub = _hub()
        for shell in shells:
            assert shell.stdin is not None
            shell.stdin.close()
        for shell in shells:
            assert await asyncio.to_thread(shell.wait, 150) == 0

        async def open_still() -> int:
            await asyncio.to_thread(select.select, [], [], [], 0.1)  # the hub needs the processor
            return SHELLS * COMMANDS - await store.shells.count() + len(await store.shells.running())

        await eventually(open_still, until=lambda count: count == 0, within=150)
        await eventually(lambda: asyncio.to_thread(_left, spool), until=lambda left: not left)
        for number in range(SHELLS):
            rows = await store.shells.find_all(HistoryQuery(shell=f"shell-{number}"), limit=COMMANDS + 1)
            expected = [(n, f"make part-{n} | tee log", n % 3, "done") for n in range(COMMANDS, 0, -1)]
            assert [(row.number, row.command, row.exit, row.state) for row in rows] == expected
        assert await store.shells.count() == SHELLS * COMMANDS
        assert await store.shells.running() == []
    finally:
        for process in (hub, *shells):
            process.kill()
            process.wait()
        await store.close()


def _hub() -> subprocess.Popen[bytes]:
    return subprocess.Popen(HUB, cwd=ROOT, stdout=subprocess.PIPE)


def _shell(socket: Path, spool: Path, name: str) -> subprocess.Popen[bytes]:
    words = [*SHELL, str(socket), str(spool), name, str(PIECE), "100"]
    return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)


def _go_on(shell: subprocess.Popen[bytes]) -> None:
    """Let it run a piece of its commands."""
    assert shell.stdin is not None
    shell.stdin.write(b"\n")
    shell.stdin.flush()


def _heard(hub: subprocess.Popen[bytes], count: int) -> None:
    """Wait until a hub has heard so many commands to their end."""
    assert hub.stdout is not None
    for line in hub.stdout:
        if line.strip().isdigit() and int(line) >= count:
            return
    raise AssertionError("the hub ended by itself")


def _left(spool: Path) -> int:
    return sum(file.stat().st_size for file in spool.glob("*.jsonl"))
