"""A person types while agents work: what 1, 10 and 50 of them that print 20 lines/s each cost the input."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

from tests.bench.figures import Report, median, p95
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Probe
from tests.kit.tmux import short_folder

COUNTS = (1, 10, 50)
KEYS = 120
SECONDS = 4.0
SETTLED, WATCHED = 25.0, 10.0
"""Seconds until what starts has settled, and over which the window is watched then."""
# One process prints for all agents: fifty interpreters would be measured by their noise.
PRINTER = """
import os, sys, time
folder, number = sys.argv[1], 0
pipes = {}
while True:
    number += 1
    for name in set(os.listdir(folder)) - set(pipes):
        pipes[name] = os.open(os.path.join(folder, name), os.O_RDWR | os.O_NONBLOCK)
    for pipe in pipes.values():
        try:
            os.write(pipe, b"line %d of what an agent says while it works\\n" % number)
        except BlockingIOError:
            pass
    time.sleep(0.05)
"""


def run(report: Report, place: Place) -> None:
    """Without agents, then with ever more of them; chat is in front, all of them are in the sidebar."""
    pipes = place.home.path / "pipes"
    pipes.mkdir()
    with short_folder() as folder, printing(pipes):
        environ = place.also(TMUX_TMPDIR=folder, LANG="C.UTF-8", SHELL="/bin/sh")
        with Probe(ours(), environ=environ, cwd=place.project) as probe:
            probe.first_frame()
            probe.rest(2.5)
            none = echoes(probe)
            report.add("key to echo in the input, no agents, p95", 1e3 * p95(none), "ms")
            running = 0
            for count in COUNTS:
                while running < count:
                    running += 1
                    os.mkfifo(pipes / str(running))
                    spawned(pipes / str(running), place, environ)
                probe.rest(3.0)
                found = echoes(probe)
                used, began = probe.cpu(), probe.now()
                probe.rest(SECONDS)
                busy = 100 * (probe.cpu() - used) / (probe.now() - began)
                name = f"{count} agent{'s' if count > 1 else ''} of 20 lines/s"
                report.add(
                    f"  {name}, p95",
                    1e3 * p95(found),
                    "ms",
                    floor=1e3 * p95(none),
                    limit=1.5,
                    note=f"median {1e3 * median(found):.1f} ms; the window takes {busy:.0f} % of a processor",
                )
            probe.rest(SETTLED)
            used, began = probe.cpu(), probe.now()
            probe.rest(WATCHED)
            busy = 100 * (probe.cpu() - used) / (probe.now() - began)
            report.add(f"  processor of the window with {running} behind the chat, settled", busy, "%", limit=10)


@contextlib.contextmanager
def printing(pipes: Path) -> Generator[None]:
    """A line into every pipe of the folder, 20 times a second."""
    with subprocess.Popen([sys.executable, "-c", PRINTER, str(pipes)]) as printer:
        try:
            yield
        finally:
            printer.kill()


def spawned(pipe: Path, place: Place, environ: dict[str, str]) -> None:
    """One more agent, as a shell would start it."""
    command = ours("agent", "spawn", "--cli", f"cat {pipe}")
    subprocess.run(command, env=environ, cwd=place.project, check=True, capture_output=True, timeout=60)


def echoes(probe: Probe) -> list[float]:
    """Echoes of keys in the input, which is empty again afterwards."""
    found = probe.echoes(KEYS)
    probe.write("\x7f" * KEYS)
    probe.rest(0.5)
    return found
