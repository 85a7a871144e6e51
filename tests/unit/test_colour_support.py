"""A terminal of few colours gets a theme of its own, and one without colours loses nothing that marks a row."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.app import App, ComposeResult
from textual.color import Color
from textual.widgets import OptionList

from gshtui.ui.kit.drawing.themes import DARK, LIGHT, TERMINAL, ThemedApp
from gshtui.ui.kit.textual.colour_support import Colourless, has_few_colours, has_no_colours

STYLES = st.builds(
    Style,
    color=st.sampled_from([None, "default", "red", "#123456"]),
    bgcolor=st.sampled_from([None, "default", "blue", "#654321"]),
    bold=st.sampled_from([None, True]),
    dim=st.sampled_from([None, True]),
    reverse=st.sampled_from([None, True]),
)


class Listed(ThemedApp[None]):
    def compose(self) -> ComposeResult:
        yield OptionList("one", "two")


@pytest.mark.parametrize(
    ("term", "colorterm", "no_color", "few"),
    [
        ("xterm-256color", "truecolor", False, False),
        ("xterm-256color", "", False, False),
        ("linux", "", False, True),
        ("vt100", "", False, True),
        ("xterm-256color", "truecolor", True, True),
    ],
)
def test_few_colours(monkeypatch: pytest.MonkeyPatch, term: str, colorterm: str, no_color: bool, few: bool) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLORTERM", colorterm)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    app: ThemedApp[None] = ThemedApp()
    assert has_few_colours(app) is few
    assert [app.showable_theme(name) for name in (DARK, LIGHT, "nowhere")] == (
        [TERMINAL] * 3 if few else [DARK, LIGHT, DARK]
    )
    assert app.showable_theme("ansi-dark") == "ansi-dark"


@pytest.mark.parametrize(("term", "none"), [("vt100", True), ("dumb", True), ("linux", False), ("no-such", False)])
def test_what_a_terminals_description_says(term: str, none: bool) -> None:
    asks = f"from {has_no_colours.__module__} import has_no_colours; print(has_no_colours({{'TERM': {term!r}}}))"
    said = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, timeout=60, check=True)
    assert said.stdout == f"{none}\n"


@given(st.lists(st.tuples(st.text(max_size=5), STYLES), max_size=6))
def test_nothing_has_a_colour_and_every_background_is_still_seen(drawn: list[tuple[str, Style]]) -> None:
    made = Colourless().apply([Segment(text, style) for text, style in drawn], Color(0, 0, 0))
    assert [segment.text for segment in made] == [text for text, _ in drawn]
    for (_, before), segment in zip(drawn, made, strict=True):
        after = segment.style
        assert after is not None
        assert all(color is None or color.is_default for color in (after.color, after.bgcolor))
        had_background = before.bgcolor is not None and not before.bgcolor.is_default
        assert bool(after.reverse) == (had_background or bool(before.reverse))
        assert (after.bold, after.dim) == (before.bold, before.dim)


async def row_looks(app: App[None]) -> list[Style]:
    async with app.run_test(size=(30, 8)) as pilot:
        options = app.query_one(OptionList)
        options.highlighted = 1
        app.set_focus(None)
        await pilot.pause()
        looks = [options.render_line(row)._segments[0].style for row in (0, 1)]  # pyright: ignore[reportPrivateUsage]
        for one in app._filters:  # pyright: ignore[reportPrivateUsage]
            if one.enabled:
                looks = [one.apply([Segment("x", look)], Color(0, 0, 0))[0].style for look in looks]
        return [look for look in looks if look is not None]


async def test_the_terminals_own_colours_reach_it_from_the_first_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "linux")
    monkeypatch.delenv("COLORTERM")
    app = Listed()
    app.theme = app.showable_theme(DARK)
    _, chosen = await row_looks(app)
    assert chosen.bgcolor == RichColor.from_ansi(4)


async def test_a_chosen_row_is_reversed_without_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = Listed()
    app.theme = app.showable_theme(DARK)
    other, chosen = await row_looks(app)
    assert chosen.reverse and not other.reverse
    assert chosen.bgcolor is not None and chosen.bgcolor.is_default
