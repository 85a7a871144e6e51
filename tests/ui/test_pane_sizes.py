"""After any change of the terminal's size the window shows what one opened at that size shows, cell for cell."""

import asyncio
import copy
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from gshtui.bus.event import Event
from tests.kit import recorded, recorded_shell
from tests.kit.command import DEADLINE
from tests.kit.recorded_fleet import changed, row
from tests.kit.recorded_shell import FakeRecord
from tests.kit.scenes import ANSWERS, wait_until_drawn
from tests.kit.storms import seeds
from tests.kit.terminal_screen import ScreenCells, differences, terminal_of, wait_until_idle, watch_output
from tests.kit.window import Window

SIZES = ((60, 15), (80, 24), (100, 30), (120, 35), (200, 50), (300, 80))
STATUSES = ("thinking", "tool", "idle", "waiting", "done", "failed")


def agents(count: int) -> tuple[Event, ...]:
    """This many agents in terminals."""
    return changed(
        *(
            row(f"{n:04}", f"worker-{n}", status=STATUSES[n % 6], doing=f"task {n}", needs_you=n % 6 == 3)
            for n in range(1, count + 1)
        )
    )


@asynccontextmanager
async def window(
    size: tuple[int, int], events: tuple[Event, ...], keys: tuple[str, ...]
) -> AsyncGenerator[tuple[Window, Pilot[int]]]:
    """A window of this size that has got these events and these keys."""
    app = Window(answers=ANSWERS, store=FakeRecord())
    watch_output(app)
    async with app.run_test(size=size) as pilot:
        await wait_until_idle(pilot)
        app.feed(*recorded.STARTED, *recorded.TURN, *recorded_shell.SHELLS, *events)
        await wait_until_drawn(app, pilot)
        for key in keys:
            await pilot.press(key)
        for field in app.screen.query("PromptInput"):
            field.cursor_blink = False  # pyright: ignore[reportAttributeAccessIssue]
        await wait_until_drawn(app, pilot)
        yield app, pilot


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("key", ["alt+1", "alt+2", "alt+3", "alt+4", "alt+5"])
async def test_a_window_that_was_resized_is_one_that_was_opened_so(seed: int, key: str) -> None:
    chance = random.Random(f"{seed} {key}")
    events = agents(chance.choice((0, 1, 3, 4, 11, 30)))
    roomy = SIZES[-3:] if key != "alt+1" else SIZES  # a pane without room loses the focus
    await resized([*(chance.choice(roomy) for _ in range(3)), chance.choice(SIZES[-3:])], events, key)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("key", ["f1", "f2", "f3", "f8", "ctrl+p"])
async def test_a_list_that_was_resized_is_one_that_was_opened_so(seed: int, key: str) -> None:
    chance = random.Random(f"{seed} {key}")
    await resized([chance.choice((*SIZES, (61, 20), (90, 28))) for _ in range(3)], agents(3), key)


async def resized(sizes: list[tuple[int, int]], events: tuple[Event, ...], key: str) -> None:
    """Check that a window that goes through these sizes shows what one of the last size shows, in front of all."""
    async with window(sizes[-1], events, (key,)) as (app, _):
        wanted = copy.deepcopy(terminal_of(app).screenful)  # a window that ends draws once more
        dialogs = app.screen.query(".dialog")
        front = dialogs.first().region if dialogs else app.screen.region

    def differ(shown: ScreenCells) -> list[tuple[int, str, str]]:
        inside = slice(front.x, front.right)
        rows = [row for row in differences(wanted, shown) if front.y <= row[0] < front.bottom]
        return [row for row in rows if wanted.rows[row[0]][inside] != shown.rows[row[0]][inside]]

    async with window(sizes[0], events, (key,)) as (app, pilot):
        terminal = terminal_of(app)
        for size in sizes[1:]:
            terminal.resize(*size)
            await wait_until_drawn(app, pilot)
        try:
            async with asyncio.timeout(DEADLINE):
                while differ(terminal.screenful):  # a panel may still be on its way to its place
                    await wait_until_drawn(app, pilot)
        except TimeoutError:
            assert not differ(terminal.screenful), sizes
