"""A long answer: flat out beside Textual's `Log`, and whether its last tenth costs what its first did."""

import json
from pathlib import Path
from typing import Any

from tests.bench.figures import Report, p95
from tests.bench.material import END
from tests.bench.place import Place, bare, synthetic
from tests.bench.pty_probe import Probe

SIZE = 200_000


def run(report: Report, place: Place) -> None:
    """200 KB as fast as they are taken, then at a pace, then at that of a fast model."""
    log = streamed(place, bare("log"))
    mine = streamed(place, synthetic())
    report.add("200 KB of Markdown flat out, until the end is shown", mine["shown"], "s", floor=log["shown"], limit=0.2)
    note = f"Log: {1e3 * log['worst_stall']:.0f} ms"
    report.add("  worst stall of the event loop", 1e3 * mine["worst_stall"], "ms", limit=50, note=note)
    report.add("  memory that it took", mine["memory"], "MB", limit=10, note=f"Log: {log['memory']:.0f} MB")

    paced = streamed(place, synthetic(), BENCH_RATE=2000, BENCH_PIECE=20)
    tenths: list[float] = paced["cpu_tenths"]
    note = " ".join(f"{1e6 * tenth / (SIZE / 10):.1f}" for tenth in tenths) + " µs a character, by tenth"
    report.add(
        "200 KB at 40,000 characters/s: last tenth against first", tenths[9] / tenths[0], "x", limit=1.3, note=note
    )
    report.add("  worst stall of the event loop", 1e3 * paced["worst_stall"], "ms", limit=50)
    report.add("  key to echo meanwhile, p95", 1e3 * p95(paced["echoes"]), "ms", limit=30)

    def share(command: list[str]) -> float:
        fast = streamed(place, command, BENCH_SIZE=2400, BENCH_RATE=80, BENCH_PIECE=5, BENCH_STALLS=0)
        return 100 * sum(fast["cpu_tenths"]) / (fast["published"] - fast["began"])

    floor = share(bare("log"))
    note = f"Log: {floor:.1f} %"
    report.add("processor at a fast model's 400 characters/s", share(synthetic()), "%", limit=10, note=note)


def streamed(place: Place, command: list[str], **more: object) -> dict[str, Any]:
    """One answer into a fresh window: the watch's report, with what was seen from outside."""
    path = Path(place.home.state / "report.json")
    path.unlink(missing_ok=True)
    environ = place.also(**{"BENCH_SIZE": SIZE, "BENCH_REPORT": path, **more})
    with Probe(command, environ=environ, cwd=place.project) as probe:
        probe.first_frame()
        probe.rest(2.5)
        before = probe.memory()
        after = len(probe.output)
        probe.write("go\r")
        echoes = probe.echoes(60, gap=0.05) if more.get("BENCH_RATE") == 2000 else []
        probe.wait_for(END, after=after, timeout=90)
        shown = probe.began + probe.last_output
        probe.settle()
        while not path.exists():
            probe.read(0.05)
        probe.settle(0.3)
        report: dict[str, Any] = json.loads(path.read_text())
        return {**report, "shown": shown - report["began"], "memory": probe.memory() - before, "echoes": echoes}
