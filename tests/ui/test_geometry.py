"""A window of any size, changed at any moment, with anything in front: it lives, and shows what a fresh draw shows."""

import random

import pytest

from tests.kit.scenes import SCENES, Scene, answer_piece, open_scene, wait_until_drawn
from tests.kit.storms import FULL, seeds, some
from tests.kit.terminal_screen import differences, draw_fresh, redraw_all, terminal_of

NAMES = [pytest.param(scene, id=scene.name) for scene in some(SCENES, by=8)]
KEYS = ("down", "up", "a", "backspace", "right", "left", "home", "end")


async def storm(scene: Scene, seed: int, resizes: int, *, streaming: bool) -> None:
    """Change the size of the terminal over and over, then see whether the screen is what it should be."""
    chance = random.Random(f"{scene.name} {seed}")
    async with open_scene(scene) as (app, pilot):
        terminal = terminal_of(app)
        for number in range(resizes):
            most = (300, 100) if number % 4 == 0 else (140, 45)
            terminal.resize(chance.randint(1, most[0]), chance.randint(1, most[1]))
            if streaming:
                app.feed(*answer_piece(number))
            if chance.random() < 0.3:
                await pilot.press(chance.choice(KEYS))
            for _ in range(chance.randrange(3)):
                await pilot.pause()
            assert app.is_running, f"after {number + 1} resizes"
        for size in ((chance.randint(20, 200), chance.randint(10, 60)), (80, 24)):
            terminal.resize(*size)
            await wait_until_drawn(app, pilot)
            assert not differences(terminal.screenful, draw_fresh(app)), size
        before = draw_fresh(app)
        redraw_all(app)
        await wait_until_drawn(app, pilot)
        assert not differences(before, terminal.screenful)


@pytest.mark.parametrize("scene", NAMES)
async def test_a_storm_of_sizes(scene: Scene) -> None:
    at = SCENES.index(scene)
    await storm(scene, at, 8 if FULL else 2, streaming=at % 2 == 1)


@pytest.mark.parametrize("seed", seeds(5))
@pytest.mark.parametrize("streaming", [False, True], ids=["idle", "streaming"])
async def test_a_storm_on_the_conversation(seed: int, streaming: bool) -> None:
    await storm(SCENES[0], seed, 12, streaming=streaming)


async def test_a_terminal_that_went_to_and_fro_is_drawn_anew() -> None:
    async with open_scene(SCENES[0]) as (app, pilot):
        terminal = terminal_of(app)
        for sizes in (((60, 20), (120, 40)), ((121, 40), (60, 20), (120, 40)), ((120, 40),)):
            for size in sizes:
                terminal.resize(*size)
            await wait_until_drawn(app, pilot)
            assert not differences(terminal.screenful, draw_fresh(app)), sizes


async def test_a_pane_that_had_all_for_want_of_room_stands_beside_the_chat_once_there_is_room() -> None:
    async with open_scene(SCENES[0], (80, 24)) as (app, pilot):
        terminal = terminal_of(app)
        for key, name in (("alt+2", "agents"), ("alt+3", "shell"), ("alt+5", "timeline")):
            terminal.resize(80, 24)
            await wait_until_drawn(app, pilot)
            await pilot.press(key)
            await wait_until_drawn(app, pilot)
            pane = app.bench.panes[name]
            assert pane.region.width == 80 and pane.has_focus_within, name
            terminal.resize(120, 35)
            await wait_until_drawn(app, pilot)
            assert 0 < pane.region.width < 60 and app.bench.middle.display, name
            assert pane.has_focus_within, name
            assert not differences(terminal.screenful, draw_fresh(app))
            await pilot.press("alt+1")


async def test_a_pane_that_a_person_gave_all_keeps_it() -> None:
    async with open_scene(SCENES[0], (120, 35)) as (app, pilot):
        await pilot.press("alt+3", "alt+z")
        for size in ((80, 24), (120, 35), (200, 50)):
            terminal_of(app).resize(*size)
            await wait_until_drawn(app, pilot)
            assert app.bench.panes["shell"].region.width == size[0]
