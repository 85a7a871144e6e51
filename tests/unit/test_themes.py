"""Our two themes: words can be read on every surface, and the quiet ones too."""

import pytest
from textual.color import Color
from textual.theme import Theme

from gshtui.ui.kit.drawing.themes import OURS

SURFACES = ("background", "surface", "panel")
SHADES = [theme for theme in OURS if not theme.ansi]


def luminance(colour: Color) -> float:
    parts = [part / 255 for part in (colour.r, colour.g, colour.b)]
    red, green, blue = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    """WCAG's ratio, 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", SHADES, ids=lambda theme: theme.name)
@pytest.mark.parametrize("surface", SURFACES)
def test_words_can_be_read(theme: Theme, surface: str) -> None:
    colours = theme.to_color_system().generate()
    below = Color.parse(colours[surface])
    assert contrast(Color.parse(colours["foreground"]), below) >= 9
    for name in ("primary", "secondary", "accent", "warning", "error", "success"):
        assert contrast(Color.parse(colours[name]), below) >= 4.5, name
    quiet = below.blend(Color.parse(colours["foreground"]), 0.6)
    assert contrast(quiet, below) >= 3.5


@pytest.mark.parametrize("theme", SHADES, ids=lambda theme: theme.name)
def test_the_cursor_can_be_seen(theme: Theme) -> None:
    variables = theme.variables
    cursor = Color.parse(variables["input-cursor-background"])
    assert contrast(cursor, Color.parse(variables["input-cursor-foreground"])) >= 4.5
