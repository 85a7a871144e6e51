"""The rows of every list: name, description, state and key, each in a column of its own.

Pure. Names start at the left, states and keys end at the right, and the description has what is left between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from rich.cells import cell_len
from textual.content import Content

from gshtui.ui.kit.widgets.fitted_text import fit

NAMES = 36
"""The most cells that names take where something follows them."""
Role = Literal["mark", "name", "match", "detail", "state", "key"]
"""What a piece of a row is."""
_STYLES: dict[Role, str] = {
    "mark": "$primary",
    "name": "bold",
    "match": "bold $primary",
    "detail": "$foreground-muted",
    "state": "$foreground-muted",
    "key": "bold $footer-key-foreground",
}
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
    colour: str = ""
    """Of the mark; empty: as in all rows."""
    marked: frozenset[int] = frozenset()
    """Indices of the name's letters that were searched for."""


class ListColumns(msgspec.Struct, frozen=True):
    """The cells of each column of a list; a column that no row fills has none."""

    room: int
    names: int
    states: int
    keys: int

    def pieces(self, row: ListRow) -> list[tuple[str, Role]]:
        """A row from left to right: texts, and what each is; together at most `room` cells."""
        name = fit(row.name, self.names)
        pieces: list[tuple[str, Role]] = [(row.mark, "mark")]
        start = 0
        for at in range(1, len(name) + 1):
            if at == len(name) or (at in row.marked) != (start in row.marked):
                pieces.append((name[start:at], "match" if start in row.marked else "name"))
                start = at
        right: list[tuple[int, str, Role]] = [(self.states, row.state, "state"), (self.keys, row.key, "key")]
        right = [column for column in right if column[0]]
        width = self.room - cell_len(row.mark) - self.names - sum(column[0] + 2 for column in right) - 2
        detail = fit(row.detail, width) if width >= _LEAST else ""
        if not detail and not any(text for _, text, _ in right):
            return pieces
        pieces.append((" " * (self.names - cell_len(name) + 2), "name"))
        pieces.append((detail + " " * max(0, width - cell_len(detail)), "detail"))
        for column, text, role in right:
            cell = fit(text, column)
            pieces.append((" " * (column - cell_len(cell) + 2) + cell, role))
        return pieces


def list_columns(rows: Sequence[ListRow], room: int, names: int = 0, most: int = NAMES) -> ListColumns:
    """The columns of these rows in `room` cells.

    Args:
        names: the least cells of the column of names.
        most: the most of it, where something follows them.
    """
    states = min(max((cell_len(row.state) for row in rows), default=0), max(room // 3, 12))
    keys = max((cell_len(row.key) for row in rows), default=0)
    if any(row.detail for row in rows):
        most = min(most, max(_LEAST, room // 2))
    else:
        marks = max((cell_len(row.mark) for row in rows), default=0)
        right = sum(column + 2 for column in (states, keys) if column)
        most = max(_LEAST, room - marks - right - 2 * bool(right))
    widest = min(most, max((cell_len(row.name) for row in rows), default=0))
    return ListColumns(room, max(widest, min(names, most)), states, keys)


def list_lines(rows: Sequence[ListRow], room: int, names: int = 0, most: int = NAMES) -> list[Content]:
    """The rows as lines of `room` cells; the arguments are those of `list_columns`."""
    columns = list_columns(rows, room, names, most)
    return [_line(row, columns) for row in rows]


def _line(row: ListRow, columns: ListColumns) -> Content:
    pieces = ((text, (row.colour if role == "mark" else "") or _STYLES[role]) for text, role in columns.pieces(row))
    return Content.assemble(*pieces).truncate(columns.room, ellipsis=True)
