"""Where the styles are: beside the package in a checkout, inside it in an installed wheel.

Owns the list of style sheets; Textual reads them. Called when the app class is defined.
"""

from __future__ import annotations

from pathlib import Path


def style_paths() -> list[Path]:
    """The workbench's style sheets in the order they apply: by name, the frame's own last."""
    package = Path(__file__).parents[2]
    shipped = package / "styles"
    folder = shipped if shipped.is_dir() else package.parent / "styles"
    return sorted(folder.glob("*.tcss"))
