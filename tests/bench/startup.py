"""Start-up: the first frame, the first key that is taken, memory, and what doing nothing costs."""

import re
import sys

from tests.bench.figures import Report, median
from tests.bench.place import Place, bare, ours
from tests.bench.pty_probe import Probe

ROUNDS = 5


def run(report: Report, place: Place) -> None:
    """Alternate the floor and ours, so that both meet the same machine."""
    commands = {"bare": bare("textarea"), "ours": ours()}
    frame: dict[str, list[float]] = {name: [] for name in commands}
    takes: dict[str, list[float]] = {name: [] for name in commands}
    lost: dict[str, list[float]] = {name: [] for name in commands}
    memory: dict[str, list[float]] = {name: [] for name in commands}
    idle: dict[str, list[float]] = {name: [] for name in commands}
    with Probe(commands["ours"], environ=place.environ, cwd=place.home.path) as warm:
        warm.first_frame()
        warm.rest(3.0)
    with Probe(commands["ours"], environ=place.environ, cwd=place.project) as first:
        report.add("first frame, the very first start in a folder", first.first_frame(), "s")
        first.rest(2.5)
    for number in range(ROUNDS):
        for name, command in commands.items():
            with Probe(command, environ=place.environ, cwd=place.project) as probe:
                frame[name].append(probe.first_frame())
                at, gone = probe.accepts()
                takes[name].append(at)
                lost[name].append(gone)
                probe.rest(2.5)
                memory[name].append(probe.memory())
                if number < 2:
                    idle[name].append(probe.idle_cpu(4.0))
    report.add("first frame", median(frame["ours"]), "s", floor=median(frame["bare"]), limit=0.15)
    report.add(
        "accepts input: the first letter is shown",
        median(takes["ours"]),
        "s",
        floor=median(takes["bare"]),
        limit=1.3,
    )
    note = f"a letter every 20 ms from the first frame on; bare loses {median(lost['bare']):g}"
    report.add("  letters typed before that are lost", median(lost["ours"]), "letters", limit=0, note=note)
    report.add("resident memory at rest", median(memory["ours"]), "MB", floor=median(memory["bare"]), limit=2.0)
    # Our code, about 20 MB in 535 modules, has no large part: ui 5 MB, settings 1.6, store, guard, context, fleet 1.4
    # each. 8 MB are code objects, 4 their instructions, 3 docstrings, 2.6 line tables; trimming the heap frees nothing.
    for what, kind in (("with the libraries that it needs", "libraries"), ("and all of our code, not run", "code")):
        environ = place.also(BENCH_MODULES=" ".join(loaded_at_rest(place)) if kind == "code" else "")
        with Probe(bare(kind), environ=environ, cwd=place.project) as probe:
            probe.first_frame()
            probe.rest(4.0)
            report.add(f"  of that, bare Textual {what}", probe.memory(), "MB", floor=median(memory["bare"]))
    report.add("idle, of one core", median(idle["ours"]), "%", note=f"bare {median(idle['bare']):.2f} %")


def loaded_at_rest(place: Place) -> list[str]:
    """The modules of ours that a window has imported once it is at rest."""
    command = [sys.executable, "-X", "importtime", *ours()[1:]]
    with Probe(command, environ=place.environ, cwd=place.project) as probe:
        probe.first_frame()
        probe.rest(6.0)
        found = re.findall(rb"\| +(gshtui\.[a-z_.]+)", bytes(probe.output))
    return sorted({name.decode() for name in found} - {"gshtui.__main__"})
