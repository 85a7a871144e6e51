"""A disk that is full, and a folder that cannot be written: what fails says so, reading goes on, recording resumes."""

import errno
import json
import shutil
from pathlib import Path

import pytest

from gshtui.store.engine.journal_queue import JournalEntry, JournalQueue
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record import database
from gshtui.store.record.store import Store
from tests.kit.home import Home
from tests.kit.record import Notices, numbered_prompt, open_record, python_child, read_line

FULL = """
import asyncio, json, resource, sys
from pathlib import Path
from gshtui.bus.events.agent_events import TurnStarted
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from tests.kit.record import Notices, numbered_prompt

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def say(**what):
    print(json.dumps(what), flush=True)

async def main():
    path = Path(sys.argv[1])
    notices = Notices()
    store = await Store.open(path, on_notice=notices, retry_every=0.05)
    session = (await store.sessions.create(cwd="/p", agent="main")).id
    await store.messages.append(session, numbered_prompt(0))
    size = max(file.stat().st_size for file in path.parent.iterdir())
    limit(size + 300_000)
    kept = 1
    try:
        while True:
            await store.messages.append(session, numbered_prompt(kept, "word " * 1_000))
            kept += 1
    except StoreError as error:
        say(kind=error.kind, message=error.message, hint=error.hint)
    for number in range(30):
        turn = TurnStarted(agent="main", session=session, turn=f"t{number}", prompt="p", text="word " * 4_000)
        store.journal.record(turn)
    try:
        await store.messages.append(session, numbered_prompt(9_998, "word " * 4_000))
    except StoreError as error:
        say(kind=error.kind)
    hits = await store.messages.search("word", limit=999)
    say(readable=len(await store.messages.read(session)), kept=kept, hits=len(hits))
    limit(size + 500_000)
    say(told=[text for text, _ in notices], small=await store.messages.append(session, numbered_prompt(9_997)))
    limit(resource.RLIM_INFINITY)
    await notices.wait_for("Recording continues")
    events = [event.turn for _, event in await store.journal.read(session)]
    place = await store.messages.append(session, numbered_prompt(9_999))
    say(events=events, place=place, faults=await store.check(), notices=len(notices))
    await store.close()

asyncio.run(main())
"""


