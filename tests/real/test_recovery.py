"""A damaged file is kept as it is, and what can be read of it goes on in a new one."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.messages import Message, Text
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record import database
from gshtui.store.record import store as store_module
from gshtui.store.record.store import Store
from tests.kit.home import Home
from tests.kit.record import Notices, numbered_prompt, open_record, wait_until

PAGE = 4096
MESSAGES = 400


@pytest.fixture
async def path(home: Home) -> Path:
    """A record of several hundred pages: two conversations, an answer cut off, outputs, grants, history."""
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path) as store:
        long = await store.sessions.create(cwd="/p", agent="main", title="long")
        short = await store.sessions.create(cwd="/p", agent="main", title="short")
        await asyncio.gather(
            *(
                store.messages.append(long.id, numbered_prompt(n, f"entry {n} " + "text " * 300))
                for n in range(MESSAGES)
            )
        )
        await store.messages.append(short.id, numbered_prompt(0))
        await store.messages.save_partial(long.id, Message("cut", "assistant", (Text("I was about to"),)))
        await store.outputs.put(long.id, "c", "full output\n" * 1_000)
        await store.grants.add("/p", "bash", "ls")
        await store.prompts.add("/p", "typed")
    return path


def _overwrite(path: Path, pages: range, seed: int = 1) -> None:
    noise = random.Random(seed)
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * PAGE)
            file.write(noise.randbytes(PAGE))


def _pages(path: Path) -> int:
    return path.stat().st_size // PAGE


async def _kept(store: Store) -> tuple[int, int]:
    """Messages that can be read, and conversations."""
    infos = await store.sessions.find_all()
    for info in infos:
        found = await store.messages.read(info.id)
        assert len(found) == info.messages
        assert all(stored.message.text for stored in found)
    return sum(info.messages for info in infos), len(infos)


def _set_aside(path: Path) -> list[Path]:
    return sorted(path.parent.glob("gsh.db.corrupt-*"))


async def test_noise_in_the_middle_costs_what_it_covers(path: Path) -> None:
    middle = _pages(path) // 2
    _overwrite(path, range(middle, middle + 5))
    damaged = path.read_bytes()
    notices = Notices()
    async with open_record(path, notices) as store:
        messages, sessions = await _kept(store)
        assert MESSAGES - 40 <= messages <= MESSAGES
        assert sessions == 2
        assert await store.check() == []
        assert len(await store.messages.search("entry", limit=1_000)) == messages - 1
        info = await store.sessions.find((await store.sessions.find_all())[0].id)
        assert await store.messages.append(info.id, numbered_prompt(9_999)) > 0
    (told, where), *_ = notices
    assert f"{messages} messages of 2 conversations were recovered" in told
    (aside,) = _set_aside(path)
    assert str(aside) in where
    assert aside.read_bytes() == damaged
    notices.clear()
    async with open_record(path, notices):
        assert notices == []


def _no_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"garbage all over" * 7)


def _no_first_page(path: Path) -> None:
    _overwrite(path, range(1))


def _not_a_byte_left(path: Path) -> None:
    path.write_bytes(random.Random(2).randbytes(path.stat().st_size))


def _first_half(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2 + 100)


def _every_tenth(path: Path) -> None:
    for page in range(30, _pages(path), 10):
        _overwrite(path, range(page, page + 1))


def _zeroed(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(40 * PAGE)
        file.write(bytes(PAGE * 20))


@pytest.mark.parametrize(
    ("damage", "at_least"),
    [
        (_no_header, MESSAGES + 1),
        (_no_first_page, MESSAGES + 1),
        (_first_half, MESSAGES // 4),
        (_every_tenth, MESSAGES // 2),
        (_zeroed, MESSAGES // 2),
        (_not_a_byte_left, 0),
    ],
)
async def test_whatever_the_damage_the_store_opens_with_what_is_left(
    path: Path, damage: Callable[[Path], None], at_least: int
) -> None:
    damage(path)
    damaged = path.read_bytes()
    notices = Notices()
    async with open_record(path, notices) as store:
        messages, sessions = await _kept(store)
        assert messages >= at_least
        if at_least > MESSAGES:
            assert sessions == 2
            (long,) = [info for info in await store.sessions.find_all() if info.title == "long"]
            assert [message.text for message in await store.messages.partials(long.id)] == ["I was about to"]
            ((_, key),) = await store.outputs.find_all(long.id)
            assert (await store.outputs.get(key)).startswith("full output")
            assert len(await store.grants.find_all("/p")) == 1
            assert await store.prompts.find_all("/p") == ["typed"]
        assert await store.check() == []
        fresh = await store.sessions.create(cwd="/p", agent="main")
        assert await store.messages.append(fresh.id, numbered_prompt(1)) == 1
    assert len(notices) == 1
    assert _set_aside(path)[0].read_bytes() == damaged


def _root_of(path: Path, table: str) -> int:
    with sqlite3.connect(path) as raw:
        (page,) = raw.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    raw.close()
    return int(page)


@pytest.mark.parametrize("how", ["noise", "zeroes"])
async def test_a_table_that_loses_its_page_is_found_by_its_rows(path: Path, how: str) -> None:
    """The page that leads to all messages, and the whole list of tables."""
    root = _root_of(path, "messages")
    for page in (root - 1, 0, *range(27, 30)):
        if how == "noise":
            _overwrite(path, range(page, page + 1))
        else:
            with path.open("r+b") as file:
                file.seek(page * PAGE)
                file.write(bytes(PAGE))
    async with open_record(path) as store:
        messages, sessions = await _kept(store)
        assert messages == MESSAGES + 1
        assert sessions == 2
        (long,) = [info for info in await store.sessions.find_all() if info.title == "long"]
        found = await store.messages.read(long.id)
        assert [stored.seq for stored in found] == list(range(1, MESSAGES + 1))
        assert await store.prompts.find_all("/p") == ["typed"]
        assert len(await store.grants.find_all("/p")) == 1
        ((_, key),) = await store.outputs.find_all(long.id)
        assert (await store.outputs.get(key)).startswith("full output")
        assert await store.check() == []


async def test_what_was_sent_is_recovered_with_its_texts(path: Path) -> None:
    async with open_record(path) as store:
        (long,) = [info for info in await store.sessions.find_all() if info.title == "long"]
        words = {f"{number:032x}": f"words {number} " * 200 for number in range(60)}
        blocks: list[Block] = []
        for number, name in enumerate(words):
            blocks.append(Block(f"m{number}/0", "history", "text", "you", 1, name))
            mark = Iteration(f"i{number}", "main", long.id, "t", 1, float(number))
            await store.contexts.add_iteration(mark, blocks, {name: words[name]})
            await store.contexts.add_overlay(long.id, f"o{number}", "pinned", 1.0, f'{{"n": {number}}}')
    _overwrite(path, range(_root_of(path, "iterations") - 1, _root_of(path, "iterations")))
    _overwrite(path, range(_root_of(path, "text_uses") - 1, _root_of(path, "text_uses")))
    async with open_record(path) as store:
        marks = await store.contexts.iterations(long.id)
        assert len(marks) >= 55
        readable = 0
        for mark in marks:
            try:
                readable += len(await store.contexts.blocks(mark.id)) == int(mark.id[1:]) + 1
            except StoreError as error:
                assert error.kind == "corrupt"
        assert readable >= 40
        assert [data for _, data in await store.contexts.overlays(long.id)] == [
            f'{{"n": {number}}}' for number in range(60)
        ]
        assert await store.contexts.text(f"{7:032x}") == words[f"{7:032x}"]
        assert await store.check() == []
        await store.sessions.delete(long.id)
        with pytest.raises(StoreError):
            await store.contexts.text(f"{7:032x}")


async def test_what_is_only_in_the_log_is_recovered_too(path: Path) -> None:
    async with open_record(path) as store:
        (info,) = [info for info in await store.sessions.find_all() if info.title == "short"]
        for number in range(1, 6):
            await store.messages.append(info.id, numbered_prompt(number))
        wal = path.with_name("gsh.db-wal").read_bytes()
        main = path.read_bytes()
    assert wal
    path.write_bytes(b"x" * 100 + main[100:])
    _overwrite(path, range(60, 62))
    path.with_name("gsh.db-wal").write_bytes(wal)
    async with open_record(path) as store:
        assert len(await store.messages.read(info.id)) == 6
    assert [file.name[-4:] for file in _set_aside(path)][-1] == "-wal"


async def test_a_conversation_whose_own_row_is_lost_is_found_by_its_messages(path: Path) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("DELETE FROM sessions WHERE title = 'long'")
    raw.close()
    database.mark_damaged(path)
    async with open_record(path) as store:
        (lost,) = [info for info in await store.sessions.find_all() if info.title == "(recovered)"]
        assert lost.messages == MESSAGES
        assert len(await store.messages.partials(lost.id)) == 1


async def test_a_large_file_is_checked_behind_the_scenes_and_recovered_at_the_next_start(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "CHECK_AT_OPEN", 0)
    monkeypatch.setattr(store_module, "CHECK_AT_OPEN", 0)
    monkeypatch.setattr(store_module, "BEGIN_AFTER", 0)
    async with open_record(path) as store:
        await wait_until(lambda: path.with_name("gsh.db.checked").exists(), store)
    path.with_name("gsh.db.checked").unlink()
    _overwrite(path, range(150, 160))  # behind the list of tables, which is read at once
    notices = Notices()
    async with open_record(path, notices):
        told = await notices.wait_for("damaged")
        assert "then start one" in told[1]
    notices.clear()
    async with open_record(path, notices) as store:
        assert "recovered" in notices[0][0]
        assert (await _kept(store))[0] > MESSAGES // 2


@pytest.mark.parametrize("first", [10, 11], ids=["with its head", "without its head"])
@pytest.mark.parametrize("by", ["search", "append", "delete"])
async def test_a_word_index_that_is_damaged_is_made_anew_by_whoever_meets_it(path: Path, by: str, first: int) -> None:
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE messages_fts_data SET block = x'ff00ff00ff00ff' WHERE id >= ?", (first,))
    raw.close()
    async with open_record(path) as store:
        (fault,) = await store.check()
        assert "full-text index" in fault
        (long,) = [info for info in await store.sessions.find_all() if info.title == "long"]
        (short,) = [info for info in await store.sessions.find_all() if info.title == "short"]
        if by == "append":
            assert await store.messages.append(long.id, numbered_prompt(9_999)) == MESSAGES + 1
        elif by == "delete":
            await store.sessions.delete(short.id)
        assert len(await store.messages.search("entry 77 text")) == 1
        assert await store.check() == []


async def test_damage_that_shows_while_the_store_is_open_is_healed_at_once(path: Path) -> None:
    notices = Notices()
    async with open_record(path, notices) as store:
        (info,) = [info for info in await store.sessions.find_all() if info.title == "long"]
        _overwrite(path, range(20, _pages(path), 3))
        await asyncio.gather(
            *(store.messages.append(info.id, numbered_prompt(number)) for number in range(9_000, 9_050))
        )
        found = {stored.message.id for stored in await store.messages.read(info.id)}
        assert {f"m{number}" for number in range(9_000, 9_050)} <= found
        assert await store.check() == []
    assert "recovered" in notices[0][0]
    assert len(_set_aside(path)) >= 1


async def test_check_names_what_is_wrong(path: Path) -> None:
    async with open_record(path) as store:
        assert await store.check() == []
        with sqlite3.connect(path) as raw:
            raw.execute("PRAGMA foreign_keys = OFF")
            raw.execute("DELETE FROM sessions WHERE title = 'short'")
        raw.close()
        (fault,) = await store.check()
        assert "messages" in fault
        assert "sessions" in fault


@pytest.mark.parametrize("pattern", ["gsh.db", "gsh.db*", "../gsh"], ids=["file", "with its log", "folder"])
async def test_a_record_that_was_removed_while_open_is_written_again(path: Path, pattern: str) -> None:
    notices = Notices()
    async with open_record(path, notices) as store:
        (info, *_) = await store.sessions.find_all()
        await asyncio.gather(
            *(store.messages.append(info.id, numbered_prompt(number)) for number in range(4_000, 4_100))
        )
        info = await store.sessions.find(info.id)
        for file in [*path.parent.glob(pattern)]:
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        place = await store.messages.append(info.id, numbered_prompt(5_000))
        assert len(await store.messages.read(info.id, before=place)) == info.messages
        assert "removed" in (await notices.wait_for("written again"))[0]
    async with open_record(path) as store:
        assert (await store.messages.read(info.id))[-1].message.id == "m5000"
        assert await store.check() == []


async def test_a_record_that_was_recovered_by_another_window_is_taken_up(path: Path) -> None:
    notices = Notices()
    async with open_record(path, notices) as store:
        (info, *_) = await store.sessions.find_all()
        database.mark_damaged(path)
        async with open_record(path) as other:
            await store.messages.append(info.id, numbered_prompt(5_000))
            assert (await other.messages.read(info.id))[-1].message.id == "m5000"
            assert "replaced" in notices[0][0]
