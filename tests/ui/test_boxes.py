"""What a box leaves of the window: what it cuts is hardly seen, and in the terminal's own colours not at all."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.color import Color

from gshtui.ui.kit.drawing.contrast import contrast
from tests.kit.recorded_shell import FakeRecord
from tests.kit.scenes import ANSWERS
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window, settled

HARDLY = 2.0
"""Contrast below which nobody reads; words have 4.5."""


@pytest.mark.parametrize("size", [(80, 24), (120, 35), (61, 20), (200, 50)])
@pytest.mark.parametrize("colours", ["gsh-dark", "gsh-terminal"])
async def test_nothing_is_read_beside_a_box(size: tuple[int, int], colours: str) -> None:
    """Of words and frames behind it, only pieces would be seen."""
    app = Window(answers=ANSWERS, store=FakeRecord())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.theme = colours
        await settled(pilot)
        for key in ("f1", "f2", "f3", "f8", "alt+h", "ctrl+p"):
            await pilot.press(key)
            await wait_until(pilot, lambda: bool(app.screen.query(".dialog")), what=lambda key=key: key)
            await settled(pilot)
            box = app.screen.query(".dialog").first().region
            strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
            for y, strip in enumerate(strips):
                inside = (box.x, box.right) if box.y <= y < box.bottom else (0, 0)
                for text, style, _ in (*strip.crop(0, inside[0]), *strip.crop(inside[1])):
                    assert not text.strip() or _is_dimmed(style), (key, y, text)
            await pilot.press("escape")
            await wait_until(pilot, lambda: not app.screen.query(".dialog"), what=lambda key=key: f"after {key}")


def _is_dimmed(style: Style | None) -> bool:
    """Whether what is drawn so is hardly seen."""
    if style is None or style.color is None or style.bgcolor is None or style.color.triplet is None:
        return False
    return contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)) < HARDLY


@pytest.mark.parametrize("size", [(80, 24), (120, 35), (61, 20)])
async def test_a_list_that_previews_leaves_the_input_whole(size: tuple[int, int]) -> None:
    app = Window()
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("f4")
        await wait_until(pilot, lambda: bool(app.screen.query(".dialog")))
        await settled(pilot)
        assert app.screen.query(".dialog").first().region.bottom <= app.bench.input.region.y
