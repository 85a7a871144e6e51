"""The settings files of other vendors' programs, as they document them: which ones a program reads, and their content.

Read only. What is missing, too large or malformed has no content, as for the program itself.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gshtui.settings.toml_file import load_toml
from gshtui.system.json_types import is_object, parse_foreign_json

_LARGEST = 4_000_000
"""Bytes of a file; a larger one is none."""
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*+"?)|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?')
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*+[\]}])')


def content_of(file: Path) -> Mapping[str, Any]:
    """Its table: TOML by its name, else JSON, which may have comments. Blocks for a moment."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
        text = raw.decode() if len(raw) <= _LARGEST else ""
        return load_toml(text) if file.suffix == ".toml" else json_of(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def json_of(text: str) -> Mapping[str, Any]:
    """The object in a text with comments; empty where it has none."""
    bare = _LAST_COMMA.sub(r"\1", _COMMENT.sub(r"\1", text))
    try:
        value = parse_foreign_json(bare)
    except ValueError:
        return {}
    return value if is_object(value) else {}


def value_at(table: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key; `None` where there is none."""
    found: object = table
    for name in key.split("."):
        found = found.get(name) if is_object(found) else None
    return found


def folders_above(folder: Path) -> Iterator[Path]:
    """A folder and those above it in its repository, the nearest first; outside of one, it alone."""
    above = [folder, *folder.parents]
    top = next((at for at, each in enumerate(above) if (each / ".git").exists()), 0)
    yield from above[: top + 1]
