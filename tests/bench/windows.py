"""A window with its own hub, one that starts the resident hub, and one beside it: from start and enter to request."""

import os
import time
from queue import SimpleQueue

from tests.bench.figures import Report, median
from tests.bench.first_turn import arrival, provider
from tests.bench.keeper import call
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Probe
from tests.kit.loopback.apis import variables
from tests.kit.tmux import end_server, short_folder

ROUNDS = 5
_TYPED_AT = 0.6
"""Seconds after the start."""


def run(report: Report, place: Place) -> None:
    """Alternate the two."""
    with provider() as (url, came), short_folder() as folder:
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        environ = place.environ | variables("anthropic", url) | {"TMUX_TMPDIR": str(folder)}
        beside = environ | {"XDG_RUNTIME_DIR": str(runtime)}
        ways = {"alone": environ, "resident": beside}
        early: dict[str, list[float]] = {way: [] for way in ways}
        first: dict[str, list[float]] = {way: [] for way in ways}
        later: dict[str, list[float]] = {way: [] for way in ways}
        spent: dict[str, list[float]] = {way: [] for way in ways}
        cold: list[float] = []
        try:
            for number in range(ROUNDS + 1):
                typed = _typed_at_once(place, ways["resident"] | {"GSH_HUB__KEEP": "auto"}, came)
                call(place, ways["resident"], "hub", "stop")
                if number:
                    cold.append(typed)
            call(place, ways["resident"], "hub", "start")
            for number in range(ROUNDS + 1):
                for way, where in ways.items():
                    typed = _typed_at_once(place, where, came)
                    one, next_one, used = _once_up(place, where, came)
                    if number:  # the first makes the record, and loads the SDK
                        early[way].append(typed)
                        first[way].append(one)
                        later[way].append(next_one)
                        spent[way].append(used)
        finally:
            call(place, ways["resident"], "hub", "stop")
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")
    report.add(f"start, type, enter after {_TYPED_AT} s, to the request, the hub is started", median(cold), "s")
    for way in ways:
        report.add(f"start, type, enter after {_TYPED_AT} s, to the request, {way}", median(early[way]), "s")
        report.add("  up for 3 s: enter to the first request", median(first[way]), "ms")
        report.add("  enter to the next request", median(later[way]), "ms")
        report.add("  processor time of the window, from its start to 3 s later", median(spent[way]), "s")


def _command() -> list[str]:
    return ours("--provider", "anthropic")


def _typed_at_once(place: Place, environ: dict[str, str], came: SimpleQueue[float]) -> float:
    """Seconds from the start to the request of a prompt that is typed at once."""
    began = time.monotonic()
    with Probe(_command(), environ=environ, cwd=place.project) as probe:
        probe.rest(_TYPED_AT)
        probe.write("Go on.")
        probe.rest(0.05)
        probe.write("\r")
        took = arrival(probe, came) - began
        probe.settle(1.0)
    return took


def _once_up(place: Place, environ: dict[str, str], came: SimpleQueue[float]) -> tuple[float, float, float]:
    """Milliseconds from enter to the first and to the second request, and seconds of processor time for the start."""
    with Probe(_command(), environ=environ, cwd=place.project) as probe:
        probe.rest(3.0)
        used = probe.cpu()
        took: list[float] = []
        for _ in range(2):
            probe.write("Go on.")
            probe.settle(0.3)
            entered = time.monotonic()
            probe.write("\r")
            took.append(1e3 * (arrival(probe, came) - entered))
            probe.settle(1.0)
    return took[0], took[1], used
