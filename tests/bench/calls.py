"""A call of 10,000 messages against one of 10: listed with the others, opened at its end, read as files, added to."""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.call_data import CallMessage, Principal
from gshtui.calls.call_mount import CallMount
from gshtui.calls.call_service import CallService
from gshtui.commands.declaration import Caller
from gshtui.fleet.mail.call_post import CallMail
from gshtui.fleet.mail.outbox import Addresses, MailOutbox
from gshtui.store.record.store import Store
from gshtui.store.tables.call_table import add_message
from tests.bench.figures import Report, median
from tests.bench.place import Place

FEW, MANY = 10, 10_000
ROUNDS = 40
AMY = Principal("person", "amy")
_TEXT = "what we decided about the routing of audio, in one sentence of usual length"


def run(report: Report, place: Place) -> None:
    """Both calls in records of their own; the medians are compared."""
    few = asyncio.run(_measured(place.home.path / "few" / "gsh.db", FEW))
    many = asyncio.run(_measured(place.home.path / "many" / "gsh.db", MANY))
    for name, floor in few.items():
        report.add(f"{name}: {FEW} messages", floor, "ms", note="the floor")
        report.add(f"{name}: {MANY:,} messages", many[name], "ms", floor=floor, limit=3)


async def _measured(path: Path, messages: int) -> dict[str, float]:
    path.parent.mkdir(parents=True)
    store, bus = await Store.open(path), Bus()
    try:
        outbox = MailOutbox(bus, store, Addresses(store, lambda _: ""))
        calls = CallService(bus, store, CallMail(store, outbox, list), "amy")
        await calls.create("audio", AMY)
        _fill(path, messages)
        mount = CallMount(lambda: calls, store.calls)
        last = ("audio", "conversation", f"{messages - 1:03}.msg")
        read = partial(mount.read, Caller(), last)
        found = {
            "the calls are listed": await _median(calls.all),
            "a call opens at its end": await _median(partial(calls.history, "audio", AMY, limit=10)),
            "its last message as a file": await _median(read),
            "a message is said": await _median(partial(calls.post_message, AMY, "audio", _TEXT, alone=False)),
        }
        outbox.close()
        return found
    finally:
        await store.close()
        await bus.close()


def _fill(path: Path, messages: int) -> None:
    with sqlite3.connect(path) as connection:
        for at in range(messages):
            message = CallMessage(call="audio", id=f"m{at}", author="bo", author_name="bo", text=_TEXT, tokens=18)
            add_message(connection, message)


async def _median(do: Callable[[], Awaitable[object]]) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await do()
        taken.append((time.perf_counter() - began) * 1e3)
    return median(taken)
