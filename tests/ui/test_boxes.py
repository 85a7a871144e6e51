"""What a box leaves of the window: whole rows, dimmed, and in the terminal's own colours none."""

from __future__ import annotations

import pytest
from rich.style import Style
from textual.color import Color
from textual.widgets import Static

from gshtui.ui.agents.spawn_dialog import SpawnOptions, SpawnScreen
from gshtui.ui.kit.drawing.contrast import contrast
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice
from gshtui.ui.prompt.prompt_input import PromptInput
from tests.kit.recorded_shell import FakeRecord
from tests.kit.scenes import ANSWERS
from tests.kit.storms import some
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window, settled

HARDLY = 2.0
"""Contrast below which nobody reads; words have 4.5."""


@pytest.mark.parametrize(
    ("colours", "typed", "size"),
    [
        *(("gsh-dark", "", size) for size in some(((80, 24), (120, 35), (61, 20), (200, 50), (40, 12)), 4)),
        *(("gsh-dark", "a\nb\nc\nd\ne\nf", size) for size in some(((97, 19), (120, 35)), 2)),
        ("gsh-terminal", "", (80, 24)),
    ],
)
async def test_nothing_is_half_seen_beside_a_box(size: tuple[int, int], colours: str, typed: str) -> None:
    """Its rows show nothing else, all other rows are whole and dimmed, and the input is one or the other. What themes
    are tried on is all seen, and has no focus.
    """
    app = Window(answers=ANSWERS, store=FakeRecord())
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.theme = colours
        app.query_one(PromptInput).place(typed)
        await settled(pilot)
        for key in ("f1", "f2", "f3", "f4", "f8", "alt+h", "ctrl+p"):
            await pilot.press(key)
            await wait_until(pilot, lambda: bool(app.screen.query(".dialog")), what=lambda key=key: key)
            await settled(pilot)
            assert (app.bench.focused is None) == (key == "f4"), key
            box = app.screen.query(".dialog").first().region
            rows = range(box.y, box.bottom)
            entry = app.bench.input.region
            assert {y in rows for y in range(entry.y, entry.bottom)} in ({True}, {False}), (key, box, entry)
            drawn = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
            behind = app.bench._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
            for y, strip in enumerate(drawn):
                if y in rows:
                    beside, under = (one.crop(0, box.x).text + one.crop(box.right).text for one in (strip, behind[y]))
                    assert beside == (under if key == "f4" else " " * len(beside)), (key, y, beside)
                elif colours == "gsh-dark":
                    assert strip.text == behind[y].text, (key, y)
                    dimmed = all(not text.strip() or _is_dimmed(style) for text, style, _ in strip)
                    assert dimmed or key == "f4", (key, y, strip.text)
            await pilot.press("escape")
            await wait_until(pilot, lambda: not app.screen.query(".dialog"), what=lambda key=key: f"after {key}")
            assert app.bench.input.has_focus, key


@pytest.mark.parametrize("rows", [2, 30])
async def test_a_box_takes_a_short_window_only_if_it_needs_it(rows: int) -> None:
    app = Window()
    async with app.run_test(size=(61, 20)) as pilot:
        await settled(pilot)
        app.push_screen(Picker("Few", [PickerChoice(f"{n}", f"choice {n}") for n in range(rows)], empty=""))
        await settled(pilot)
        box, entry = app.screen.query(".dialog").first().region, app.bench.input.region
        assert box.bottom <= entry.y if rows == 2 else box.height == 20


@pytest.mark.parametrize("rows", range(4))
async def test_a_form_has_all_its_rows_where_the_window_has_as_many(rows: int) -> None:
    """However many rows the window has lost to others."""
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await app.bench.mount(Static("\n".join("taken" for _ in range(rows))), before=app.bench.query_one("KeyBar"))
        await settled(pilot)
        app.push_screen(SpawnScreen(SpawnOptions()))
        await settled(pilot)
        box, start = app.screen.query(".dialog").first().region, app.screen.query_one("#start").region
        assert start.height == 1 and start.bottom < box.bottom <= 24, (box, start)


def _is_dimmed(style: Style | None) -> bool:
    """Whether what is drawn so is hardly seen."""
    if style is None or style.color is None or style.bgcolor is None or style.color.triplet is None:
        return False
    return contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)) < HARDLY
