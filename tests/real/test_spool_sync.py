"""Before the record is read it has what stands in the spool: stored by the hub that shells report to, or here."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.shell import spool
from gshtui.shell.log.spool_sync import SpoolSync, make_spool_sync
from gshtui.shell.socket_lease import SocketLease
from gshtui.store.record.store import Store
from tests.kit.command import ROOT


@pytest.fixture
def sync(store: Store, tmp_path: Path) -> SpoolSync:
    return make_spool_sync(store, load(tmp_path).settings, str)


@pytest.fixture
def hub() -> Iterator[subprocess.Popen[bytes]]:
    """A window's shell log in its own process, which shells can report to."""
    child = subprocess.Popen([sys.executable, "-m", "tests.kit.shell_log_child"], cwd=ROOT, stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"listening\n"
    yield child
    child.kill()
    child.communicate()


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


async def test_without_a_hub_it_is_stored_here(store: Store, sync: SpoolSync) -> None:
    write("s1", began("make"), ended(exit=2), began("serve", 2))
    await sync.sync()
    assert await known(store) == [("serve", "running", None), ("make", "done", 2)]
    assert left() == []
    write("s1", ended(2, 3))  # the end of what an earlier process took in
    await asyncio.gather(sync.sync(), sync.sync())
    assert await known(store) == [("serve", "done", 3), ("make", "done", 2)]


async def test_what_was_stored_before_a_kill_changes_nothing(store: Store, sync: SpoolSync) -> None:
    for _ in range(2):  # the file was not emptied
        write("s1", began("make"), ended(exit=2), {"type": "ShellNoted", "text": "why", "cwd": "/p"})
        await sync.sync()
    assert await known(store) == [("make", "done", 2)]
    assert len(await store.shells.notes()) == 1


async def test_a_shell_that_is_gone_runs_nothing(store: Store, sync: SpoolSync) -> None:
    gone = await asyncio.create_subprocess_exec("true")
    await gone.wait()
    write("s1", began("make"), pid=gone.pid)
    await sync.sync()
    assert await known(store) == [("make", "lost", None)]


async def test_the_hub_that_shells_report_to_is_asked(
    store: Store, sync: SpoolSync, hub: subprocess.Popen[bytes]
) -> None:
    for number in range(5):
        write(f"s{number}", began(f"make {number}"), ended())
        await sync.sync()
        assert (f"make {number}", "done", 0) in await known(store)
    assert hub.poll() is None


async def test_a_hub_that_stands_still_keeps_the_spool(
    store: Store, sync: SpoolSync, hub: subprocess.Popen[bytes]
) -> None:
    hub.send_signal(signal.SIGSTOP)
    try:
        write("s1", began("make"), ended(exit=2))
        await sync.sync()
        assert await known(store) == [("make", "done", 2)]
        assert left() != []
    finally:
        hub.send_signal(signal.SIGCONT)
    await sync.sync()
    assert await known(store) == [("make", "done", 2)]
    assert left() == []


async def test_while_it_is_stored_here_no_hub_has_the_lease(store: Store, sync: SpoolSync) -> None:
    write("s1", began("make"), ended())
    lease = SocketLease(paths.runtime_dir() / "gsh.sock")
    assert lease.try_lock()
    try:
        await sync.sync()  # somebody has it and does not answer
        assert await known(store) == [("make", "done", 0)]
        assert left() != []
    finally:
        lease.release()
    await sync.sync()
    assert left() == []


async def test_an_older_hub_that_cannot_do_it_is_asked_once(store: Store, sync: SpoolSync) -> None:
    asked = 0

    async def refuse(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        writer.write(b'{"error": "the first line must be another one"}\n')
        writer.close()

    write("s1", began("make"), ended())
    path = paths.runtime_dir() / "gsh.sock"
    lease = SocketLease(path)
    assert lease.try_lock()
    try:
        async with await asyncio.start_unix_server(refuse, path):
            await sync.sync()
        assert (asked, await known(store)) == (1, [("make", "done", 0)])
        assert left() != []
    finally:
        lease.release()
