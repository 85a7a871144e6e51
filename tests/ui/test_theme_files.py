"""A person's own themes: read from their files, offered with ours, and shown anew when a file has changed."""

from pathlib import Path

import pytest
from textual.events import AppFocus

from gshtui.bus.events.hub_events import Noticed
from gshtui.ui.kit.drawing.themes import OURS, read_themes
from tests.kit.home import Home
from tests.kit.window import Window, settled

KNOWN = {theme.name: theme for theme in OURS}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("primary = 'no colour'", "primary = 'no colour' is not a colour"),
        ("base = 'nowhere'", "no theme 'nowhere'"),
        ("primry = '#ff0000'", "primry is unknown"),
        ("variables = 3", "[variables] is not a table"),
        ("primary = ", "Invalid value"),
        ("\x00", "Invalid"),
    ],
)
def test_a_file_that_cannot_be_used_costs_itself_alone(text: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "good.toml").write_text("primary = '#ff0000'")
    found = read_themes(tmp_path, KNOWN)
    assert [theme.name for theme in found.themes] == ["good"] and found.themes[0].primary == "#ff0000"
    assert found.themes[0].background == KNOWN["gsh-dark"].background, "the rest is that of gsh-dark"
    assert len(found.problems) == 1 and "bad.toml" in found.problems[0] and why in found.problems[0]


def test_none_of_ours_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "gsh-dark.toml").write_text("primary = '#ff0000'")
    found = read_themes(tmp_path, KNOWN)
    assert not found.themes and "built-in" in found.problems[0]
    assert not read_themes(tmp_path / "missing", KNOWN).problems


async def test_it_is_previewed_and_follows_its_file(home: Home) -> None:
    folder = home.config / "gsh" / "themes"
    folder.mkdir(parents=True)
    file = folder / "mine.toml"
    file.write_text("base = 'gsh-light'\nprimary = '#123456'\n")
    app = Window()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        assert "mine" in app.themes()
        app.preview_theme("mine")
        await pilot.pause()
        assert app.current_theme.primary == "#123456" and not app.current_theme.dark
        before = app.theme_variables["primary"]
        file.write_text("base = 'gsh-light'\nprimary = 'no colour'\n")
        for _ in range(2):
            app.post_message(AppFocus())
            await pilot.pause()
        assert app.current_theme.primary == "#123456"
        assert sum("mine.toml is not used" in notice.message for notice in app._notifications) == 1, "it is said once"
        file.write_text("base = 'gsh-light'\nprimary = '#654321'\n")
        app.post_message(AppFocus())
        await pilot.pause()
        assert app.current_theme.primary == "#654321" and app.theme_variables["primary"] != before, "as it is now"
        file.write_text("base = 'gsh-light'\nprimary = '#334455'\n")
        await pilot.press("f4")
        await pilot.pause()
        assert app.current_theme.primary == "#334455", "also where the terminal tells nothing of its focus"


async def test_a_broken_file_is_said_at_the_start(home: Home) -> None:
    folder = home.config / "gsh" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text("primary = 'no colour'\n")
    (folder / "other.toml").write_text("primary = 'no colour'\n")
    app = Window(theme="mine")
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await settled(pilot)
        assert app.theme == "gsh-dark" and app.hub is not None
        said = [event.text for event in app.hub.said if isinstance(event, Noticed)]
        assert len(said) == 1 and said[0].startswith("The theme mine.toml is not used: "), "the other is not wanted"


async def test_notices_are_kept_to_be_read_later() -> None:
    app = Window()
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.notify("The first notice.", markup=False)
        app.notify("The second one.", title="While you were away", markup=False)
        await pilot.press("alt+h")
        await pilot.pause()
        shown = app.export_screenshot().replace("&#160;", " ")
        assert "The first notice." in shown and "While you were away: The second one." in shown
        assert not app.screen.query("Toast"), "none covers the list that has it"
