"""What is told without looking: changes of files in a folder, by any process, and the ends of processes."""

import asyncio
import contextlib
import os
import signal
import sqlite3
from pathlib import Path

import pytest

from gshtui.store.record.store import Store
from gshtui.system.files.folder_watch import FolderWatch
from gshtui.system.processes.process_watch import ProcessWatch

WITHIN = 10.0
WRITE = (
    "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('UPDATE agents SET number = number'); c.commit()"
)


async def told(event: asyncio.Event) -> None:
    """Wait until it is set, and clear it."""
    async with asyncio.timeout(WITHIN):
        await event.wait()
    event.clear()


async def test_changes_of_the_wanted_files_are_told_in_any_number(tmp_path: Path) -> None:
    event, count = asyncio.Event(), 0
    watch = FolderWatch(tmp_path, lambda name: name.endswith(".jsonl"))
    assert watch.works

    def changed() -> None:
        nonlocal count
        count += 1
        event.set()

    end = watch.on_change(changed)
    file = tmp_path / "a.jsonl"
    for change in (file.touch, lambda: file.write_text("x"), lambda: file.rename(tmp_path / "b.jsonl")):
        change()
        await told(event)
    (tmp_path / "other").write_text("x")
    (tmp_path / "b.jsonl").unlink()
    await told(event)
    before = count
    descriptors = [os.open(tmp_path / name, os.O_CREAT | os.O_WRONLY) for name in ("c.jsonl", "other")]
    for _ in range(20_000):  # more than the system remembers
        for descriptor in descriptors:
            os.write(descriptor, b"x")
    for descriptor in descriptors:
        os.close(descriptor)
    await told(event)
    assert count < before + 100, "told together"
    end()
    end()
    watch.close()
    assert not watch.works
    assert not FolderWatch(tmp_path / "nowhere", bool).works


async def test_each_commit_to_the_record_is_told_and_nothing_else(store_path: Path) -> None:
    store = await Store.open(store_path)
    event = asyncio.Event()
    store.changes.on_change(event.set)
    try:
        await store.agents.delete_old(0.0)  # its first commit
        event.clear()
        await store.agents.find_all()
        with sqlite3.connect(store_path) as other:
            other.execute("CREATE TABLE made_up (a)")
        await told(event)
    finally:
        await store.close()
    assert not store.changes.works


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "gsh.db"


async def test_ends_of_processes_are_told() -> None:
    event = asyncio.Event()
    watch = ProcessWatch(event.set)
    first, second = [await asyncio.create_subprocess_exec("sleep", "1000") for _ in "ab"]
    try:
        assert watch.watch({first.pid, second.pid})
        assert watch.watch({second.pid})
        first.kill()
        await first.wait()
        assert not watch.watch({first.pid, second.pid}), "that one is gone already"
        os.kill(second.pid, signal.SIGKILL)
        await told(event)
        watch.close()
    finally:
        for process in (first, second):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
