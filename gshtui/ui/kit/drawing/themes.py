"""The workbench's themes, what every theme gets from us, and the sign and colour of each status of an agent.

Style sheets and palettes name colours by the themes' variables and never as values. Each has one job: `primary` is
where you are and what you can press, `accent` is a cut of the context and where the next one comes, `warning` waits for
you, `error` failed or loses something, `success` is done or added, `secondary` is a link, a name in code or a running
tool. Everything that is not read first is in the one quiet colour.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import Theme

from gshtui.system.json_types import is_object
from gshtui.ui.kit.drawing.contrast import CHOSEN, readable
from gshtui.ui.kit.textual.colour_support import has_few_colours, has_no_colours, take_colours

_R = TypeVar("_R")
DARK = "gsh-dark"
LIGHT = "gsh-light"
TERMINAL = "gsh-terminal"

GSH_DARK = Theme(
    name=DARK,
    dark=True,
    primary="#6fd3b8",
    secondary="#86b6e0",
    accent="#ff9676",
    foreground="#d9e4e1",
    background="#0e1516",
    surface="#121b1d",
    panel="#1c2a2d",
    warning="#e6c065",
    error="#f4827f",
    success="#93d28c",
    luminosity_spread=0.12,
    variables={
        "border": "#35504f",
        "border-blurred": "#24363a",
        "block-cursor-background": "#6fd3b8",
        "block-cursor-foreground": "#0e1516",
        "block-cursor-text-style": "none",
        "input-cursor-background": "#6fd3b8",
        "input-cursor-foreground": "#0e1516",
        "input-selection-background": "#6fd3b8 28%",
        "scrollbar": "#2a3d41",
        "scrollbar-hover": "#3f5c60",
        "scrollbar-active": "#6fd3b8",
        "scrollbar-background": "#0e1516",
        "scrollbar-background-hover": "#0e1516",
        "scrollbar-background-active": "#0e1516",
        "scrollbar-corner-color": "#0e1516",
        "footer-background": "#121b1d",
        "footer-key-foreground": "#6fd3b8",
        "button-color-foreground": "#0e1516",
    },
)

GSH_LIGHT = Theme(
    name=LIGHT,
    dark=False,
    primary="#0a645a",
    secondary="#1f578f",
    accent="#a03510",
    foreground="#1d2829",
    background="#fbf9f4",
    surface="#f3efe6",
    panel="#e6e0d3",
    warning="#775000",
    error="#a8201a",
    success="#266529",
    luminosity_spread=0.12,
    variables={
        "border": "#a9bdb4",
        "border-blurred": "#d8d2c4",
        "block-cursor-background": "#0a645a",
        "block-cursor-foreground": "#fbf9f4",
        "block-cursor-text-style": "none",
        "input-cursor-background": "#0a645a",
        "input-cursor-foreground": "#fbf9f4",
        "input-selection-background": "#0a645a 22%",
        "scrollbar": "#cfc8b8",
        "scrollbar-hover": "#b3ab98",
        "scrollbar-active": "#0a645a",
        "scrollbar-background": "#fbf9f4",
        "scrollbar-background-hover": "#fbf9f4",
        "scrollbar-background-active": "#fbf9f4",
        "scrollbar-corner-color": "#fbf9f4",
        "footer-background": "#f3efe6",
        "footer-key-foreground": "#0a645a",
        "button-color-foreground": "#fbf9f4",
    },
)

GSH_TERMINAL = Theme(
    name=TERMINAL,
    ansi=True,
    primary="ansi_cyan",
    secondary="ansi_bright_blue",
    accent="ansi_magenta",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "border": "ansi_cyan",
        "border-blurred": "ansi_bright_black",
        "block-cursor-background": "ansi_blue",
        "block-cursor-foreground": "ansi_bright_white",
        "block-cursor-text-style": "bold",
        "block-cursor-blurred-background": "ansi_blue",
        "block-cursor-blurred-foreground": "ansi_bright_white",
        "block-cursor-blurred-text-style": "none",
        "input-selection-background": "ansi_cyan",
        "input-selection-foreground": "ansi_black",
        "screen-selection-background": "ansi_cyan",
        "screen-selection-foreground": "ansi_black",
        "scrollbar": "ansi_bright_black",
        "scrollbar-hover": "ansi_cyan",
        "scrollbar-active": "ansi_cyan",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "footer-key-foreground": "ansi_cyan",
    },
)
"""The terminal's own sixteen colours on its own background. What is chosen has a background: that is seen
without colours, too, as reversed."""

OURS = (GSH_DARK, GSH_LIGHT, GSH_TERMINAL)

_QUIET = 0.62
"""How far quiet words are from the background towards the foreground, where that can be read."""
_FOCUSED = 0.06
"""The share of the foreground behind an input line that has the focus."""
_SIGNALS = ("primary", "secondary", "accent", "warning", "error", "success")
_WORDS = ("foreground", *_SIGNALS, *(f"text-{name}" for name in _SIGNALS), "footer-key-foreground")
"""The colours in which words are written."""


class ThemedApp(App[_R]):
    """An app that has our themes, and quiet words that can be read in every theme."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)  # pyright: ignore[reportArgumentType]
        for theme in OURS:
            self.register_theme(theme)

        self._own_themes: dict[str, Theme] = {}
        """Those of the person's files."""
        self._theme_problem = ""
        """What the person was told last of their theme's file."""
        self._few_colours = has_few_colours(self)
        if self.no_color or (self._few_colours and has_no_colours(os.environ)):
            take_colours(self)

    def take_own_themes(self) -> list[str]:
        """Register the themes of the person's files as they are now; returns what is wrong with others, which stay as
        they were. Blocks.
        """
        from gshtui.settings.paths import FolderError, config_dir

        try:
            folder = config_dir() / "themes"
        except FolderError:
            return []
        known = {name: theme for name, theme in self.available_themes.items() if name not in self._own_themes}
        found = read_themes(folder, known)
        for theme in found.themes:
            self.register_theme(theme)
        self._own_themes |= {theme.name: theme for theme in found.themes}
        return found.problems

    def theme_problem(self, name: str) -> str:
        """What is wrong with the person's file of this theme as it is now; empty: nothing. Blocks."""
        return next((problem for problem in self.take_own_themes() if f" {name}.toml " in problem), "")

    def own_theme(self, name: str) -> Theme | None:
        """The theme of one of the person's files; `None`: it is of none."""
        return self._own_themes.get(name)

    def showable_theme(self, wanted: str) -> str:
        """This theme, or ours where there is none of that name or the terminal has too few colours for it."""
        if wanted not in self.available_themes:
            self.take_own_themes()
        if wanted not in self.available_themes:
            wanted = DARK
        return TERMINAL if self._few_colours and not self.available_themes[wanted].ansi else wanted

    def themes(self) -> list[str]:
        """The names of all themes, ours first, those of the person's files as they are now."""
        before = self.own_theme(self.theme)
        for problem in self.take_own_themes():
            self.notify(problem, severity="warning", markup=False)
        if self.own_theme(self.theme) != before:
            self.refresh_css(animate=False)
        return sorted(self.available_themes, key=lambda name: (not name.startswith("gsh-"), name))

    def preview_theme(self, name: str) -> None:
        self.theme = self.showable_theme(name)

    def renew_theme(self) -> None:
        """Show the theme of a file that the person has changed meanwhile."""
        if (before := self.own_theme(self.theme)) is not None:
            problem, told = self.theme_problem(self.theme), self._theme_problem
            self._theme_problem = problem
            if problem and problem != told:
                self.notify(problem, severity="warning", markup=False)
            if self.own_theme(self.theme) != before:
                self.refresh_css(animate=False)

    def get_css_variables(self) -> dict[str, str]:
        """The theme's variables."""
        self.theme_variables = with_readable_words(super().get_css_variables())
        return self.theme_variables


