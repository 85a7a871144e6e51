"""The page that renderers draw on: a width, the theme's styles, and the code highlighter.

Decides what is bold, dim or coloured. Every difference in colour goes with one in sign, weight or place, so that a
terminal without colours loses nothing. Rebuilt when the size or the theme changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from rich.color import Color as RichColor
from rich.style import Style
from textual.color import Color, ColorParseError
from textual.widget import Widget

from gshtui.ui.kit.drawing.contrast import CHOSEN, luminance, readable
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.program_colours import ProgramColours, program_colours
from gshtui.ui.kit.textual.typed_app import app_of

if TYPE_CHECKING:
    from gshtui.ui.kit.drawing.terminal_graphics import TerminalGraphics

_AS_IS, _BOLD, _ITALIC, _UNDERLINE = Style(), Style(bold=True), Style(italic=True), Style(underline=True)


class Palette(msgspec.Struct, frozen=True):
    """Styles, each with its background, ready to draw."""

    text: Style
    muted: Style
    faint: Style
    strong: Style
    accent: Style
    title: Style
    heading: Style
    subheading: Style
    inline_code: Style
    link: Style
    target: Style
    quote: Style
    rule: Style
    marker: Style
    prompt: Style
    prompt_bar: Style
    prompt_fill: Style
    code: Style
    code_label: Style
    tool: Style
    ok: Style
    warning: Style
    error: Style
    added: Style
    removed: Style
    added_word: Style
    removed_word: Style
    cursor: Style
    match: Style
    match_here: Style
    badge: Style
    selection: Style
    programs: ProgramColours
    """What programs print, in their own colours where they chose some."""
    tokens: Mapping[str, Style]
    """Styles of code by kind of token; see `code.KINDS`."""


def make_palette(variables: Mapping[str, str], background: Color, *, ansi: bool = False) -> Palette:
    """The palette of a theme.

    Args:
        variables: the theme's, as an app has them.
        background: the transcript's background.
        ansi: use the terminal's own colours; without shades, so dim stands for muted.
    """
    return _made(frozenset(variables.items()), background, ansi)


@lru_cache(maxsize=16)
def _made(variables: frozenset[tuple[str, str]], background: Color, ansi: bool) -> Palette:
    """Parts of a window on the same background share a palette: there are few, and each takes milliseconds to make."""
    return _Maker(dict(variables), background, ansi).palette()


class ThemePalette:
    """The palette of what a widget stands on. `renew` follows the theme; until then it is one for no theme."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._made_for: tuple[object, ...] = ()
        self.palette = make_palette({}, Color(0, 0, 0))

    def renew(self) -> bool:
        """Take the colours of the theme and of what lies behind; whether they are other ones now."""
        app, background = app_of(self._widget), self._widget.background_colors[1]
        made_for = (app.theme, background, app.native_ansi_color)
        if made_for == self._made_for:
            return False
        self._made_for = made_for
        self.palette = make_palette(app.theme_variables, background, ansi=app.native_ansi_color)
        return True


