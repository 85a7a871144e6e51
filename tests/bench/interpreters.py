"""Python for agents: from nothing to a block's result, and the next block, in the sandbox."""

import asyncio
import os
import time
from pathlib import Path

from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.python.interpreter import InterpreterOptions, start_interpreter
from tests.bench.figures import Report, median, p95
from tests.bench.place import Place
from tests.kit import python_interpreters
from tests.kit.python_interpreters import BASE, answer_nothing

STARTS, BLOCKS = 10, 200


def run(report: Report, place: Place) -> None:
    """Ten starts, and two hundred blocks in one interpreter."""
    ready, blocks = asyncio.run(_measured(Path(os.path.realpath(place.project))))
    report.add("first block's result, with the start of Python, median", 1e3 * median(ready), "ms", limit=1000)
    report.add("first block's result, slowest", 1e3 * max(ready), "ms", limit=1000)
    report.add("the next block, median", 1e3 * median(blocks), "ms", limit=20)
    report.add("the next block, p95", 1e3 * p95(blocks), "ms", limit=20)


async def _measured(project: Path) -> tuple[list[float], list[float]]:
    sandbox = ProjectSandbox(find_bubblewrap(), project, project.parent / "kept")
    options = InterpreterOptions(BASE, project, sandbox, (), dict(os.environ))
    ready: list[float] = []
    blocks: list[float] = []
    for number in range(STARTS):
        began = time.perf_counter()
        python = await start_interpreter(options, answer_nothing)
        await python_interpreters.run(python, "x = 0")
        ready.append(time.perf_counter() - began)
        for _ in range(BLOCKS if number == STARTS - 1 else 0):
            began = time.perf_counter()
            await python_interpreters.run(python, "x += 1\nprint(x)\nx")
            blocks.append(time.perf_counter() - began)
        await python.close()
    return ready, blocks
