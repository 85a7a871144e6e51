"""A long conversation beside a short one: opening, scrolling, resizing. The real program on a real store."""

import asyncio

from tests.bench.conversation import record
from tests.bench.figures import Report, median, p95
from tests.bench.material import END
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Probe

WHEEL_UP, WHEEL_DOWN = b"\x1b[<64;70;15M", b"\x1b[<65;70;15M"
LENGTHS = (10, 10_000)
ROUNDS = 3


def run(report: Report, place: Place) -> None:
    """Alternate the short and the long one."""
    sessions = {length: asyncio.run(record(place, length)) for length in LENGTHS}
    opened: dict[int, list[float]] = {length: [] for length in LENGTHS}
    wheel: dict[int, list[float]] = {length: [] for length in LENGTHS}
    resized: dict[int, list[float]] = {length: [] for length in LENGTHS}
    memory: dict[int, list[float]] = {length: [] for length in LENGTHS}
    for _ in range(ROUNDS):
        for length, session in sessions.items():
            with Probe(ours("--resume", session), environ=place.environ, cwd=place.project) as probe:
                probe.first_frame()
                opened[length].append(probe.wait_for(END))
                probe.rest(2.5)
                memory[length].append(probe.memory())
                for notch in [WHEEL_UP] * 25 + [WHEEL_DOWN] * 10:
                    wheel[length].append(reaction(probe, notch))
                probe.settle(0.3)
                for columns, rows in ((120, 40), (200, 50)):
                    at = probe.resize(columns, rows)
                    resized[length].append(probe.settle(0.3) - at)
    short, long = LENGTHS
    report.add(
        "open 10,000 messages, until the last is shown", median(opened[long]), "s", floor=median(opened[short]), limit=2
    )
    report.add(
        "  a notch of the wheel to the screen, median",
        1e3 * median(wheel[long]),
        "ms",
        floor=1e3 * median(wheel[short]),
        limit=2,
    )
    report.add(
        "  a notch of the wheel to the screen, p95",
        1e3 * p95(wheel[long]),
        "ms",
        floor=1e3 * p95(wheel[short]),
        limit=2,
    )
    report.add(
        "  a resize until all is drawn", 1e3 * median(resized[long]), "ms", floor=1e3 * median(resized[short]), limit=2
    )
    report.add("  resident memory", median(memory[long]), "MB", floor=median(memory[short]))


def reaction(probe: Probe, keys: bytes) -> float:
    """Seconds from a key or a notch to the first thing that the program writes; at most a second."""
    while probe.read(0.03):
        pass
    at = probe.write(keys)
    return probe.now() - at if probe.read(1.0) else 1.0
