"""Start-up: the first frame, the first key that is taken, memory, and what doing nothing costs."""

from __future__ import annotations

from tests.bench.figures import Report, median
from tests.bench.place import Place, bare, ours
from tests.bench.pty_probe import MARK, Probe

ROUNDS = 5


def run(report: Report, place: Place) -> None:
    """Alternate the floor and ours, so that both meet the same machine."""
    commands = {"bare": bare("textarea"), "ours": ours()}
    frame: dict[str, list[float]] = {name: [] for name in commands}
    takes: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, list[float]] = {name: [] for name in commands}
    idle: dict[str, list[float]] = {name: [] for name in commands}
    with Probe(commands["ours"], environ=place.environ, cwd=place.project) as first:
        report.add("first frame, the very first start in a folder", first.first_frame(), "s")
        first.settle(1.5)
    for number in range(ROUNDS):
        for name, command in commands.items():
            with Probe(command, environ=place.environ, cwd=place.project) as probe:
                frame[name].append(probe.first_frame())
                probe.write(MARK)
                takes[name].append(probe.wait_for(MARK))
                probe.settle(1.0)
                memory[name].append(probe.memory())
                if number < 2:
                    idle[name].append(probe.idle_cpu(4.0))
    report.add("first frame", median(frame["ours"]), "s", floor=median(frame["bare"]), limit=0.15)
    report.add(
        "a key typed at the first frame is on the screen",
        median(takes["ours"]),
        "s",
        floor=median(takes["bare"]),
        limit=1.3,
    )
    report.add("resident memory at rest", median(memory["ours"]), "MB", floor=median(memory["bare"]), limit=2.0)
    report.add("idle, of one core", median(idle["ours"]), "%", note=f"bare {median(idle['bare']):.2f} %")
