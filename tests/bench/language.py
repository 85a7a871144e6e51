"""What a line of the command language costs before its command runs: parsed and bound, against `shlex` splitting it.

Also lines made to be slow: the longest, the deepest, the most substitutions.
"""

import asyncio
import shlex
import time
from collections.abc import Callable

from gshtui.commands.declaration import Caller, Invocation, UsageError
from gshtui.commands.evaluation import run_line
from gshtui.commands.language import parse
from gshtui.commands.line_commands import commands
from gshtui.commands.line_parser import MOST_CHARACTERS, parse_line
from gshtui.commands.registry import Registry
from tests.bench.figures import Report, median
from tests.bench.place import Place

LINES = (
    "echo hello",
    "echo message='hello there'",
    "env name=greeting value=[a, b, c]",
    "diff a.txt b.txt",
    "exec cmd=make dir=src",
)
ROUNDS = 2_000
SLOW = {
    "10,000 nested substitutions": "a " + "$(a " * 10_000,
    "the longest line of words": "a " + "word " * ((MOST_CHARACTERS - 2) // 5),
    "the longest line of substitutions": "a " + "$(a) " * ((MOST_CHARACTERS - 2) // 5),
    "10 MB": "a " * 5_000_000,
}


def run(report: Report, place: Place) -> None:
    """Each line many times; the median counts."""
    registry = Registry()
    for command in commands(registry):
        registry.register(command)
    floor = median([_microseconds(lambda line=line: shlex.split(line)) for line in LINES])
    report.add("shlex splits a line: median", floor, "µs", note="the floor")
    bound = median([_microseconds(lambda line=line: parse(registry, line)) for line in LINES])
    report.add("a line is parsed and bound: median", bound, "µs", floor=floor, limit=10)
    report.add("a line is parsed and bound: by the clock", bound, "µs", limit=100)
    report.add("a line is run: by the clock", asyncio.run(_dispatched(registry, place)), "µs", limit=100)
    for name, line in SLOW.items():
        report.add(name, _microseconds(lambda line=line: _refused(line), 3) / 1000, "ms", limit=2_000)


async def _dispatched(registry: Registry, place: Place) -> float:
    invocation = Invocation(Caller(), place.project, place.project)
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        await run_line(registry, "echo hello", invocation)
        taken.append((time.perf_counter() - began) * 1e6)
    return median(taken)


def _refused(line: str) -> None:
    try:
        parse_line(line)
    except UsageError:
        return


def _microseconds(do: Callable[[], object], rounds: int = ROUNDS) -> float:
    taken: list[float] = []
    for _ in range(rounds):
        began = time.perf_counter()
        do()
        taken.append((time.perf_counter() - began) * 1e6)
    return median(taken)