def with_readable_words(variables: Mapping[str, str]) -> dict[str, str]:
    """A theme's variables, every colour of words moved as far as it can be read on every surface and on a row that is
    selected, with one quiet colour, and `chosen`, the style of such a row.

    Textual makes some by a share of the foreground, whatever that leaves; the makers of most themes looked at one
    surface.

    Args:
        variables: as `App.get_css_variables` has them. Those of a theme of the terminal's own colours stay as they are.
    """
    try:
        names = ("background", "surface", "panel", "foreground", "primary")
        background, surface, panel, foreground, primary = (Color.parse(variables[name]) for name in names)
    except (ColorParseError, KeyError):
        return {**variables, "chosen": "reverse"}
    if background.ansi is not None or foreground.ansi is not None:
        return {**variables, "chosen": "reverse"}
    chosen = (below.blend(primary, CHOSEN) for below in (background, surface))
    behind = (background, surface, panel, panel.blend(foreground, _FOCUSED), *chosen)
    quiet = readable(background.blend(foreground, _QUIET, 1.0), behind)
    words = {name: readable(Color.parse(variables[name]), behind).hex for name in _WORDS if _is_plain(variables, name)}
    return {
        **variables,
        **words,
        **dict.fromkeys(("foreground-muted", "foreground-disabled", "text-muted", "text-disabled"), quiet.hex),
        "block-cursor-blurred-background": primary.with_alpha(CHOSEN).hex,
        "chosen": f"on {primary.with_alpha(CHOSEN).hex}",
    }


