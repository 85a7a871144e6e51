"""The rows of every list: name, description, state and key, or a list's own columns, each below its heading.

Pure. Names start at the left, states and keys end at the right, and the description has what is left between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec
from rich.cells import cell_len
from textual.content import Content

from gshtui.ui.kit.widgets.fitted_text import fit, fit_names

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
Style = TypeVar("Style", bound=str)
_GAP = 2
"""Cells between two columns."""
_LEAST = 8
"""Cells below which a description is left out, and a column that needs more."""


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
    columns: tuple[str, ...] = ()
    """In place of a description: facts, each below those of the other rows, as far as there is room."""
    lists: bool = False
    """`detail` is a list of names, of which none is cut."""


class TableColumn(msgspec.Struct, frozen=True):
    """A column of a list."""

    width: int
    """Its cells; 0: it is left out."""
    right: bool = False
    """Its texts end at its right side."""
    heading: str = ""


def column(heading: str, texts: Sequence[str], most: int = 0, *, right: bool = False) -> TableColumn:
    """A column as wide as its longest text and its heading; left out where all texts are empty. `most`: the most cells
    that it takes; 0: any.
    """
    widest = max(map(cell_len, texts), default=0)
    width = max(cell_len(heading), widest) if widest else 0
    return TableColumn(min(width, most) if most else width, right, heading)


def room_left(columns: Sequence[TableColumn], room: int) -> int:
    """The cells that these columns leave for one more."""
    return max(_LEAST, room - table_width(columns) - _GAP)


def table_width(columns: Sequence[TableColumn]) -> int:
    """The cells of a row."""
    return sum(column.width + _GAP for column in columns if column.width) - _GAP


def aligned(
    cells: Sequence[Sequence[tuple[str, Style]]], columns: Sequence[TableColumn], blank: Style
) -> list[tuple[str, Style]]:
    """A row: the styled texts of each cell, cut to its column. `blank`: the style of what is between them."""
    row: list[tuple[str, Style]] = []
    for cell, column in zip(cells, columns, strict=True):
        if not column.width:
            continue
        cut: list[tuple[str, Style]] = []
        left = column.width
        for text, style in cell:
            text = fit(text, left)
            left -= cell_len(text)
            cut.append((text, style))
        padding = [(" " * left, blank)] if left else []
        gap = [(" " * _GAP, blank)] if row else []
        row += [*gap, *padding, *cut] if column.right else [*gap, *cut, *padding]
    return row


def give_way(cells: Sequence[Sequence[tuple[str, Style]]], columns: Sequence[TableColumn]) -> list[TableColumn]:
    """The columns of one row: what would be cut in one has blanks of the others, those at its right first. Texts that
    begin at the left of their column begin no further left than in the other rows.
    """
    texts = [sum(cell_len(text) for text, _ in cell) for cell in cells]
    widths = [column.width for column in columns]
    for at, text in enumerate(texts):
        begins = next((one for one in range(at, 0, -1) if not columns[one].right), 0)
        for other in (*range(at + 1, len(widths)), *range(at - 1, begins - 1, -1)):
            given = min(text - widths[at], widths[other] - texts[other])
            if widths[at] and widths[other] and given > 0:
                widths[at] += given
                widths[other] -= given
    return [msgspec.structs.replace(column, width=width) for column, width in zip(columns, widths, strict=True)]


def heading_line(columns: Sequence[TableColumn]) -> Content:
    """The headings of these columns."""
    return Content.assemble(*aligned([[(one.heading, "$foreground-muted")] for one in columns], columns, ""))


class ListColumns(msgspec.Struct, frozen=True):
    """The cells of each column of a list of names; a column that no row fills has none."""

    room: int
    names: int
    between: tuple[int, ...]
    """Of the facts in place of a description."""
    states: int
    keys: int
    right: frozenset[int] = frozenset()
    """The facts that end at the right of their column."""

    def pieces(self, row: ListRow) -> list[tuple[str, Role]]:
        """A row from left to right: texts, and what each is; together at most `room` cells."""
        name = _name_pieces(fit(row.name, self.names), row.marked)
        ends = (self.states, self.keys)
        if not row.columns:  # the description has what its own row leaves
            ends = (min(self.states, cell_len(row.state)), self.keys if row.state else cell_len(row.key))
        right = [TableColumn(width, right=True) for width in ends]
        between = enumerate(self.between[: len(row.columns)])
        columns = [TableColumn(self.names), *(TableColumn(width, at in self.right) for at, width in between)]
        cells = [name, *(_cell(text, "detail") for text in row.columns)]
        if not row.columns:
            room = self.room - cell_len(row.mark) - sum(one.width + _GAP for one in [*columns, *right] if one.width)
            columns.append(TableColumn(max(0, room)))
            cells.append(_cell(row.detail if room >= _LEAST else "", "detail"))
        if not any((row.columns, cells[-1][0][0], row.state, row.key)):
            return [(row.mark, "mark"), *name]
        cells += [_cell(row.state, "state"), _cell(row.key, "key")]
        columns += right
        if row.lists:
            whole = cell_len(row.detail) <= give_way(cells, columns)[1].width
            cells[1] = _cell(row.detail if whole else fit_names(row.detail, columns[1].width), "detail")
        if not row.columns:
            columns = give_way(cells, columns)
        return [(row.mark, "mark"), *aligned(cells, columns, "detail")]


def _cell(text: str, role: Role) -> list[tuple[str, Role]]:
    return [(text, role)]


def _name_pieces(name: str, marked: frozenset[int]) -> list[tuple[str, Role]]:
    pieces: list[tuple[str, Role]] = []
    start = 0
    for at in range(1, len(name) + 1):
        if at == len(name) or (at in marked) != (start in marked):
            pieces.append((name[start:at], "match" if start in marked else "name"))
            start = at
    return pieces


def list_columns(
    rows: Sequence[ListRow],
    room: int,
    names: int = 0,
    most: int = NAMES,
    gives: Sequence[int] = (),
    right: Sequence[int] = (),
) -> ListColumns:
    """The columns of these rows in `room` cells.

    Args:
        names: the least cells of the column of names.
        most: the most of it, where something follows them.
        gives: the facts that are left out where not all have room, the first one first; a name rather than the others.
        right: the facts that end at the right of their column.
    """
    states = min(max((cell_len(row.state) for row in rows), default=0), max(room // 3, 12))
    keys = max((cell_len(row.key) for row in rows), default=0)
    count = max((len(row.columns) for row in rows), default=0)
    between = [max(cell_len(row.columns[at]) for row in rows if at < len(row.columns)) for at in range(count)]
    wanted = min(max((cell_len(row.name) for row in rows), default=0), most, NAMES)
    for at in gives:
        if 2 + wanted + sum(width + _GAP for width in (*between, states, keys) if width) > room:
            between[at] = 0
    if between or any(row.detail for row in rows):
        beside = 2 + sum(width + _GAP for width in (*between, states, keys) if width)
        least = 2 * _LEAST if gives else NAMES
        whole = max(least, room - beside) if between else most  # of the names, so that no fact is cut
        most = min(most, whole) if gives else min(most, whole, max(_LEAST, room // 2))
    else:
        marks = max((cell_len(row.mark) for row in rows), default=0)
        beside = sum(column + _GAP for column in (states, keys) if column)
        most = max(_LEAST, room - marks - beside - _GAP * bool(beside))
    widest = max(min(most, max((cell_len(row.name) for row in rows), default=0)), min(names, most))
    left = room - 2 - widest - sum(width + _GAP for width in (states, keys) if width)
    fitted = _fitted(between, left, spread=bool(states or keys))
    return ListColumns(room, widest, fitted, states, keys, frozenset(right))


def _fitted(widths: Sequence[int], room: int, *, spread: bool) -> tuple[int, ...]:
    """As many of these columns as there is room for, the last one cut to it, but not to less than can be read.
    `spread`: the last one takes all the room.
    """
    fitted: list[int] = []
    for width in widths:
        if room - _GAP < min(width, _LEAST):
            break
        fitted.append(min(width, room - _GAP))
        room -= (_GAP + fitted[-1]) * bool(width)
    if spread and any(fitted) and room > 0:
        fitted[max(at for at, width in enumerate(fitted) if width)] += room
    return (*fitted, *[0] * (len(widths) - len(fitted)))


def list_lines(
    rows: Sequence[ListRow],
    room: int,
    names: int = 0,
    most: int = NAMES,
    gives: Sequence[int] = (),
    right: Sequence[int] = (),
) -> list[Content]:
    """The rows as lines of `room` cells; the arguments are those of `list_columns`."""
    columns = list_columns(rows, room, names, most, gives, right)
    return [_line(row, columns) for row in rows]


def _line(row: ListRow, columns: ListColumns) -> Content:
    pieces = ((text, (row.colour if role == "mark" else "") or _STYLES[role]) for text, role in columns.pieces(row))
    return Content.assemble(*pieces).truncate(columns.room, ellipsis=True)
