"""Keeping what each request sent: room and time in a conversation of 10,000 messages beside one of 100. Real SQLite."""

import asyncio
import sqlite3
import time
from pathlib import Path

from gshtui.bus.context_data import Block, Iteration
from gshtui.store.record.store import Store
from tests.bench.figures import Report, median
from tests.bench.place import Place

SIZES = (100, 10_000)
REQUESTS = 200
GROWTH = 3
"""Blocks that each request has more than the one before: a call, its result, words."""


def run(report: Report, place: Place) -> None:
    """A short and a long conversation, both growing alike."""
    found = {size: asyncio.run(_measured(place.project / f"iterations-{size}.db", size)) for size in SIZES}
    short, long = (found[size] for size in SIZES)
    report.add("keep a request of 10,000 messages, room", long[0], "bytes", floor=short[0], limit=2)
    report.add("  until it is committed, median", 1e3 * long[1], "ms", floor=1e3 * short[1])
    report.add("  its blocks read again", 1e3 * long[2], "ms", floor=1e3 * short[2])


async def _measured(path: Path, size: int) -> tuple[float, float, float]:
    """Bytes and seconds of one request after the first, seconds to read one of them."""
    store = await Store.open(path)
    session = (await store.sessions.create(cwd="/", agent="main")).id
    blocks = [_block(number) for number in range(size)]
    await store.contexts.add_iteration(_mark(session, 0), blocks)
    times: list[float] = []
    for number in range(1, REQUESTS):
        blocks += [_block(size + GROWTH * number + more) for more in range(GROWTH)]
        sent = tuple(blocks)
        started = time.perf_counter()
        await store.contexts.add_iteration(_mark(session, number), sent)
        times.append(time.perf_counter() - started)
    started = time.perf_counter()
    assert len(await store.contexts.blocks(_mark(session, REQUESTS - 1).id)) == len(blocks)
    read = time.perf_counter() - started
    await store.close()
    with sqlite3.connect(path) as raw:
        (room,) = raw.execute("SELECT avg(length(blocks) + length(data)) FROM iterations WHERE base").fetchone()
    raw.close()
    return room, median(times), read


def _mark(session: str, number: int) -> Iteration:
    return Iteration(f"iteration-{number}", "main", session, "t", 1, 1.0)


def _block(number: int) -> Block:
    return Block(
        f"message-{number:08}/0",
        "history",
        "tool_result",
        f"read src/module_{number}.py:10",
        tokens=900,
        hash=f"{number:032x}",
        at=1.7e9 + number,
        message=f"message-{number:08}",
        call=f"call_{number:024}",
        turn=f"turn-{number // 20:08}",
        iteration=number % 20,
        path=f"src/module_{number}.py",
        role="tool",
    )
