"""From a key to its echo: at rest, and while an answer streams into a long conversation."""

from __future__ import annotations

from tests.bench.figures import Report, median, p95
from tests.bench.place import Place, bare, ours, synthetic
from tests.bench.pty_probe import Probe

KEYS = 90
ROUNDS = 2


def run(report: Report, place: Place) -> None:
    """At rest the whole program, while streaming the window on a made-up hub."""
    found: dict[str, list[float]] = {"bare": [], "ours": []}
    for _ in range(ROUNDS):
        for name, command in (("bare", bare("textarea")), ("ours", ours())):
            with Probe(command, environ=place.environ, cwd=place.project) as probe:
                probe.first_frame()
                probe.settle(1.5)
                found[name] += probe.echoes(KEYS)
    floor50, floor95 = 1e3 * median(found["bare"]), 1e3 * p95(found["bare"])
    report.add("key to echo at rest, median", 1e3 * median(found["ours"]), "ms", floor=floor50)
    report.add("key to echo at rest, p95", 1e3 * p95(found["ours"]), "ms", floor=floor95, limit=1.3)

    environ = place.also(BENCH_MESSAGES=2000, BENCH_SIZE=40_000, BENCH_RATE=200)
    with Probe(synthetic(), environ=environ, cwd=place.project) as probe:
        probe.first_frame()
        probe.settle(1.5)
        used, began = probe.cpu(), probe.now()
        probe.write("go\r")
        probe.wait_for("Step 7")  # it streams
        streaming = probe.echoes(KEYS)
        busy = 100 * (probe.cpu() - used) / (probe.now() - began)
    report.add("key to echo, 200 deltas/s into 2,000 messages, median", 1e3 * median(streaming), "ms", floor=floor50)
    report.add(
        "key to echo, 200 deltas/s into 2,000 messages, p95", 1e3 * p95(streaming), "ms", floor=floor95, limit=3.0
    )
    report.add("processor while that streams and keys are typed", busy, "%")
