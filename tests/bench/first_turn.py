"""The first turn of a resumed conversation, from enter to its request: long ones beside a short one. Real program."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator
from queue import SimpleQueue

from gshtui.bus.messages import Message, Text
from gshtui.settings import paths
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id
from tests.bench.figures import Report, median
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Late, Probe
from tests.kit.endings import closing_async
from tests.kit.loopback.anthropic import AnthropicSpeech
from tests.kit.loopback.apis import variables
from tests.kit.loopback.script import Say

LENGTHS = (100, 10_000, 50_000)
LIMITS = {10_000: 250.0, 50_000: 400.0}
"""Milliseconds."""
ROUNDS = 3
END = "THE¤END"


def run(report: Report, place: Place) -> None:
    """Alternate the lengths: the first turn of each, then another one in the same window."""
    sessions = {length: asyncio.run(_record(place, length)) for length in LENGTHS}
    first: dict[int, list[float]] = {length: [] for length in LENGTHS}
    next_one: dict[int, list[float]] = {length: [] for length in LENGTHS}
    with provider() as (url, came):
        environ = place.environ | variables("anthropic", url)
        for _ in range(ROUNDS):
            for length, session in sessions.items():
                command = ours("--resume", session, "--provider", "anthropic")
                with Probe(command, environ=environ, cwd=place.project) as probe:
                    probe.first_frame()
                    probe.wait_for(END, timeout=60.0)
                    probe.settle(1.0)
                    for times in (first, next_one):
                        probe.write("Go on.")
                        probe.settle(0.3)
                        entered = time.monotonic()
                        probe.write("\r")
                        times[length].append(1e3 * (arrival(probe, came) - entered))
                        probe.settle(1.0)
    floor = median(first[LENGTHS[0]])
    report.add("enter to request, first turn after 100 messages", floor, "ms")
    for length, limit in LIMITS.items():
        value = median(first[length])
        report.add(f"  after {length:,}", value, "ms", limit=limit, note=f"{value / floor:.1f} times as long")
        report.add("    the turn after that", median(next_one[length]), "ms", floor=floor)


def arrival(probe: Probe, came: SimpleQueue[float]) -> float:
    """When the request came. What the program writes meanwhile is taken, so that it does not wait for its terminal."""
    until = time.monotonic() + 60.0
    while came.empty():
        probe.read(0.005)
        if time.monotonic() > until:
            raise Late(f"there is no request; {probe.last_words()}")
    return came.get()


async def _record(place: Place, length: int) -> str:
    """Write a conversation of short messages, which fits into the model's window; gives its id."""
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        session = (await store.sessions.create(cwd=str(place.project), agent="main")).id
        words = [f"Step {number} of the plan is next." for number in range(length - 1)]
        for start in range(0, length, 500):
            told = [*words, END][start : start + 500]
            batch = [
                Message(new_id(), "assistant" if (start + at) % 2 else "user", (Text(text),))
                for at, text in enumerate(told)
            ]
            await asyncio.gather(*(store.messages.append(session, message) for message in batch))
        return session


@contextlib.contextmanager
def provider() -> Iterator[tuple[str, SimpleQueue[float]]]:
    """A server that answers every prompt with a word; gives its address, and when the head of each request came."""
    came: SimpleQueue[float] = SimpleQueue()
    started: SimpleQueue[int] = SimpleQueue()
    loop = asyncio.new_event_loop()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        at = time.monotonic()
        length = next((line.split(":")[1] for line in head.split("\r\n") if line.startswith("content-length:")), "0")
        await reader.readexactly(int(length))
        if head.startswith("post /v1/messages "):
            came.put(at)
        frames = AnthropicSpeech().frames([Say("ok")], "claude-sonnet-5-5", 8)
        data = b"".join(frame.data for frame in frames)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + data)
        await writer.drain()
        writer.close()

    async def serve() -> int:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=1 << 20)
        return int(server.sockets[0].getsockname()[1])

    def live() -> None:
        started.put(loop.run_until_complete(serve()))
        loop.run_forever()

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{started.get(timeout=10.0)}", came
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10.0)
