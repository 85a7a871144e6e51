"""A question at the prompt: the time to the first byte of its answer, alone, beside a keeper, and taken by it as the
resident hub; what the spool adds.

The floor is bare Python with the provider's SDK and one request. All take turns, so that all meet the same machine; of
what a keeper adds, only the difference between neighbours counts.
"""

import asyncio
import os
import resource
import subprocess
import sys
import time

from tests.bench.figures import Report, median
from tests.bench.keeper import PROGRAM, call
from tests.bench.place import Place, ours
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.tmux import end_server, short_folder

AGENTS = 3
SETTLED = 20.0
"""Seconds until they have settled."""
QUESTIONS = 20
SPOOLED = (0, 5, 200)
"""Commands that stand in the spool."""
ROUNDS = 15


def run(report: Report, place: Place) -> None:
    """Beside a keeper with agents, and in a home that has neither."""
    with short_folder() as folder:
        environ = place.also(TMUX_TMPDIR=folder, LANG="C.UTF-8", SHELL="/bin/sh", GSH_HUB__KEEP="auto")
        runtime = place.home.path / "alone" / "run"
        runtime.mkdir(parents=True, mode=0o700)
        folders = {name: str(runtime.parent / name) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME")}
        alone = environ | folders | {"XDG_RUNTIME_DIR": str(runtime), "GSH_HUB__KEEP": "alone"}
        try:
            call(place, environ, "hub", "start")
            for _ in range(AGENTS):
                call(place, environ, "agent", "spawn", "--cli", PROGRAM, "--profile", "claude")
            time.sleep(SETTLED)
            asyncio.run(_questions(report, place, environ, alone))
            for name, where in (("alone", alone), ("beside a keeper", environ)):
                empty = 0.0
                for count in SPOOLED:
                    took = 1e3 * median(_taking_in(place, where, count))
                    empty = empty or took
                    note = "" if count == 0 else f"{(took - empty) / count:.2f} ms for each"
                    limit = 50.0 if count < max(SPOOLED) else None  # a backlog: as long as each of it takes
                    report.add(f"  {count} commands of the spool taken in, {name}", took, "ms", limit=limit, note=note)
        finally:
            call(place, environ, "hub", "stop")
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


async def _questions(report: Report, place: Place, beside: dict[str, str], alone: dict[str, str]) -> None:
    question, bare = ours("gsh", "what", "failed?"), [sys.executable, "-m", "tests.bench.bare_request"]
    async with loopback("anthropic", [[Say("ok")]], repeat=True) as server:
        model = variables("anthropic", server.url)
        kinds = {
            "alone": (alone | model, question),
            "beside": (beside | model, question),
            "bare": (alone | model, bare),
        }
        clock: dict[str, list[float]] = {name: [] for name in kinds}
        processor: dict[str, list[float]] = {name: [] for name in kinds}
        for number in range(QUESTIONS + 1):
            for name in list(kinds) if number % 2 else list(reversed(kinds)):
                first, used = await asyncio.to_thread(_asked, place, *kinds[name])
                if number:  # the first one makes the record
                    clock[name].append(first)
                    processor[name].append(used)
    floor = "bare Python with the SDK"
    for name in ("alone", "beside"):
        report.add(f"gsh to the first byte, {name}", median(clock[name]), "s", floor=median(clock["bare"]), limit=1.0)
        report.add(
            "  processor time, to its end", median(processor[name]), "s", floor=median(processor["bare"]), note=floor
        )
    more = [1e3 * (one - other) for one, other in zip(clock["beside"], clock["alone"], strict=True)]
    used = [1e3 * (one - other) for one, other in zip(processor["beside"], processor["alone"], strict=True)]
    note = f"median of {len(more)} pairs; of processor time {median(used):.0f} ms more"
    report.add("  more beside a keeper than alone", median(more), "ms", limit=50.0, note=note)


def _asked(place: Place, environ: dict[str, str], words: list[str]) -> tuple[float, float]:
    """(seconds until it prints anything, seconds of processor time); it is over when this returns."""
    before = _used()
    began = time.perf_counter()
    with subprocess.Popen(
        words,
        env=environ,
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1), "it has no answer"
        first = time.perf_counter() - began
        process.stdout.read()
    return first, _used() - before


def _used() -> float:
    """Seconds of processor time of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _taking_in(place: Place, environ: dict[str, str], count: int) -> list[float]:
    """Seconds of each round in a process that takes in so many commands."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.spool_reader", str(count), str(ROUNDS)],
        env=environ,
        cwd=place.project,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [float(line) for line in done.stdout.split()]
