"""Rows of a damaged database that no table leads to any more: its list of tables is lost, or a page in between.

Owns the search for trees of pages without a parent, and telling by its rows which table a tree belongs to; refuses to
touch any file but the copy that it is given. Called by `recovery`.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gshtui.store import salvage

_INTERIOR, _LEAF = 5, 13
"""First byte of a page of a table."""
_WIDEST = 32
"""Columns of the widest table that can be told."""
_AT_ONCE = 256
"""Pages that are read in one piece."""
_PATIENCE = 200
"""Damaged stretches of one tree after which the rest of it is given up: it may be noise all over."""
_COLUMNS = ["rowid", *(f"c{number}" for number in range(_WIDEST))]
_TYPES: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,)}


@dataclass(frozen=True, slots=True)
class Shape:
    """What a table's rows look like."""

    table: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    needed: tuple[bool, ...]
    key: int
    """Which column is the row's number and not stored; -1: none."""

    def fits(self, row: Sequence[Any]) -> dict[str, Any] | None:
        """The row's fields if it is one of this table. `row`: its number, then `_WIDEST` values."""
        values = list(row[1:])
        if any(value is not None for value in values[len(self.columns) :]):
            return None
        if self.key >= 0:
            if values[self.key] is not None:
                return None
            values[self.key] = row[0]
        fields = dict(zip(self.columns, values, strict=False))
        for value, kind, needed in zip(fields.values(), self.types, self.needed, strict=True):
            if needed if value is None else not isinstance(value, _TYPES[kind]):
                return None
        return fields


def shape_of(connection: sqlite3.Connection, table: str) -> Shape:
    """The shape of a table of a sound record."""
    info = connection.execute(f"PRAGMA table_info({table})").fetchall()
    keys = [at for at, (_, _, kind, _, _, key) in enumerate(info) if key and kind == "INTEGER"]
    return Shape(
        table,
        tuple(str(row[1]) for row in info),
        tuple(str(row[2]) for row in info),
        tuple(bool(row[3]) for row in info),
        keys[0] if len(keys) == 1 and sum(bool(row[5]) for row in info) == 1 else -1,
    )


def lost_rows(
    copy: Path, shapes: Sequence[Shape], known: frozenset[int]
) -> Iterator[tuple[Sequence[Shape], tuple[Any, ...]]]:
    """(tables that it may belong to, row) of every tree that has no parent and is not among the `known` roots.

    The copy is spoilt by this: its list of tables is replaced.
    """
    roots = [root for root in _orphans(copy) if root not in known]
    if not roots:
        return
    with contextlib.closing(_probe(copy)) as connection:
        for root in roots:
            if not _point_at(connection, root):
                continue
            for row in salvage.readable_rows(connection, "probe", _COLUMNS, patience=_PATIENCE):
                if likely := [shape for shape in shapes if shape.fits(row) is not None]:
                    yield likely, row


def _orphans(copy: Path) -> list[int]:
    """Numbers of the pages that begin a tree of rows: those to which no other page leads."""
    pages = copy.stat().st_size // salvage.PAGE
    found: list[int] = []
    children: set[int] = set()
    with copy.open("rb") as file:
        for first in range(1, pages + 1, _AT_ONCE):
            piece = file.read(_AT_ONCE * salvage.PAGE)
            for at in range(0, len(piece) - salvage.PAGE + 1, salvage.PAGE):
                number = first + at // salvage.PAGE
                head = at + (100 if number == 1 else 0)
                if piece[head] in (_INTERIOR, _LEAF) and number > 1:
                    found.append(number)
                if piece[head] == _INTERIOR:
                    children |= _children(piece[at : at + salvage.PAGE], head - at, number, pages)
    return [number for number in found if number not in children]


def _children(page: bytes, head: int, number: int, pages: int) -> set[int]:
    """The pages to which an inner page leads; none where it is not what it looks like."""
    (count,) = struct.unpack_from(">H", page, head + 3)
    if head + 12 + 2 * count > len(page):
        return set()
    places = struct.unpack_from(f">{count}H", page, head + 12)
    if any(place + 4 > len(page) for place in places):
        return set()
    leads = {struct.unpack_from(">I", page, place)[0] for place in places}
    leads.add(struct.unpack_from(">I", page, head + 8)[0])
    return leads if all(1 < child <= pages and child != number for child in leads) else set()


def _probe(copy: Path) -> sqlite3.Connection:
    """The copy with one table, that can be pointed at any tree."""
    template = copy.with_name("probe.db")
    template.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(template, isolation_level=None)) as made:
        made.execute(f"PRAGMA page_size = {salvage.PAGE}")
        made.execute(f"CREATE TABLE probe ({', '.join(_COLUMNS[1:])})")
    salvage.replace_first_page(copy, template)
    return salvage.connect(copy)


def _point_at(connection: sqlite3.Connection, root: int) -> bool:
    try:
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'probe'", (root,))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("PRAGMA writable_schema = ON")
    except sqlite3.Error:
        return False
    return True
