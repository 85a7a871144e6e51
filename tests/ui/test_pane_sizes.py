"""After any change of the terminal's size the window shows what one opened at that size shows, cell for cell."""

import asyncio
import copy
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.pilot import Pilot

from gshtui.bus.event import Event
from tests.kit import recorded, recorded_shell
from tests.kit.command import DEADLINE
from tests.kit.recorded_fleet import changed, row
from tests.kit.recorded_shell import EARLIER, FakeRecord
from tests.kit.scenes import ANSWERS, wait_until_drawn
from tests.kit.storms import seeds, some
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


CONTENTS = ((*recorded.STARTED, *recorded.TURN), tuple(recorded_shell.SHELLS), agents(3))
"""What fills context and timeline, the shell log, and the list of agents."""


@asynccontextmanager
async def window(
    size: tuple[int, int], events: Sequence[Event], keys: tuple[str, ...], store: FakeRecord | None = None
) -> AsyncGenerator[tuple[Window, Pilot[int]]]:
    """A window of this size that has got these events and these keys."""
    app = Window(answers=ANSWERS, store=store)
    watch_output(app)
    async with app.run_test(size=size) as pilot:
        await wait_until_idle(pilot)
        app.feed(*events)
        await wait_until_drawn(app, pilot)
        for key in keys:
            await pilot.press(key)
        for field in app.screen.query("PromptInput"):
            field.cursor_blink = False  # pyright: ignore[reportAttributeAccessIssue]
        await wait_until_drawn(app, pilot)
        yield app, pilot


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("key", some(["alt+1", "alt+2", "alt+3", "alt+4", "alt+5"], 2))
async def test_a_window_that_was_resized_is_one_that_was_opened_so(seed: int, key: str) -> None:
    chance = random.Random(f"{seed} {key}")
    events = agents(chance.choice((0, 1, 3, 4, 11, 30)))
    roomy = SIZES[-3:] if key != "alt+1" else SIZES  # a pane without room loses the focus
    await resized([*(chance.choice(roomy) for _ in range(3)), chance.choice(SIZES[-3:])], events, key)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("key", some(["f1", "f2", "f3", "f8", "ctrl+p"], 2))
async def test_a_list_that_was_resized_is_one_that_was_opened_so(seed: int, key: str) -> None:
    chance = random.Random(f"{seed} {key}")
    await resized([chance.choice((*SIZES, (61, 20), (90, 28))) for _ in range(3)], agents(3), key)


def fill(app: Window, record: FakeRecord, contents: Sequence[Event]) -> None:
    """Give panes one of the contents."""
    record.rows = list(EARLIER) if contents is CONTENTS[1] else record.rows
    app.feed(*contents)


@pytest.mark.parametrize("seed", seeds(6))
@pytest.mark.parametrize("key", some(["alt+1", "alt+2", "alt+4"], 2))
async def test_panes_that_filled_one_by_one_are_shown_as_if_they_had_been_full(seed: int, key: str) -> None:
    chance = random.Random(f"{seed} {key}")
    contents = [events for events in CONTENTS if chance.random() < 0.7]
    roomy = SIZES[-3:] if key != "alt+1" else SIZES
    size, first = chance.choice(roomy), chance.choice(roomy)
    async with window(size, (), (), record := FakeRecord(())) as (app, pilot):
        for events in contents:
            fill(app, record, events)
        await wait_until_drawn(app, pilot)
        await pilot.press(key)
        await wait_until_drawn(app, pilot)
        wanted = copy.deepcopy(terminal_of(app).screenful)
    async with window(first, (), (key,), record := FakeRecord(())) as (app, pilot):
        for events in contents:
            if chance.random() < 0.5:
                terminal_of(app).resize(*chance.choice(roomy))
                await wait_until_drawn(app, pilot)
            fill(app, record, events)
            await wait_until_drawn(app, pilot)
        terminal_of(app).resize(*size)
        await wait_until_drawn(app, pilot)
        assert not differences(wanted, terminal_of(app).screenful), (size, first, len(contents))


async def test_panes_that_fill_at_once_move_the_chat_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async with window((200, 50), (), ()) as (app, pilot):
        middle, sizes = app.bench.middle, list[Size]()
        post = middle.post_message

        def see(message: Message) -> bool:
            sizes.extend([message.size] if isinstance(message, events.Resize) else [])
            return post(message)

        monkeypatch.setattr(middle, "post_message", see)
        assert middle.size.width == 200
        app.feed(*(event for events in CONTENTS for event in events))
        await wait_until_drawn(app, pilot)
        assert [size.width for size in sizes] == [100]


async def resized(sizes: list[tuple[int, int]], events: tuple[Event, ...], key: str) -> None:
    """Check that a window that goes through these sizes shows what one of the last size shows, in front of all."""
    events = (*recorded.STARTED, *recorded.TURN, *recorded_shell.SHELLS, *events)
    async with window(sizes[-1], events, (key,), FakeRecord()) as (app, _):
        wanted = copy.deepcopy(terminal_of(app).screenful)  # a window that ends draws once more
        dialogs = app.screen.query(".dialog")
        front = dialogs.first().region if dialogs else app.screen.region

    def differ(shown: ScreenCells) -> list[tuple[int, str, str]]:
        inside = slice(front.x, front.right)
        rows = [row for row in differences(wanted, shown) if front.y <= row[0] < front.bottom]
        return [row for row in rows if wanted.rows[row[0]][inside] != shown.rows[row[0]][inside]]

    async with window(sizes[0], events, (key,), FakeRecord()) as (app, pilot):
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
