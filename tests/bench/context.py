"""The context: what the next request costs in a long conversation against a short one.

The next request is everything that comes before the provider is asked: decisions read again, the log taken, prune and
compact considered, assembled, stored in a real record, told.
"""

import asyncio
import gc
import statistics
import time

from gshtui.context.assembly.limits import ContextSettings
from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.bench.figures import Report
from tests.bench.place import Place
from tests.kit.context_harness import ContextHarness, SummaryModel
from tests.kit.endings import closing_async

SHORT, LONG, ROUNDS = 100, 10_000, 60


def run(report: Report, where: Place) -> None:
    """Measure."""
    asyncio.run(_run(report, where))


async def _run(report: Report, where: Place) -> None:
    del where
    figures: dict[int, float] = {}
    for length in (SHORT, LONG):
        figures[length] = await _next_request(length)
    for length, seconds in figures.items():
        report.add(f"context: next request after {length:,} messages", seconds * 1_000, "ms")
    report.add("context: next request, long against short", figures[LONG] / figures[SHORT], "x", limit=2.0)


async def _next_request(length: int) -> float:
    """Median seconds of one request."""
    async with closing_async(await Store.open(paths.data_dir() / f"bench-{length}.db")) as store:
        session = (await store.sessions.create(cwd="/", agent="main")).id
        here = ContextHarness(
            SummaryModel(100_000_000),
            settings=ContextSettings(protect=50_000_000),
            store=store.contexts,
            session=session,
        )
        here.add_prompt("Begin.")
        for number in range(length // 2):
            here.add_call(f"output {number} " + "x" * 200)
        await here.report_usage(await here.prepare())
        gc.collect()
        gc.freeze()  # as at rest in the window: what is there is not walked through again
        times: list[float] = []
        for number in range(ROUNDS):
            here.add_call(f"more {number} " + "y" * 200)
            started = time.perf_counter()
            prepared = await here.prepare()
            times.append(time.perf_counter() - started)
            await here.report_usage(prepared)
        await here.bus.close()
        return statistics.median(times)
