"""What was sent, in the record: overlays, texts and iterations; their size, their end, and what a crash leaves."""

import signal
import sqlite3
import time
from pathlib import Path

import msgspec
import pytest

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.messages import Usage
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables import context_tables, sent_texts
from tests.kit.record import open_record, python_child, read_line


def block(number: int, words: str = "", **more: object) -> Block:
    text = words or f"text {number}"
    made = Block(
        f"m{number}/0", "history", "text", "you", tokens=10 + number, hash=sent_texts.hash_of(text), at=float(number)
    )
    return msgspec.structs.replace(made, **more)


def mark(session: str, number: int, agent: str = "main") -> Iteration:
    return Iteration(f"{session}-{agent}-{number}", agent, session, f"t{number}", 1, float(number), tokens=number)


async def _session(store: Store) -> str:
    return (await store.sessions.create(cwd="/p", agent="main")).id


async def test_overlays_come_in_order_once_each_and_only_those_that_are_new(path: Path) -> None:
    async with open_record(path) as store:
        session, other = await _session(store), await _session(store)
        first = await store.contexts.add_overlay(session, "a", "pinned", 5.0, '{"n": 1}')
        await store.contexts.add_overlay(other, "x", "pinned", 1.0, "{}")
        second = await store.contexts.add_overlay(session, "b", "undone", float("nan"), '{"words": "\ud800"}')
        assert await store.contexts.add_overlay(session, "a", "pinned", 9.0, '{"n": 2}') == first
        assert await store.contexts.overlays(session) == [(first, '{"n": 1}'), (second, '{"words": "�"}')]
        assert await store.contexts.overlays(session, first) == [(second, '{"words": "�"}')]
        with pytest.raises(StoreError, match="not in the record"):
            await store.contexts.add_overlay("nowhere", "c", "pinned", 1.0, "{}")


async def test_an_overlay_of_another_process_is_seen(path: Path) -> None:
    async with open_record(path) as one, open_record(path) as two:
        session = await _session(one)
        seq = await one.contexts.add_overlay(session, "a", "pruned", 1.0, "{}")
        assert await two.contexts.overlays(session) == [(seq, "{}")]


async def test_texts_are_kept_once_and_read_again(path: Path) -> None:
    long = "line\n" * 200_000
    words = {sent_texts.hash_of(text): text for text in ("", "é\0\ud800", long)}
    async with open_record(path) as store:
        session = await _session(store)
        for number in (1, 2):
            await store.contexts.add_iteration(mark(session, number), [], words)
        assert [await store.contexts.text(name) for name in words] == ["", "é\0�", long]
        with pytest.raises(StoreError, match="no text"):
            await store.contexts.text("00")
    assert path.stat().st_size < len(long) // 2
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE texts SET data = substr(data, 1, length(data) - 9) WHERE bytes > 1000")
    raw.close()
    async with open_record(path) as store:
        with pytest.raises(StoreError, match="damaged"):
            await store.contexts.text(sent_texts.hash_of(long))


@pytest.mark.parametrize("forgetful", [False, True], ids=["one process", "a new process each time"])
async def test_every_iteration_gives_its_blocks_again(path: Path, forgetful: bool) -> None:
    """Growth, a cut in the middle, a change in front, and everything new, over more than one power of two."""
    sent: list[tuple[Block, ...]] = []
    blocks: tuple[Block, ...] = ()
    store = await Store.open(path)
    try:
        session = await _session(store)
        for number in range(1, 41):
            blocks = (*blocks, block(2 * number), block(2 * number + 1))
            if number in (7, 31):
                blocks = (block(1_000 + number), *blocks[8:])
            if number == 16:
                blocks = (msgspec.structs.replace(blocks[0], section="system"), *blocks[1:])
            if number == 20:
                blocks = tuple(reversed(blocks))
            if forgetful:
                await store.close()
                store = await Store.open(path)
            read = tuple(msgspec.structs.replace(item, cache="read") for item in blocks)
            assert await store.contexts.add_iteration(mark(session, number), read) == number
            assert await store.contexts.add_iteration(mark(session, number), ()) == number
            sent.append(blocks)
        assert [await store.contexts.blocks(mark(session, number).id) for number in range(1, 41)] == sent
        assert await store.contexts.iterations(session) == [mark(session, number) for number in range(1, 41)]
        assert await store.contexts.iterations(agent="main", limit=2) == [mark(session, 39), mark(session, 40)]
        assert await store.contexts.iterations(session, agent="other") == []
    finally:
        await store.close()


async def test_agents_of_one_conversation_do_not_build_on_each_other(path: Path) -> None:
    async with open_record(path) as store:
        session = await _session(store)
        for number in range(1, 6):
            await store.contexts.add_iteration(mark(session, number, "main"), [block(n) for n in range(number)])
            await store.contexts.add_iteration(mark(session, number, "helper"), [block(100 + n) for n in range(number)])
        assert (await store.contexts.blocks(mark(session, 5, "helper").id))[0].id == "m100/0"
        assert len(await store.contexts.iterations(session)) == 10


async def test_what_is_known_after_the_answer_is_added(path: Path) -> None:
    async with open_record(path) as store:
        session = await _session(store)
        await store.contexts.add_iteration(mark(session, 1), [block(1)])
        id = mark(session, 1).id
        await store.contexts.update_iteration(id, Usage(input=5, cache_read=7), 0.25, sent="abc")
        changed = await store.contexts.update_iteration(id, broken_by="m1/0", cost=float("inf"))
        again = await store.contexts.iteration(id)
        assert again.usage == Usage(input=5, cache_read=7)
        assert (again.sent, again.broken_by, again.tokens) == ("abc", "m1/0", 1)
        assert changed.broken_by == "m1/0"
        with pytest.raises(StoreError, match="no iteration"):
            await store.contexts.update_iteration("nothing", error="x")


