"""The style sheets: found in a checkout and in a wheel, right in every theme, and without colour if so asked."""

from pathlib import Path

import pytest

from gshtui.ui.window import stylesheets
from tests.kit import recorded
from tests.kit.legibility import unreadable
from tests.kit.storms import some
from tests.kit.window import Window


def test_the_sheets_are_found_in_a_checkout() -> None:
    names = [path.name for path in stylesheets.style_paths()]
    assert {"workbench.tcss", "panes.tcss", "screens.tcss"} <= set(names)


def test_the_sheets_are_found_in_an_installed_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "gshtui"
    (installed / "ui").mkdir(parents=True)
    (installed / "styles").mkdir()
    (installed / "styles" / "workbench.tcss").touch()
    monkeypatch.setattr(stylesheets, "__file__", str(installed / "ui" / "window" / "stylesheets.py"))
    assert stylesheets.style_paths() == [installed / "styles" / "workbench.tcss"]


async def test_every_theme_draws_the_window_and_its_words_can_be_read() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.feed(*recorded.STARTED, *recorded.TURN)
        await pilot.press("x")
        ours = [name for name in app.available_themes if name.startswith("gsh-")]
        for theme in (*ours, *some([name for name in app.available_themes if name not in ours], 10)):
            app.theme = theme
            await pilot.pause()
            assert len(app.screen._compositor.render_strips()) == 40
            assert app.current_theme.ansi or unreadable(app) == [], theme


async def test_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        app.feed(*recorded.STARTED, *recorded.TURN, *recorded.ASKED)
        await pilot.pause()
        for strip in app.screen._compositor.render_strips():
            for segment in strip:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    if colour is not None and colour.triplet is not None:
                        red, green, blue = colour.triplet
                        assert red == green == blue, segment