class _Maker:
    def __init__(self, variables: Mapping[str, str], background: Color, ansi: bool) -> None:
        self._variables = variables
        self._ansi = ansi
        self._background = background
        self._foreground = self._color("foreground", Color(224, 224, 224))
        self._behind = None if ansi else background.rich_color

    def _color(self, name: str, fallback: Color) -> Color:
        if not (value := self._variables.get(name)):
            return fallback  # parsing nothing is slow: it looks for a similar name
        try:
            return Color.parse(value)
        except ColorParseError:
            return fallback

    def _style(
        self,
        name: str = "foreground",
        shade: float = 1.0,
        *,
        on: RichColor | None = None,
        how: Style = _AS_IS,
        words: bool = True,
    ) -> Style:
        """A style in a colour of the theme; `shade` 0 is the background, 1 the colour itself.

        A shade of words is at least one that can be read; lines may be fainter.
        """
        color = self._color(name, self._foreground)
        if self._ansi:
            default = name == "foreground"
            dim = shade < 0.8
            return Style(color=None if default else color.rich_color, bgcolor=on, dim=dim or None) + how
        mixed = self._background.blend(color, shade, 1.0)
        if words and shade < 1.0:
            behind = self._background if on is None else Color.from_rich_color(on)
            mixed = readable(mixed, (self._background, behind))
        return Style(color=mixed.rich_color, bgcolor=on or self._behind) + how

    def _panel(self, name: str, share: float) -> RichColor | None:
        """A background shifted slightly towards a colour; not possible with the terminal's own colours."""
        if self._ansi:
            return None
        return self._background.blend(self._color(name, self._foreground), share, 1.0).rich_color

    def palette(self) -> Palette:
        style = self._style
        code = self._panel("foreground", 0.055)
        prompt = self._panel("primary", 0.11)
        return Palette(
            text=style(),
            muted=style(shade=0.68),
            faint=style(shade=0.42),
            strong=style(how=_BOLD),
            accent=style("accent"),
            title=style("primary", how=_BOLD),
            heading=style("primary", how=_BOLD),
            subheading=style("secondary", how=_BOLD),
            inline_code=style(on=code),
            link=style("secondary", how=_UNDERLINE),
            target=style("secondary", 0.65),
            quote=style(shade=0.75, how=_ITALIC),
            rule=style(shade=0.3, words=False),
            marker=style("primary"),
            prompt=style(on=prompt),
            prompt_bar=style("primary", on=prompt, how=_BOLD),
            prompt_fill=style(shade=0.68, on=prompt),
            code=style(on=code),
            code_label=style(shade=0.5, on=code, how=_ITALIC),
            tool=style(how=_BOLD),
            ok=style("success"),
            warning=style("warning"),
            error=style("error"),
            added=style("success", on=self._panel("success", 0.18)),
            removed=style("error", on=self._panel("error", 0.18)),
            added_word=self._word("success"),
            removed_word=self._word("error"),
            cursor=style("primary", how=_BOLD),
            match=self._reverse("warning", 0.42),
            match_here=self._reverse("warning", 1.0),
            badge=self._reverse("primary", 1.0),
            selection=self._selection(),
            programs=program_colours(style(), dark=luminance(self._background) < 0.18, ansi=self._ansi),
            tokens=self._tokens(code),
        )

    def _word(self, name: str) -> Style:
        """Over a word that differs: a stronger background, or underlined where there are no shades."""
        if self._ansi:
            return Style(bold=True, underline=True)
        return Style(bgcolor=self._panel(name, 0.36), bold=True)

    def _reverse(self, name: str, share: float) -> Style:
        if self._ansi:
            return Style(reverse=True, bold=share == 1.0 or None)
        behind = self._background.blend(self._color(name, self._foreground), share, 1.0)
        front = self._background if share == 1.0 else self._foreground
        return Style(color=front.rich_color, bgcolor=behind.rich_color, bold=share == 1.0 or None)

    def _selection(self) -> Style:
        if self._ansi:
            return Style(reverse=True)
        return Style(bgcolor=self._background.blend(self._color("primary", self._foreground), CHOSEN, 1.0).rich_color)

    def _tokens(self, on: RichColor | None) -> dict[str, Style]:
        style = self._style
        return {
            "text": style(on=on),
            "keyword": style("primary", on=on),
            "name": style("secondary", on=on),
            "type": style("secondary", on=on, how=_BOLD),
            "string": style("success", on=on),
            "number": style("success", on=on),
            "comment": style(shade=0.5, on=on, how=_ITALIC),
            "operator": style(shade=0.8, on=on),
            "builtin": style("secondary", on=on),
            "error": style("error", on=on),
            "added": style("success", on=on),
            "removed": style("error", on=on),
        }


NARROWEST = 8
"""Minimum width of a page in cells; a smaller terminal cuts the lines."""
WIDEST = 120
"""Maximum width of a page in cells: longer lines are hard to read."""
_INNERMOST = 4
ONE_COLUMN = "-one-column"
"""The app's class while the person wants changes in one column, however much room there is."""


def wants_columns(widget: Widget) -> bool:
    """Whether the person wants changes side by side where there is room."""
    return not app_of(widget).has_class(ONE_COLUMN)


class Page(msgspec.Struct, frozen=True):
    """What lines are rendered for. `width` in cells."""

    width: int
    palette: Palette
    code: Highlighter
    result_lines: int = 5
    """Rows of output shown under a finished call; a change gets six times as many."""
    graphics: TerminalGraphics | None = None
    """Draws pictures; `None`: the terminal cannot."""
    two_columns: bool = True
    """Whether what was and what is may stand side by side."""
    colours: bool = True
    """Whether there are enough colours for pictures in half blocks."""

    def narrower(self, cells: int) -> Page:
        """The page inside an indent."""
        return replace(self, width=max(_INNERMOST, self.width - cells))

    def has_room(self, cells: int) -> bool:
        """Whether an indent of this many cells leaves enough room."""
        return self.width - cells >= _INNERMOST
