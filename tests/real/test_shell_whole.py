"""The plugin in real zsh and the shell log together: hubs come and go, and every command is in the history once."""

import asyncio
import contextlib
import subprocess
import sys

from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from tests.kit.command import ROOT
from tests.kit.home import Home
from tests.kit.shells import PipedShell, Shell
from tests.kit.tmux import eventually

SHELLS, COMMANDS, KILLS = 3, 150, 3
HUB = [sys.executable, "-m", "tests.kit.shell_log_child"]


def hub_child() -> subprocess.Popen[bytes]:
    return subprocess.Popen(HUB, cwd=ROOT, stdout=subprocess.PIPE)


def wait_until_listening(hub: subprocess.Popen[bytes]) -> None:
    assert hub.stdout is not None and hub.stdout.readline() == b"listening\n"


async def test_every_command_of_real_shells_is_kept_while_hubs_die(home: Home) -> None:
    store = await Store.open(paths.data_dir() / "gsh.db")
    hub = hub_child()
    wait_until_listening(hub)
    lines = [
        [f"true {shell} {number}" if number % 7 else f"false {shell} {number}" for number in range(COMMANDS)]
        for shell in range(SHELLS)
    ]
    shells = [PipedShell() for _ in lines]
    try:
        for shell, commands in zip(shells, lines, strict=True):
            shell.feed(commands)
        for kill in range(KILLS):
            wanted = (kill + 1) * SHELLS * COMMANDS // (KILLS + 3)
            await eventually(store.shells.count, until=lambda count, wanted=wanted: count >= wanted)
            hub.kill()
            hub.wait()
            hub = hub_child()
        for shell in shells:
            assert await asyncio.to_thread(shell.exit) == 0
        await eventually(store.shells.count, until=lambda count: count >= SHELLS * COMMANDS)
        await eventually(store.shells.running, until=lambda running: not running)
        rows = [row for row in await store.shells.find_all(limit=10_000) if row.command[:4] in ("true", "fals")]
        assert sorted(row.command for row in rows) == sorted(command for commands in lines for command in commands)
        assert all(row.exit == (1 if row.command.startswith("false") else 0) for row in rows)
    finally:
        for shell in shells:
            shell.close()
        hub.kill()
        hub.wait()
        await store.close()


async def test_a_real_shell_is_live_and_its_exit_is_no_loss(home: Home) -> None:
    store = await Store.open(paths.data_dir() / "gsh.db")
    hub = hub_child()
    wait_until_listening(hub)
    shell = await asyncio.to_thread(Shell)
    try:
        for line in ("alias ll='print listed'", "ll now", "false | true | (exit 3)", " private", "cd /"):
            await asyncio.to_thread(shell.run, line)
        await asyncio.to_thread(shell.exit)
        await eventually(
            lambda: store.shells.find_all(HistoryQuery(query="exit")),
            until=lambda rows: any(row.command == "exit" for row in rows),
        )
        rows = {row.command: row for row in await store.shells.find_all()}
        assert set(rows) == {"alias ll='print listed'", "ll now", "false | true | (exit 3)", "cd /", "exit"}
        assert rows["ll now"].expanded == "print listed now"
        assert rows["false | true | (exit 3)"].exit == 3 and rows["false | true | (exit 3)"].pipestatus == (1, 0, 3)
        await eventually(store.shells.running, until=lambda running: not running)
        assert (await store.shells.find_all(HistoryQuery(query="exit")))[0].state == "done"
        assert [note.text for note in await store.shells.notes(kind="folder")] == ["/"]
    finally:
        with contextlib.suppress(OSError):
            shell.close()
        hub.kill()
        hub.wait()
        await store.close()
