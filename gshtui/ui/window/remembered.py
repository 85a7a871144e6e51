"""What the window remembers between runs: layout and theme, one small JSON file in the state folder, per user.

Owns that file: written whole or not at all; a broken one counts as none. Refuses anything of a conversation. Called by
the app; `first_frame` reads the same file for the simple frame.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from gshtui.settings.paths import state_dir
from gshtui.system import private_files
from gshtui.ui.kit.layout import PANES, RIGHT, Layout

NAME = "workbench.json"
MOST = 64 * 1024
"""Bytes; a larger file is not ours."""


class Remembered(msgspec.Struct, frozen=True):
    """Layout and theme as they were left."""

    layout: Layout = msgspec.field(default_factory=Layout)
    theme: str = ""
    """The theme that was chosen in the window; empty: none was."""
    configured: str = ""
    """The theme of the settings when that was chosen: where the settings say another one since, they win."""

    def theme_for(self, configured: str) -> str:
        """The theme to show, given the settings' one."""
        return self.theme if self.theme and self.configured == configured else configured

    def with_theme(self, theme: str, configured: str) -> Remembered:
        """With this theme chosen while the settings say `configured`."""
        return replace(self, theme=theme, configured=configured)


def load(folder: Path | None = None) -> Remembered:
    """What the file says; defaults for all that is missing or makes no sense."""
    try:
        path = (folder or state_dir(create=False)) / NAME
        if path.stat().st_size > MOST:
            return Remembered()
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return Remembered()
    if not isinstance(found, dict):
        return Remembered()
    fields = cast("dict[str, Any]", found)
    layout = fields.get("layout")
    return Remembered(
        layout=_layout(cast("dict[str, Any]", layout)) if isinstance(layout, dict) else Layout(),
        theme=_text(fields.get("theme")),
        configured=_text(fields.get("configured")),
    )


def save(remembered: Remembered, folder: Path | None = None) -> None:
    """Write the file, whole or not at all.

    Raises:
        OSError: it cannot be written.
    """
    folder = folder or state_dir()
    layout = remembered.layout
    fields = {
        "theme": remembered.theme,
        "configured": remembered.configured,
        "layout": {
            "left": layout.left,
            "right": layout.right,
            "hidden": sorted(layout.hidden),
            "weights": layout.weights,
        },
    }
    private_files.write_whole(folder / NAME, json.dumps(fields, indent=1).encode())


def _layout(fields: dict[str, Any]) -> Layout:
    hidden = fields.get("hidden")
    weights = fields.get("weights")
    fitting = Layout().weights | {
        name: weight
        for name, weight in (cast("dict[str, Any]", weights) if isinstance(weights, dict) else {}).items()
        if name in RIGHT and type(weight) is int and 0 < weight < 1_000
    }
    return Layout(
        left=_columns(fields.get("left")),
        right=_columns(fields.get("right")),
        hidden=frozenset(name for name in cast("list[Any]", hidden) if name in PANES)
        if isinstance(hidden, list)
        else frozenset(),
        weights=fitting,
    )


def _columns(value: object) -> int:
    return value if type(value) is int and 0 <= value <= 1_000 else 0


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 100 else ""
