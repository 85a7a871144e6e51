"""An inspector on 200,000 tokens beside one on a few: from the key to the first painted lines, and to a long text.

In the real window with a recorded context service, so that what is measured is the window's own work. The floor is the
same with a small request; the limit is three frames more, 50 ms.
"""

import asyncio
import time

from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.context.inspector_pane import InspectorPane
from tests.bench.figures import Report, median
from tests.bench.place import Place
from tests.kit import recorded
from tests.kit.recorded_contexts import RecordedContexts
from tests.kit.window import Window

TOKENS = 200_000
ROUNDS = 5
FRAMES = 3 / 60


def run(report: Report, place: Place) -> None:
    """A small request, one of 200,000 tokens in 400 blocks, one in a single block."""
    del place
    small = asyncio.run(times(RecordedContexts()))
    many = asyncio.run(times(RecordedContexts(TOKENS, 400)))
    one = asyncio.run(times(RecordedContexts(TOKENS, 1)))
    for name, found in (("400 blocks", many), ("one block", one)):
        floor = 1e3 * median(small[0])
        report.add(f"inspector opens on 200K tokens in {name}", 1e3 * median(found[0]), "ms", floor=floor)
        report.add("  over the floor", 1e3 * (median(found[0]) - median(small[0])), "ms", limit=1e3 * FRAMES)
        floor = 1e3 * median(small[1])
        report.add("  history and its first text open", 1e3 * median(found[1]), "ms", floor=floor)
        report.add("  over the floor", 1e3 * (median(found[1]) - median(small[1])), "ms", limit=1e3 * FRAMES)


async def times(service: RecordedContexts) -> tuple[list[float], list[float]]:
    """Seconds until the sections are painted, and until the last block's text is, for each round."""
    opened: list[float] = []
    unfolded: list[float] = []
    for _ in range(ROUNDS):
        app = Window(service=service)
        async with app.run_test(size=(200, 50)) as pilot:
            await pilot.pause()
            await app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]
            app.feed(*recorded.STARTED)
            await pilot.pause()
            began = time.perf_counter()
            app.part(ContextFeature).inspect("main")
            pane = await painted(app)
            opened.append(time.perf_counter() - began)
            block = max(pane.state.blocks, key=lambda one: one.tokens if one.section == "history" else 0)
            began = time.perf_counter()
            pane.reveal(block)
            while not any(entry.text for entry in pane.view.entries):
                await asyncio.sleep(0)
            await drawn(pane)
            unfolded.append(time.perf_counter() - began)
    return opened, unfolded


async def painted(app: Window) -> InspectorPane:
    """The inspector, once its sections are on the screen."""
    while (pane := app.part(ContextFeature).inspectors.find("main")) is None or not pane.view.entries:
        await asyncio.sleep(0)
    await drawn(pane)
    return pane


async def drawn(pane: InspectorPane) -> None:
    """Wait until what was changed is painted."""
    done = asyncio.Event()
    pane.view.call_after_refresh(done.set)
    await done.wait()
