"""From a key to its echo: at rest, and while an answer streams into a long conversation."""

import asyncio

from tests.bench.conversation import provider, record
from tests.bench.figures import Report, median, p95
from tests.bench.material import START, answer
from tests.bench.place import Place, bare, ours, synthetic
from tests.bench.pty_probe import Probe

KEYS = 90
ROUNDS = 2
SIZE = 60_000
"""Characters of the answer: at 200 pieces of 20 a second they come for longer than the typing takes."""


def run(report: Report, place: Place) -> None:
    """At rest, then twice while an answer streams: the window alone, and all of the program."""
    found: dict[str, list[float]] = {"loop": [], "bare": [], "ours": []}
    for _ in range(ROUNDS):
        for name, command in (("loop", bare("echo")), ("bare", bare("textarea")), ("ours", ours())):
            with Probe(command, environ=place.environ, cwd=place.project) as probe:
                probe.first_frame()
                probe.rest(2.5)
                found[name] += probe.echoes(KEYS)
    floor50, floor95 = 1e3 * median(found["bare"]), 1e3 * p95(found["bare"])
    loop = f"a loop that only writes back: {1e3 * median(found['loop']):.2f}, p95 {1e3 * p95(found['loop']):.2f} ms"
    report.add("key to echo at rest, median", 1e3 * median(found["ours"]), "ms", floor=floor50, limit=0.4, note=loop)
    report.add("key to echo at rest, p95", 1e3 * p95(found["ours"]), "ms", floor=floor95, limit=1.0)

    environ = place.also(BENCH_MESSAGES=2000, BENCH_SIZE=SIZE, BENCH_RATE=200)
    add_streaming(report, "a made-up hub", streaming(place, synthetic(), environ), floor50, floor95)
    session = asyncio.run(record(place, 2000))
    with provider(place, f"{START}\n\n{answer(SIZE)}", pace=200) as variables:
        command = ours("--resume", session, "--provider", "anthropic")
        whole = streaming(place, command, place.environ | variables)
    add_streaming(report, "a provider's SDK, the store", whole, floor50, floor95)


def streaming(place: Place, command: list[str], environ: dict[str, str]) -> tuple[list[float], float]:
    """Ask for an answer and type while it comes: echoes, and per cent of a core."""
    with Probe(command, environ=environ, cwd=place.project) as probe:
        probe.first_frame()
        probe.rest(2.5)
        after = len(probe.output)
        probe.write("go\r")
        probe.wait_for(START, after=after)
        used, began = probe.cpu(), probe.now()
        echoes = probe.echoes(KEYS)
        return echoes, 100 * (probe.cpu() - used) / (probe.now() - began)


def add_streaming(report: Report, what: str, found: tuple[list[float], float], floor50: float, floor95: float) -> None:
    """The three figures of one such stream."""
    echoes, busy = found
    report.add(f"200 deltas/s into 2,000 messages, {what}", 1e3 * median(echoes), "ms", floor=floor50, note="median")
    report.add("  p95", 1e3 * p95(echoes), "ms", floor=floor95, limit=3.0)
    report.add("  processor, with the typing", busy, "%")
