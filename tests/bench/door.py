"""The door for people elsewhere: how soon a message is on every screen, and what 1,000 connections leave behind.

The peers run in this process, so their half of the encryption is part of each figure.
"""

import asyncio
import contextlib
import re
import tempfile
import time
from pathlib import Path

import psutil

from tests.bench.figures import Report, median, p95
from tests.bench.place import Place
from tests.kit.door import Door, Visitor, door_for
from tests.kit.home import made_up_home

PEERS = (5, 20)
EACH = 10.0
"""Messages a second of one peer."""
SECONDS = 5.0
FRAMES = 33.0
"""Milliseconds of two frames."""
CONNECTIONS, AT_ONCE, WARM = 1_000, 8, 400
_STAMP = re.compile(r"said=(\d+)=")
SETTLED = 10.0


def run(report: Report, _place: Place) -> None:
    """Messages first, then connections."""
    with made_up_home(), tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(report, Path(folder)))


async def _measure(report: Report, folder: Path) -> None:
    people = {f"peer-{number}": "all" for number in range(max(PEERS))}
    async with door_for(folder, **people) as door:
        for count in PEERS:
            await _messages(report, door, list(people)[:count])
        await _connections(report, door)


async def _messages(report: Report, door: Door, people: list[str]) -> None:
    """Everybody says something ten times a second; the time until each other one has read it."""
    async with contextlib.AsyncExitStack() as stack:
        visitors: list[Visitor] = []
        for who in people:
            connection = await stack.enter_async_context(door.connect(who))
            process = await stack.enter_async_context(
                connection.create_process(term_type="xterm-256color", term_size=(100, 30))
            )
            visitors.append(Visitor(process))
            await visitors[-1].until("lobby> ")
        late: list[float] = []
        wanted = int(EACH * SECONDS) * len(people) * (len(people) - 1)
        readers = [asyncio.ensure_future(_read(visitor, late)) for visitor in visitors]
        used = _cpu(door.pid)
        begun = time.monotonic()
        await asyncio.gather(*(_say(visitor, number / len(visitors)) for number, visitor in enumerate(visitors)))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(60.0):
                while len(late) < wanted:
                    await asyncio.sleep(0.05)
        took = time.monotonic() - begun
        for reader in readers:
            reader.cancel()
        name = f"{len(people)} peers at {EACH:.0f} messages a second each"
        late.sort()
        note = f"{len(late):,} of {wanted:,} seen; {len(late) / took:,.0f} a second"
        report.add(f"{name}: on another's screen, median", median(late), "ms", note=note)
        report.add("  p95", p95(late), "ms", limit=FRAMES)
        report.add("  of one core", 100 * (_cpu(door.pid) - used) / took, "%")


async def _say(visitor: Visitor, offset: float) -> None:
    next_at = time.monotonic() + offset / EACH
    for _ in range(int(EACH * SECONDS)):
        await asyncio.sleep(max(0.0, next_at - time.monotonic()))
        visitor.process.stdin.write(f"say said={time.monotonic_ns()}=\n")
        next_at += 1 / EACH


async def _read(visitor: Visitor, late: list[float]) -> None:
    """The age of each message of somebody else; one's own stand behind what was typed."""
    rest = ""
    while more := await visitor.process.stdout.read(65_536):
        now = time.monotonic_ns()
        rest += more
        *lines, rest = rest.split("\n")
        for line in lines:
            if "> said=" in line and (found := _STAMP.search(line)) is not None:
                late.append((now - int(found[1])) / 1e6)


async def _connections(report: Report, door: Door) -> None:
    """People come, say who is there, and go; every fourth one vanishes."""
    server = psutil.Process(door.pid)
    limit = asyncio.Semaphore(AT_ONCE)

    async def come(number: int) -> None:
        async with limit, door.connect("peer-0") as connection:
            has_terminal = bool(number % 2)
            process = await connection.create_process(term_type="xterm" if has_terminal else None)
            if has_terminal:
                await Visitor(process).until("lobby> ")
            if number % 4 == 0:
                connection.abort()
                return
            process.stdin.write("who\nexit\n")
            await process.wait()

    await asyncio.gather(*(come(number) for number in range(WARM)))
    await asyncio.sleep(SETTLED)
    files, memory = server.num_fds(), server.memory_info().rss
    begun = time.monotonic()
    await asyncio.gather(*(come(number) for number in range(CONNECTIONS)))
    took = time.monotonic() - begun
    await asyncio.sleep(SETTLED)
    report.add("connections", CONNECTIONS / took, "/s", note=f"{AT_ONCE} at a time")
    report.add(f"  descriptors more after {CONNECTIONS:,}", server.num_fds() - files, "", limit=0)
    grown = (server.memory_info().rss - memory) / 1_048_576
    report.add("  memory more", grown, "MB", limit=4, note=f"from {memory / 1_048_576:.0f} MB after the first {WARM}")


def _cpu(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system
