"""What was acknowledged outlives `kill -9` of the process that wrote it, and of one that was recovering."""

import os
import signal
import sqlite3

import pytest

from tests.kit.home import Home
from tests.kit.record import open_record, python_child, read_line

WRITER = """
import asyncio, sys
from pathlib import Path
from gshtui.bus.messages import Message, Text, user_message
from gshtui.bus.events.agent_events import TurnStarted
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]), synchronous=sys.argv[3])
    session = sys.argv[2] or (await store.sessions.create(cwd="/p", agent="main")).id
    await store.holds.acquire(session, "the writer")
    print(session, flush=True)

    async def write(worker):
        number = 0
        while True:
            name = f"{session}-{worker}-{number}-{sys.argv[4]}"
            await store.messages.save_partial(session, Message(name, "assistant", (Text("so far"),)))
            store.journal.record(TurnStarted(agent="main", session=session, turn=name, prompt=name))
            await store.messages.append(session, user_message("words " * 50, id=name))
            print(name, flush=True)
            number += 1

    await asyncio.gather(*(write(worker) for worker in range(8)))

asyncio.run(main())
"""


@pytest.mark.parametrize("synchronous", ["normal", "full"])
async def test_what_was_acknowledged_outlives_a_kill(home: Home, synchronous: str) -> None:
    path = home.data / "gsh" / "gsh.db"
    session, acknowledged = "", list[str]()
    for kill_after in (1, 25, 60, 120):
        async with python_child(WRITER, str(path), session, synchronous, str(kill_after)) as process:
            session = await read_line(process)
            for _ in range(kill_after):
                acknowledged.append(await read_line(process))
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            # What it had printed was acknowledged too; the last line may be half a line.
            acknowledged += (await process.stdout.read()).decode().split("\n")[:-1]
        async with open_record(path) as store:
            found = [stored.message.id for stored in await store.messages.read(session)]
            assert set(acknowledged) <= set(found)
            assert [stored.seq for stored in await store.messages.read(session)] == list(range(1, len(found) + 1))
            assert await store.check() == []
            kept = {message.id for message in await store.messages.partials(session)}
            assert kept.isdisjoint(found)
            hold = await store.holds.acquire(session, "the next one")  # the dead writer's hold is no obstacle
            await hold.release()
    assert len(acknowledged) >= 206


async def test_a_recovery_that_was_killed_is_ended_by_the_next_start(home: Home) -> None:
    """At each of the moments at which the files' names change."""
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main", title="kept")
    sound = path.read_bytes()
    room = path.with_name("gsh.db.recovering")

    for complete, there in ((False, True), (True, True), (True, False)):
        path.unlink(missing_ok=True)
        room.mkdir(exist_ok=True)
        (room / "old.db").write_bytes(b"half a copy")
        if complete:
            (room / "complete.db").write_bytes(sound)
        if there:
            path.write_bytes(sound)
        async with open_record(path) as store:
            assert (await store.sessions.find(info.id)).title == "kept"
        assert not room.exists()


async def test_a_log_without_its_file_is_not_replayed_into_a_new_one(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with python_child(WRITER, str(path), "", "normal", "x") as process:
        session = await read_line(process)
        await read_line(process)
        os.kill(process.pid, signal.SIGKILL)
    assert path.with_name("gsh.db-wal").stat().st_size > 0
    path.unlink()
    async with open_record(path) as store:
        assert await store.sessions.find_all(empty=True) == []
        assert await store.check() == []
    assert session
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
