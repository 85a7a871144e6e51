"""A question with more rows than are seen."""

import pytest
from textual.widgets import Static

from gshtui.ui.kit.drawing.themes import ThemedApp
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen
from tests.kit.keyboard import Keyboard
from tests.kit.prompt_host import STYLES
from tests.kit.seen_window import rested


class Host(ThemedApp[int]):
    CSS_PATH = [STYLES / "screens.tcss"]


@pytest.mark.parametrize("size", [(50, 16), (61, 20), (80, 24)])
async def test_agreeing_counts_only_once_the_end_was_seen(size: tuple[int, int]) -> None:
    app = Host()
    answers: list[bool | None] = []
    async with app.run_test(size=size) as pilot:
        app.push_screen(ConfirmScreen("Answer?", "", yes="Yes", quoted="\n".join(map(str, range(60)))), answers.append)
        await rested(pilot)
        more = app.screen.query_one("#unseen", Static)
        assert str(more.content).endswith(" more · ↓")
        assert all(app.screen.region.contains_region(button.region) for button in app.screen.query("Button"))
        keys = Keyboard(app)
        keys.post("y")
        await rested(pilot)
        assert answers == [] and more.display
        await pilot.press("end")
        await rested(pilot)
        assert not more.display
        keys.post("y")
        await rested(pilot)
        assert answers == [True]
