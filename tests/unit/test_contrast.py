"""Colours that can be read: WCAG's own figures, and quiet words in every theme there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style
from textual.color import BLACK, WHITE, Color
from textual.theme import BUILTIN_THEMES, Theme

from gshtui.text.styled_text import Style as Look
from gshtui.ui.kit.drawing.contrast import READABLE, contrast, readable
from gshtui.ui.kit.drawing.program_colours import program_colours
from gshtui.ui.kit.drawing.themes import OURS, with_readable_words

COLOURS = st.builds(Color, st.integers(0, 255), st.integers(0, 255), st.integers(0, 255))
SHADES = [theme for theme in (*OURS, *BUILTIN_THEMES.values()) if not theme.ansi]


def variables(theme: Theme) -> dict[str, str]:
    return {**theme.to_color_system().generate(), **theme.variables}


def test_contrast_is_wcags() -> None:
    assert contrast(BLACK, WHITE) == contrast(WHITE, BLACK) == pytest.approx(21)
    assert contrast(Color.parse("#777777"), WHITE) == pytest.approx(4.48, abs=0.01)
    assert contrast(Color.parse("#767676"), WHITE) == pytest.approx(4.54, abs=0.01)


@given(COLOURS, COLOURS)
def test_any_colour_becomes_one_that_can_be_read(color: Color, behind: Color) -> None:
    moved = readable(color, (behind,))
    assert contrast(moved, behind) >= READABLE
    if contrast(color, behind) >= READABLE:
        assert moved == color


@pytest.mark.parametrize("theme", SHADES, ids=lambda theme: theme.name)
def test_quiet_words_of_any_theme_can_be_read(theme: Theme) -> None:
    made = with_readable_words(variables(theme))
    quiet = Color.parse(made["text-muted"])
    assert quiet == Color.parse(made["foreground-muted"])
    for name in ("background", "surface", "panel"):
        assert contrast(quiet, Color.parse(made[name])) >= READABLE, name


@pytest.mark.parametrize("theme", SHADES, ids=lambda theme: theme.name)
def test_all_words_of_any_theme_can_be_read_on_a_selected_row(theme: Theme) -> None:
    made = with_readable_words(variables(theme))
    for surface in ("background", "surface"):
        chosen = Color.parse(made[surface]) + Color.parse(made["chosen"].removeprefix("on "))
        for name in ("foreground", "text-muted", "primary", "secondary", "accent", "warning", "error", "success"):
            assert contrast(Color.parse(made[name]), chosen) >= READABLE, (surface, name)


def test_a_theme_of_the_terminals_own_colours_stays_as_it_is() -> None:
    for theme in (*OURS, *BUILTIN_THEMES.values()):
        if theme.ansi:
            assert with_readable_words(variables(theme)) == {**variables(theme), "chosen": "reverse"}


@pytest.mark.parametrize("dark", [True, False])
def test_what_a_program_prints_can_be_read_unless_it_chose_what_is_behind(dark: bool) -> None:
    behind = Color.parse("#0e1516" if dark else "#fbf9f4")
    colours = program_colours(Style(bgcolor=behind.rich_color), dark=dark, ansi=False)
    for number in range(16):
        front = colours.style(Look(foreground=number)).color
        assert front is not None and contrast(Color.from_rich_color(front), behind) >= READABLE, number
    chosen = colours.style(Look(foreground=7, background=4))
    assert chosen.color == colours.named[7] and chosen.bgcolor == colours.named[4]
