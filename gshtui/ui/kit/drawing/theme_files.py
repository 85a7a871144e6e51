"""A person's own themes: one TOML file each in the folder `themes` of the configuration, named after the file.

Colours are hex, names or the terminal's own (`ansi_cyan`); what a file leaves out is that of the theme it begins with.
A file that cannot be used is left out, and why is said.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import Theme

from gshtui.system.json_types import is_object

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
