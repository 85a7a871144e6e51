"""The rows of every list: name, description, state and key, each in a column of its own.

Pure. Names start at the left, states and keys end at the right, and the description has what is left between them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from rich.cells import cell_len
from textual.content import Content

from gshtui.ui.kit.widgets.fitted_text import fit

NAMES = 36
"""The most cells that names take where something follows them."""
_LEAST = 8
"""Cells below which a description is left out."""


class ListRow(msgspec.Struct, frozen=True):
    """One row. All texts are shown as they are, never as markup."""

    name: str
    detail: str = ""
    """What it is for."""
    state: str = ""
    """What is so now, in few words."""
    key: str = ""
    """The key that does the same from elsewhere."""
    mark: str = "  "
    """Two cells before the name."""
    marked: frozenset[int] = frozenset()
    """Indices of the name's letters that were searched for."""


def list_lines(rows: Sequence[ListRow], room: int, names: int = 0, most: int = NAMES) -> list[Content]:
    """The rows as lines of `room` cells.

    Args:
        names: the least cells of the column of names.
        most: the most of it, where something follows them.
    """
    follows = any(row.detail or row.state or row.key for row in rows)
    most = min(most, max(_LEAST, room // 2)) if follows else room
    name_width = min(most, max((cell_len(row.name) for row in rows), default=0))
    name_width = max(name_width, min(names, most))
    state_width = min(max((cell_len(row.state) for row in rows), default=0), max(room // 4, 12))
    key_width = max((cell_len(row.key) for row in rows), default=0)
    return [_line(row, room, name_width, state_width, key_width) for row in rows]


def _line(row: ListRow, room: int, name_width: int, state_width: int, key_width: int) -> Content:
    name = fit(row.name, name_width)
    pieces = [(letter, "bold $primary") if at in row.marked else (letter, "bold") for at, letter in enumerate(name)]
    right = [(width, text) for width, text in ((state_width, row.state), (key_width, row.key)) if width]
    taken = cell_len(row.mark) + name_width + sum(width + 2 for width, _ in right)
    width = room - taken - 2
    detail = fit(row.detail, width) if width >= _LEAST else ""
    parts: list[Content | str | tuple[str, str]] = [(row.mark, "$primary"), *pieces]
    if not detail and not any(text for _, text in right):
        return Content.assemble(*parts)
    parts.append(" " * (name_width - cell_len(name) + 2))
    parts.append((detail, "$foreground-muted"))
    parts.append(" " * max(0, width - cell_len(detail)))
    for at, (column, text) in enumerate(right):
        cell = fit(text, column)
        style = "bold $footer-key-foreground" if at == len(right) - 1 and key_width else "$foreground-muted"
        parts += [" " * (column - cell_len(cell) + 2), (cell, style)]
    return Content.assemble(*parts).truncate(room, ellipsis=True)
