"""The bus: events a second to three subscribers, published in bursts as streams do."""

import asyncio
import time
from collections.abc import Sequence

from gshtui.bus.bus import Bus, Handler, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TextDelta
from gshtui.bus.wire import decode, encode
from tests.bench.figures import Report, median
from tests.bench.place import Place

EVENTS = 200_000
BURST = 1_000
DELTA = TextDelta(agent="main", session="s", message="m", text="twenty characters or")


def run(report: Report, place: Place) -> None:
    """The median of five."""
    report.add(
        "bus: events to three subscribers",
        median([asyncio.run(fan_out()) for _ in range(5)]),
        "events/s",
        limit=100_000,
        at_least=True,
    )
    began = time.perf_counter()
    for _ in range(EVENTS // 10):
        decode(encode(DELTA))
    report.add("wire: events there and back", EVENTS // 10 / (time.perf_counter() - began), "events/s")


async def fan_out() -> float:
    """Events a second, until the last of three has handled the last."""
    bus, counts = Bus(), [0, 0, 0]

    def counter(place: int) -> Handler:
        def handle(batch: Sequence[Event]) -> None:
            for _ in batch:
                counts[place] += 1

        return handle

    for place, rule in enumerate(WhenFull):
        bus.subscribe(counter(place), name=str(place), when_full=rule)
    began = time.perf_counter()
    for _ in range(EVENTS // BURST):
        for _ in range(BURST):
            bus.publish(DELTA)
        await asyncio.sleep(0)
    await bus.drained()
    took = time.perf_counter() - began
    assert counts == [EVENTS] * 3
    await bus.close()
    return EVENTS / took
