"""What a box leaves in sight of the window: nothing that it cuts."""

from __future__ import annotations

import pytest

from tests.kit.recorded_shell import FakeRecord
from tests.kit.scenes import ANSWERS
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window, settled


@pytest.mark.parametrize("size", [(80, 24), (120, 35), (61, 20), (200, 50)])
@pytest.mark.parametrize("colours", ["gsh-dark", "gsh-terminal"])
async def test_nothing_stands_beside_a_box(size: tuple[int, int], colours: str) -> None:
    """Of words and frames behind it, only pieces would be seen."""
    app = Window(answers=ANSWERS, store=FakeRecord())
    async with app.run_test(size=size) as pilot:
        app.theme = colours
        await settled(pilot)
        for key in ("f1", "f2", "f3", "f8", "alt+h", "ctrl+p"):
            await pilot.press(key)
            await wait_until(pilot, lambda: bool(app.screen.query(".dialog")), what=lambda key=key: key)
            await settled(pilot)
            box = app.screen.query(".dialog").first().region
            strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
            rows = [strip.text for strip in strips]
            beside = [row[: box.x] + row[box.right :] if box.y <= y < box.bottom else row for y, row in enumerate(rows)]
            assert not "".join(beside).strip(), (key, beside)
            await pilot.press("escape")
            await wait_until(pilot, lambda: not app.screen.query(".dialog"), what=lambda key=key: f"after {key}")


@pytest.mark.parametrize("size", [(80, 24), (120, 35), (61, 20)])
async def test_a_list_that_previews_leaves_the_input_whole(size: tuple[int, int]) -> None:
    app = Window()
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("f4")
        await wait_until(pilot, lambda: bool(app.screen.query(".dialog")))
        await settled(pilot)
        assert app.screen.query(".dialog").first().region.bottom <= app.bench.input.region.y
