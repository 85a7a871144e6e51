"""Several processes on one record: writing at once, opening at once, and who holds a conversation."""

import asyncio
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
from pathlib import Path

import msgspec
import pytest

from gshtui.store.engine.store_errors import SessionHeld
from gshtui.system.processes import process_identity
from gshtui.system.processes.process_identity import Process, is_alive, this_process
from tests.kit.home import Home
from tests.kit.record import numbered_prompt, open_record, python_child, read_line

WRITER = """
import asyncio, sys
from pathlib import Path
from gshtui.bus.messages import user_message
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    names = [f"{sys.argv[3]}-{number}" for number in range(150)]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    first = (user_message(name, id=name) for name in names[:100])
    places = await asyncio.gather(*(store.messages.append(sys.argv[2], message) for message in first))
    for name in names[100:]:
        places.append(await store.messages.append(sys.argv[2], user_message(name, id=name)))
    await store.close()
    print(places, flush=True)

asyncio.run(main())
"""

OPENER = """
import asyncio, sys
from pathlib import Path
from gshtui.store.record.store import Store

async def main():
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    store = await Store.open(Path(sys.argv[1]))
    info = await store.sessions.create(cwd="/p", agent=sys.argv[2])
    await store.close()
    print(info.id, flush=True)

asyncio.run(main())
"""

HOLDER = """
import asyncio, sys
from pathlib import Path
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    hold = await store.holds.acquire(sys.argv[2], "window 1")
    print("held", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    await hold.release()
    print("released", flush=True)
    await asyncio.to_thread(sys.stdin.readline)

asyncio.run(main())
"""


async def _go(worker: asyncio.subprocess.Process) -> None:
    assert worker.stdin is not None
    worker.stdin.write(b"\n")
    await worker.stdin.drain()


async def test_two_processes_and_this_one_write_to_one_conversation_at_once(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        async with (
            python_child(WRITER, str(path), info.id, "a") as a,
            python_child(WRITER, str(path), info.id, "b") as b,
        ):
            assert [await read_line(a), await read_line(b)] == ["ready", "ready"]
            await asyncio.gather(_go(a), _go(b))
            own = [await store.messages.append(info.id, numbered_prompt(number)) for number in range(50)]
            places = [*own, *json.loads(await read_line(a)), *json.loads(await read_line(b))]
        assert sorted(places) == list(range(1, 351))
        assert (await store.sessions.find(info.id)).messages == 350
        found = [stored.message.id for stored in await store.messages.read(info.id)]
        assert [name for name in found if name.startswith("a-1")] == sorted(
            (name for name in found if name.startswith("a-1")), key=lambda name: int(name[2:])
        )
        assert await store.check() == []


async def test_four_processes_make_the_record_at_once(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with (
        python_child(OPENER, str(path), "a") as a,
        python_child(OPENER, str(path), "b") as b,
        python_child(OPENER, str(path), "c") as c,
        python_child(OPENER, str(path), "d") as d,
    ):
        workers = (a, b, c, d)
        assert [await read_line(worker) for worker in workers] == ["ready"] * 4
        await asyncio.gather(*(_go(worker) for worker in workers))
        made = {await read_line(worker) for worker in workers}
    async with open_record(path) as store:
        assert {info.id for info in await store.sessions.find_all(empty=True)} == made
        assert len(made) == 4


async def test_the_second_place_is_told_where_a_conversation_is_open_until_it_is_not(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        async with python_child(HOLDER, str(path), info.id) as holder:
            assert await read_line(holder) == "held"
            with pytest.raises(SessionHeld) as held:
                await store.holds.acquire(info.id, "window 2")
            assert (held.value.where, held.value.pid) == ("window 1", holder.pid)
            assert held.value.since > 0
            assert (await store.sessions.find(info.id)).held_by == "window 1"
            with pytest.raises(SessionHeld):
                await store.sessions.delete(info.id)
            await _go(holder)
            assert await read_line(holder) == "released"
            hold = await store.holds.acquire(info.id, "window 2")
            await hold.release()
            await hold.release()
            assert (await store.sessions.find(info.id)).held_by == ""


async def test_a_hold_ends_with_its_process_even_before_anybody_reaped_it(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        async with python_child(HOLDER, str(path), info.id) as holder:
            assert await read_line(holder) == "held"
            os.kill(holder.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):  # it was reaped in the meantime
                await asyncio.to_thread(os.waitid, os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
            assert (await store.sessions.find(info.id)).held_by == ""
            assert await store.holds.acquire(info.id, "window 2")


@pytest.mark.parametrize(
    ("field", "value"),
    [("started", "'1'"), ("machine", "'another boot/pid:[1]'"), ("pid", "999999999")],
    ids=["the number was used again", "the machine was started again", "no such process"],
)
async def test_a_hold_of_a_process_that_is_no_more_is_taken_over(home: Home, field: str, value: str) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        old = await store.holds.acquire(info.id, "window 1")
        with sqlite3.connect(path) as raw:
            raw.execute(f"UPDATE holds SET {field} = {value}")
        raw.close()
        await store.holds.acquire(info.id, "window 2")
        await old.release()  # gives nothing back that is not its own
        assert (await store.sessions.find(info.id)).held_by == "window 2"


async def test_one_of_many_that_want_a_stale_hold_gets_it(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as one, open_record(path) as two:
        info = await one.sessions.create(cwd="/p", agent="main")
        await one.holds.acquire(info.id, "dead")
        with sqlite3.connect(path) as raw:
            raw.execute("UPDATE holds SET started = 'long ago'")
        raw.close()
        wanted = (store.holds.acquire(info.id, f"{number}") for number, store in enumerate([one, two] * 5))
        got = await asyncio.gather(*wanted, return_exceptions=True)
        assert [isinstance(result, SessionHeld) for result in got].count(False) == 1


async def test_closing_the_store_gives_back_what_it_holds(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        await store.holds.acquire(info.id, "window 1")
    async with open_record(path) as store:
        assert (await store.sessions.find(info.id)).held_by == ""


def test_a_process_that_ended_is_not_alive_before_its_parent_took_note() -> None:
    with subprocess.Popen(["sleep", "1000"]) as ended:
        started = process_identity.start_of(ended.pid)
        other = Process(this_process().machine, ended.pid, started or "")
        assert is_alive(other)
        ended.kill()
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
        assert not is_alive(other)


def test_a_process_of_another_container_is_not_known_to_be_dead() -> None:
    me = this_process()
    boot = me.machine.partition("/")[0]
    assert is_alive(me)
    assert is_alive(Process(f"{boot}/pid:[1]", 999_999_999, "1"))


def test_where_there_is_no_proc_the_start_time_still_tells_processes_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_identity, "_PROC", tmp_path)
    process_identity._machine.cache_clear()  # pyright: ignore[reportPrivateUsage]
    try:
        me = this_process()
        assert me.machine == "/"
        assert is_alive(me)
        assert not is_alive(Process(me.machine, me.pid, "1.00"))
        assert not is_alive(Process(me.machine, 999_999_999, me.started))
    finally:
        process_identity._machine.cache_clear()  # pyright: ignore[reportPrivateUsage]


async def test_a_writer_waits_for_another_ones_transaction_while_reading_goes_on(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        await store.messages.append(info.id, numbered_prompt(1))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(store.messages.append(info.id, numbered_prompt(2)))
        for _ in range(5):
            assert len(await store.messages.read(info.id)) == 1
        assert not waiting.done()
        other.execute("COMMIT")
        other.close()
        assert await waiting == 2
        assert msgspec.json.encode(await store.sessions.find_all())