async def test_a_full_disk_is_said_once_and_recording_goes_on_by_itself(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with python_child(FULL, str(path)) as process:
        first = json.loads(await read_line(process))
        assert first["kind"] == "full"
        assert "full" in first["message"]
        assert "space" in first["hint"]
        assert json.loads(await read_line(process)) == {"kind": "full"}
        read = json.loads(await read_line(process))
        assert read["kept"] > 3
        assert read["readable"] == read["kept"]
        assert read["hits"] == read["kept"] - 1
        meanwhile = json.loads(await read_line(process))
        assert len(meanwhile["told"]) == 1
        assert meanwhile["small"] == read["kept"] + 1  # there is room for it, though not for all that waits
        after = json.loads(await read_line(process))
        assert after["events"] == [f"t{number}" for number in range(30)]
        assert (after["place"], after["faults"], after["notices"]) == (read["kept"] + 2, [], 2)
        assert await process.wait() == 0


FULL_AND_IDLE = (
    FULL[: FULL.index("    for number in range(30)")]
    + """
    limit(resource.RLIM_INFINITY)
    await notices.wait_for("Recording continues")
    say(told=len(notices))
    await store.close()

asyncio.run(main())
"""
)


async def test_that_there_is_room_again_is_noticed_without_anything_to_write(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with python_child(FULL_AND_IDLE, str(path)) as process:
        assert json.loads(await read_line(process))["kind"] == "full"
        assert json.loads(await read_line(process)) == {"told": 2}
        assert await process.wait() == 0


FULL_AT_CLOSE = (
    FULL[: FULL.index("    say(readable")]
    + """
    await store.close()
    say(told=[text for text, _ in notices])

asyncio.run(main())
"""
)


async def test_closing_with_a_full_disk_ends_and_says_what_is_lost(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with python_child(FULL_AT_CLOSE, str(path)) as process:
        assert await read_line(process)
        assert await read_line(process)
        assert "30 events" in json.loads(await read_line(process))["told"][-1]
        assert await process.wait() == 0


def test_what_waits_in_memory_has_a_limit_and_counts_what_it_gives_up() -> None:
    spill = JournalQueue(limit=100)
    for number in range(10):
        spill.add(JournalEntry("s", "T", float(number), b"x" * 30))
    assert (spill.pop_lost(), spill.pop_lost()) == (7, 0)
    taken = spill.pop(2)
    assert [entry.at for entry in taken] == [7.0, 8.0]
    for number in (10.0, 11.0):  # while those two are being written
        spill.add(JournalEntry("s", "T", number, b"x" * 30))
    spill.put_back(taken)
    assert spill.pop_lost() == 2
    assert [entry.at for entry in spill.pop(9)] == [9.0, 10.0, 11.0]
    for number in (12.0, 13.0):
        spill.add(JournalEntry("s", "T", number, b"x" * 500))
    assert [entry.at for entry in spill.pop(9)] == [13.0]  # even one that is larger than the limit waits


READ_ONLY = """
import asyncio, json, sys
from pathlib import Path
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from tests.kit.record import Notices, bound_by_permissions, numbered_prompt

bound_by_permissions()

async def main():
    path = Path(sys.argv[1])
    notices = Notices()
    try:
        store = await Store.open(path, on_notice=notices)
    except StoreError as error:
        print(json.dumps({"kind": error.kind, "message": error.message, "hint": error.hint}), flush=True)
        return
    kinds = []
    session = sys.argv[2]
    adding, creating = store.messages.append(session, numbered_prompt(5)), store.sessions.create(cwd="/", agent="a")
    for call in (adding, creating, store.holds.acquire(session, "h")):
        try:
            await call
        except StoreError as error:
            kinds.append(error.kind)
    found = await store.messages.read(sys.argv[2])
    hits = await store.messages.search("message")
    told, faults, readonly = [text for text, _ in notices], await store.check(), store.readonly
    await store.close()
    print(json.dumps({"kinds": kinds, "read": len(found), "hits": len(hits), "told": told, "faults": faults,
                      "readonly": readonly}), flush=True)

asyncio.run(main())
"""


def _lock_up(folder: Path) -> None:
    for file in folder.iterdir():
        file.chmod(0o400)
    folder.chmod(0o500)


@pytest.mark.parametrize("state", ["closed well", "log left behind", "log without index"])
async def test_a_read_only_folder_is_open_for_reading(home: Home, state: str) -> None:
    folder = home.data / "gsh"
    async with open_record(folder / "gsh.db") as store:
        info = await store.sessions.create(cwd="/p", agent="main")
        for number in range(3):
            await store.messages.append(info.id, numbered_prompt(number))
        if state != "closed well":
            shutil.copytree(folder, home.data / "copy")
    if state != "closed well":
        shutil.rmtree(folder)
        (home.data / "copy").rename(folder)
    if state == "log without index":
        (folder / "gsh.db-shm").unlink()
    _lock_up(folder)
    async with python_child(READ_ONLY, str(folder / "gsh.db"), info.id) as process:
        found = json.loads(await read_line(process))
        assert found["kinds"] == ["readonly"] * 3
        assert (found["read"], found["hits"], found["faults"], found["readonly"]) == (3, 3, [], True)
        (told,) = found["told"]
        assert "open read-only" in told
        assert await process.wait() == 0
    folder.chmod(0o700)


async def test_a_record_that_could_only_be_read_is_written_to_once_there_is_room(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, notices = home.data / "gsh" / "gsh.db", Notices()
    async with open_record(path) as store:
        first = await store.sessions.create(cwd="/p", agent="main")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(database, "_TRY_EVERY", 0.0)
    with monkeypatch.context() as while_full:
        while_full.setattr(database, "_open_writable", full)
        store = await Store.open(path, on_notice=notices)
        with pytest.raises(StoreError, match="open read-only"):
            await store.sessions.create(cwd="/p", agent="main")
        assert (await store.sessions.find(first.id)).id == first.id
        assert len([*notices]) == 1, "said once"
    second = await store.sessions.create(cwd="/p", agent="main")
    assert not store.readonly
    assert [text for text, _ in notices][1:] == ["Recording continues."]
    await store.close()
    async with open_record(path) as store:
        assert [(await store.sessions.find(each.id)).id for each in (first, second)] == [first.id, second.id]


async def test_a_read_only_folder_without_a_record_says_so(home: Home) -> None:
    folder = home.data / "gsh"
    folder.mkdir()
    _lock_up(folder)
    async with python_child(READ_ONLY, str(folder / "gsh.db"), "x") as process:
        found = json.loads(await read_line(process))
        assert found["kind"] == "readonly"
        assert str(folder) in found["hint"]
    folder.chmod(0o700)


async def test_a_file_in_place_of_the_folder_is_one_clear_sentence(home: Home) -> None:
    (home.data / "gsh").write_text("a file")
    with pytest.raises(StoreError) as error:
        await Store.open(home.data / "gsh" / "gsh.db", on_notice=Notices())
    assert str(home.data / "gsh") in str(error.value)