async def test_an_iteration_takes_room_for_what_changed(path: Path) -> None:
    """A conversation of 4,000 blocks that grows by two at a time: 200 iterations together take less than five lists."""
    blocks = [block(number) for number in range(4_000)]
    async with open_record(path) as store:
        session = await _session(store)
        await store.contexts.add_iteration(mark(session, 1), blocks)
    with sqlite3.connect(path) as raw:
        (whole,) = raw.execute("SELECT sum(length(blocks)) FROM iterations").fetchone()
    raw.close()
    async with open_record(path) as store:
        for number in range(2, 201):
            blocks += [block(4_000 + 2 * number), block(4_001 + 2 * number)]
            await store.contexts.add_iteration(mark(session, number), blocks)
        assert len(await store.contexts.blocks(mark(session, 200).id)) == len(blocks)
    with sqlite3.connect(path) as raw:
        (all_of_them,) = raw.execute("SELECT sum(length(blocks)) FROM iterations").fetchone()
        (plain,) = raw.execute("SELECT max(length(blocks)) FROM iterations WHERE number % 2 = 1 AND base").fetchone()
    raw.close()
    assert all_of_them < 5 * whole
    assert plain < 600


async def test_texts_end_with_the_last_conversation_that_uses_them(path: Path) -> None:
    async with open_record(path) as store:
        one, two = await _session(store), await _session(store)
        for session, own in ((one, "only the first says this"), (two, "only the second")):
            words = {sent_texts.hash_of(text): text for text in (own, "both say this")}
            blocks = [block(1, own), block(2, "both say this")]
            await store.contexts.add_iteration(mark(session, 1), blocks, words)
            await store.contexts.add_overlay(session, f"o-{session}", "pinned", 1.0, "{}")
        with sqlite3.connect(path) as raw:
            raw.execute(
                "INSERT INTO texts (hash, bytes, packed, data, at) VALUES ('00ff', 12, 0, ?, ?)",
                (b"nobody's yet", time.time()),
            )
        raw.close()
        await store.sessions.delete(one)
        assert await store.contexts.text(sent_texts.hash_of("both say this")) == "both say this"
        assert await store.contexts.text("00ff") == "nobody's yet"
        with pytest.raises(StoreError, match="no text"):
            await store.contexts.text(sent_texts.hash_of("only the first says this"))
        assert await store.contexts.iterations(one) == []
        assert await store.contexts.overlays(one) == []
        await store.sessions.delete(two)
        assert await store.check() == []
    assert b"only the" not in path.read_bytes()
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT hash FROM texts").fetchall() == [("00ff",)]
    raw.close()


async def test_an_iteration_whose_base_is_gone_says_so_and_the_next_ones_do_without(path: Path) -> None:
    async with open_record(path) as store:
        session = await _session(store)
        for number in range(1, 7):
            await store.contexts.add_iteration(mark(session, number), [block(n) for n in range(number)])
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE iterations SET blocks = x'00' WHERE number = 6")
        raw.execute("DELETE FROM iterations WHERE number = 4")
    raw.close()
    async with open_record(path) as store:
        for number in (5, 6):
            with pytest.raises(StoreError, match="damaged"):
                await store.contexts.blocks(mark(session, number).id)
        assert await store.contexts.add_iteration(mark(session, 7), [block(n) for n in range(7)]) == 7
        assert len(await store.contexts.blocks(mark(session, 7).id)) == 7
        assert len(await store.contexts.blocks(mark(session, 3).id)) == 3
        assert len(await store.contexts.iterations(session)) == 6


def test_chains_are_short() -> None:
    for number in range(1, 3_000):
        steps, at = 0, number
        while at := context_tables.base_of(at):
            steps += 1
        assert steps <= 2 * number.bit_length()
        assert context_tables.base_of(number) < number


WRITER = """
import asyncio, sys
from pathlib import Path
from gshtui.bus.context_data import Block, Iteration
from gshtui.store.tables import sent_texts
from gshtui.store.record.store import Store

async def main():
    store = await Store.open(Path(sys.argv[1]))
    session = (await store.sessions.create(cwd="/p", agent="main")).id
    print(session, flush=True)
    blocks, number = [], 0
    while True:
        number += 1
        words = f"words {number} " * 100
        name = sent_texts.hash_of(words)
        blocks.append(Block(f"m{number}/0", "history", "text", "you", 1, name))
        if number % 10 == 0:
            del blocks[:5]
        await store.contexts.add_overlay(session, f"o{number}", "pruned", 1.0, "{}")
        await store.contexts.add_iteration(Iteration(f"i{number}", "main", session, "t", 1, 1.0), blocks, {name: words})
        print(number, len(blocks), flush=True)

asyncio.run(main())
"""


async def test_what_was_acknowledged_outlives_a_kill_whole(path: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    async with python_child(WRITER, str(path)) as process:
        session = await read_line(process)
        acknowledged = [await read_line(process) for _ in range(45)]
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        acknowledged += (await process.stdout.read()).decode().split("\n")[:-1]
    async with open_record(path) as store:
        lengths = {int(number): int(length) for number, length in (entry.split() for entry in acknowledged)}
        for number, length in lengths.items():
            blocks = await store.contexts.blocks(f"i{number}")
            assert len(blocks) == length
            assert (await store.contexts.text(blocks[-1].hash)).startswith(f"words {number} ")
        assert len(await store.contexts.overlays(session)) >= len(lengths)
        kept = await store.contexts.iterations(session, limit=10_000)
        assert len(kept) - len(lengths) in (0, 1)
        assert await store.check() == []
