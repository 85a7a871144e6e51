"""Before the record is read it has what stands in the spool."""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.settings import paths
from gshtui.shell import spool
from gshtui.shell.log.shell_log import ShellLog, ShellLogOptions
from gshtui.shell.socket_lease import SocketLease
from gshtui.store.record.store import Store


def terms() -> ShellLogOptions:
    return ShellLogOptions(paths.runtime_dir() / "gsh.sock", paths.data_dir(), Path("/p"), 0)


@pytest.fixture
async def log(store: Store) -> AsyncGenerator[ShellLog]:
    bus = Bus()
    made = ShellLog(bus, store, terms(), str)
    await made.start()
    yield made
    await made.stop()
    await bus.close()


def write(shell: str, *events: dict[str, Any], pid: int = 0) -> None:
    """What a shell's plugin would have written."""
    folder = spool.folder(paths.data_dir())
    folder.mkdir(mode=0o700, exist_ok=True)
    lines = [{"type": "ShellStarted", "pid": pid or os.getpid(), "cwd": "/p"}, *events]
    with (folder / f"{shell}.jsonl").open("a") as file:
        for seq, fields in enumerate(lines, 1):
            file.write(json.dumps({"v": 1, "at": time.time(), "shell": shell, "seq": seq, **fields}) + "\n")


def began(command: str, number: int = 1) -> dict[str, Any]:
    return {"type": "ShellCommandStarted", "number": number, "command": command, "cwd": "/p"}


def ended(number: int = 1, exit: int = 0) -> dict[str, Any]:
    return {"type": "ShellCommandFinished", "number": number, "exit": exit, "duration": 0.1, "cwd": "/p"}


async def known(store: Store) -> list[tuple[str, str, int | None]]:
    return [(row.command, row.state, row.exit) for row in await store.shells.find_all()]


def left() -> list[Path]:
    return spool.files(spool.folder(paths.data_dir()))


async def test_it_is_stored_before_the_record_is_read(store: Store, log: ShellLog) -> None:
    write("s1", began("make"), ended(exit=2), began("serve", 2))
    await log.sync_spool()
    assert await known(store) == [("serve", "running", None), ("make", "done", 2)]
    assert left() == []
    write("s1", ended(2, 3))  # the end of what an earlier process took in
    await asyncio.gather(log.sync_spool(), log.sync_spool())
    assert await known(store) == [("serve", "done", 3), ("make", "done", 2)]


async def test_what_was_stored_before_a_kill_changes_nothing(store: Store, log: ShellLog) -> None:
    for _ in range(2):  # the file was not emptied
        write("s1", began("make"), ended(exit=2), {"type": "ShellNoted", "text": "why", "cwd": "/p"})
        await log.sync_spool()
    assert await known(store) == [("make", "done", 2)]
    assert len(await store.shells.notes()) == 1


async def test_a_shell_that_is_gone_runs_nothing(store: Store, log: ShellLog) -> None:
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    write("s1", began("make"), pid=gone.pid)
    await log.sync_spool()
    assert await known(store) == [("make", "lost", None)]


async def test_the_log_of_a_workspace_asks_that_of_the_hub(store: Store, log: ShellLog) -> None:
    bus = Bus()
    mine = ShellLog(bus, store, terms(), str, log)
    await mine.start()
    write("s1", began("make"), ended(exit=2))
    await mine.sync_spool()
    assert (await known(store), left()) == ([("make", "done", 2)], [])
    await mine.stop()
    await bus.close()


async def test_what_another_hub_takes_in_is_left_to_it(store: Store) -> None:
    """That of another record may have the socket."""
    write("s1", began("make"), ended())
    lease, bus = SocketLease(paths.runtime_dir() / "gsh.sock"), Bus()
    assert lease.try_lock()
    log = ShellLog(bus, store, terms(), str)
    await log.start()
    await log.sync_spool()
    assert (await known(store), len(left())) == ([], 1)
    lease.release()
    await log.stop()
    await bus.close()