def _is_plain(variables: Mapping[str, str], name: str) -> bool:
    """Whether it is a colour, and not a share of one."""
    try:
        return Color.parse(variables.get(name, "")).a == 1
    except ColorParseError:
        return False


STATUS_SIGNS: dict[str, tuple[str, str]] = {
    "starting": ("◌", "$foreground-muted"),
    "thinking": ("●", "$primary"),
    "tool": ("●", "$secondary"),
    "waiting": ("◆", "$warning"),
    "idle": ("○", "$foreground-muted"),
    "quiet": ("◌", "$foreground-muted"),
    "done": ("✓", "$success"),
    "failed": ("✗", "$error"),
    "lost": ("?", "$error"),
}
"""Status → its sign and colour. The word is always shown too: colour is never the only sign."""


_COLOURS = (
    *("primary", "secondary", "accent", "foreground", "background", "surface", "panel"),
    *("warning", "error", "success"),
)
_LARGEST = 64 * 1024


class ThemeFiles(msgspec.Struct, frozen=True):
    """The themes that were read, and what is wrong with other files, a sentence each."""

    themes: list[Theme] = msgspec.field(default_factory=list[Theme])
    problems: list[str] = msgspec.field(default_factory=list[str])


def read_themes(folder: Path, known: Mapping[str, Theme]) -> ThemeFiles:
    """The themes of this folder. Blocks. `known`: the themes that a file may begin with; none of them is replaced."""
    found = ThemeFiles()
    try:
        files = sorted(folder.glob("*.toml"))
    except OSError:
        return found
    for file in files:
        try:
            if file.stem in known:
                raise ValueError("a built-in theme has this name; rename the file")
            with file.open("rb") as opened:
                text = opened.read(_LARGEST + 1)
            if len(text) > _LARGEST:
                raise ValueError("it is too large")
            found.themes.append(_theme(file.stem, tomllib.loads(text.decode("utf-8")), known))
        except (OSError, ValueError) as error:  # a TOMLDecodeError and a UnicodeDecodeError are ValueErrors
            why = error.strerror if isinstance(error, OSError) else str(error)
            found.problems.append(f"The theme {file.name} is not used: {why}.")
    return found


def _theme(name: str, given: Mapping[str, Any], known: Mapping[str, Theme]) -> Theme:
    base = known.get(str(given.get("base", "gsh-dark")))
    if base is None:
        raise ValueError(f"there is no theme {given['base']!r} to begin with")
    variables: Any = given.get("variables", {})
    if not is_object(variables):
        raise ValueError("[variables] is not a table")
    unknown = sorted(set(given) - {"base", "dark", "variables", *_COLOURS})
    if unknown:
        raise ValueError(f"{unknown[0]} is unknown; it may have base, dark, [variables], {', '.join(_COLOURS)}")
    colours = {key: str(given.get(key) or getattr(base, key) or "") or None for key in _COLOURS}
    for key, colour in colours.items():
        try:
            if colour is not None:
                Color.parse(colour)
        except ColorParseError:
            raise ValueError(f"{key} = {colour!r} is not a colour; use one such as #6fd3b8") from None
    return Theme(
        name=name,
        dark=bool(given.get("dark", base.dark)),
        ansi=base.ansi,
        luminosity_spread=base.luminosity_spread,
        variables={**base.variables, **{key: str(value) for key, value in variables.items()}},
        **{key: colour for key, colour in colours.items() if colour is not None},  # pyright: ignore[reportArgumentType]
    )
