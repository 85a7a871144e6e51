"""Finding commands in the history: by text, folder, exit status, time, shell and agent, newest first.

Owns the choice of the index that answers fast among a million rows; refuses no query, whatever characters it holds.
Called by `ShellHistory`.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple

import msgspec

from gshtui.bus.shell import ShellRecord
from gshtui.store.history import ALL, count, record_of, sound
from gshtui.store.plain import clean_text

MOST = 10_000
"""Rows of one answer."""
_SHORTEST = 3
"""Letters of a word from which the index of letters answers; shorter ones are looked for row by row."""
_FOLDERS = 64
"""Folders below one that are looked through one by one; with more, all rows are, newest first."""
_COLUMNS = ", ".join(f"h.{name.strip()}" for name in ALL.split(","))


class Wanted(msgspec.Struct, frozen=True):
    """What a row has to be. Empty fields ask for nothing."""

    query: str = ""
    """Words, each of which occurs somewhere in the command, in capitals or not."""
    cwd: str = ""
    """It ran in this folder or one below."""
    exit: int | None = None
    failed: bool = False
    """It ended with another status than 0."""
    after: float | None = None
    """Seconds since the epoch."""
    before: float | None = None
    shell: str = ""
    agent: str | None = None
    """Name of the agent that ran it; empty text: a person did."""
    branch: str = ""
    state: str = ""
    source: str = ""
    before_id: int | None = None
    after_id: int | None = None


EVERYTHING = Wanted()


class _Where(NamedTuple):
    """Conditions on `history h`, joined by AND, and their values."""

    conditions: list[str]
    values: list[Any]

    @property
    def text(self) -> str:
        return " AND ".join(self.conditions) or "1"


def find(connection: sqlite3.Connection, wanted: Wanted, limit: int, *, oldest: bool = False) -> list[ShellRecord]:
    """The newest `limit` rows that fit, newest first; with `oldest`, the oldest ones, oldest first."""
    order, limit = "ASC" if oldest else "DESC", min(max(limit, 0), MOST)
    long, where = _conditions(wanted)
    cwd = clean_text(wanted.cwd).rstrip("/")
    if long:
        _below(where, cwd)
        sql = (
            f"SELECT {_COLUMNS} FROM history_fts f CROSS JOIN history h ON h.id = f.rowid"
            f" WHERE f.history_fts MATCH ? AND {where.text.replace('h.id', 'f.rowid')}"
            f" ORDER BY f.rowid {order} LIMIT ?"
        )
        return _rows(connection, sql, [_phrase(long), *where.values, limit])
    if cwd and len(folders := _folders(connection, cwd)) <= _FOLDERS:
        part = f"SELECT * FROM (SELECT {_COLUMNS} FROM history h WHERE h.cwd = ? AND {where.text}"
        part += f" ORDER BY h.id {order} LIMIT ?)"
        if not folders:
            return []
        sql = f"{' UNION ALL '.join([part] * len(folders))} ORDER BY id {order} LIMIT ?"
        values = [value for folder in folders for value in (folder, *where.values, limit)]
        return _rows(connection, sql, [*values, limit])
    _below(where, cwd)
    sql = f"SELECT {_COLUMNS} FROM history h WHERE {where.text} ORDER BY h.id {order} LIMIT ?"
    return _rows(connection, sql, [*where.values, limit])


def number_of(connection: sqlite3.Connection, wanted: Wanted) -> int:
    """How many rows fit."""
    if wanted == EVERYTHING:
        return count(connection)
    sql, values = ids_of(wanted)
    return int(connection.execute(f"SELECT count(*) FROM ({sql})", values).fetchone()[0])


def ids_of(wanted: Wanted) -> tuple[str, list[Any]]:
    """A query for the ids of the rows that fit, as `id`, in no order; and its values."""
    long, where = _conditions(wanted)
    _below(where, clean_text(wanted.cwd).rstrip("/"))
    if long:
        source = "history_fts f CROSS JOIN history h ON h.id = f.rowid"
        sql = f"SELECT h.id AS id FROM {source} WHERE f.history_fts MATCH ? AND {where.text}"
        return sql, [_phrase(long), *where.values]
    return f"SELECT h.id AS id FROM history h WHERE {where.text}", where.values


def at_place(connection: sqlite3.Connection, start: int, limit: int) -> list[ShellRecord]:
    """Rows by their place, counted from 0 at the oldest: what a scrolled window shows."""
    first = connection.execute("SELECT id FROM history ORDER BY id LIMIT 1 OFFSET ?", (max(start, 0),)).fetchone()
    if first is None:
        return []
    return find(connection, Wanted(after_id=int(first[0]) - 1), limit, oldest=True)


def _rows(connection: sqlite3.Connection, sql: str, values: list[Any]) -> list[ShellRecord]:
    return [record_of(row) for row in connection.execute(sql, values).fetchall()]


def _conditions(wanted: Wanted) -> tuple[list[str], _Where]:
    """The words for the index, and everything else but the folder."""
    words = clean_text(wanted.query).replace("\0", " ").split()
    where = _Where([], [])
    for word in words:
        if len(word) < _SHORTEST:
            where.conditions.append("(instr(lower(h.command), ?) OR instr(lower(h.expanded), ?))")
            where.values.extend([word.lower()] * 2)
    if wanted.failed:
        where.conditions.append("h.exit <> 0")
    plain = {"shell": wanted.shell, "branch": wanted.branch, "state": wanted.state, "source": wanted.source}
    for name, value in plain.items():
        if value:
            where.conditions.append(f"h.{name} = ?")
            where.values.append(clean_text(value))
    if wanted.exit is not None:
        where.conditions.append("h.exit = ?" if wanted.exit == 0 else "h.exit = ? AND h.exit <> 0")
        where.values.append(wanted.exit)
    if wanted.agent is not None:
        where.conditions.append("h.agent = ?")
        where.values.append(clean_text(wanted.agent))
    bounds = (
        ("h.id >= ?", None if wanted.after is None else int(sound(wanted.after) * 1e6)),
        ("h.id < ?", None if wanted.before is None else int(sound(wanted.before) * 1e6)),
        ("h.id < ?", wanted.before_id),
        ("h.id > ?", wanted.after_id),
    )
    for condition, value in bounds:
        if value is not None:
            where.conditions.append(condition)
            where.values.append(value)
    return [word for word in words if len(word) >= _SHORTEST], where


def _below(where: _Where, cwd: str) -> None:
    """Add the folder, in a form that leaves the order of the rows to another index."""
    if cwd:
        where.conditions.append("(+h.cwd = ? OR (+h.cwd > ? AND +h.cwd < ?))")
        where.values.extend([cwd, f"{cwd}/", f"{cwd}0"])


def _folders(connection: sqlite3.Connection, cwd: str) -> list[str]:
    """The folders of the history that are this one or below, one more than `_FOLDERS` at most."""
    found = connection.execute(
        "WITH RECURSIVE below (name) AS ("
        " SELECT min(cwd) FROM history WHERE cwd > ?1 AND cwd < ?2"
        " UNION ALL SELECT (SELECT min(cwd) FROM history WHERE cwd > below.name AND cwd < ?2) FROM below"
        " WHERE below.name IS NOT NULL LIMIT ?3)"
        " SELECT name FROM below WHERE name IS NOT NULL",
        (f"{cwd}/", f"{cwd}0", _FOLDERS + 1),
    )
    return [cwd, *(str(row[0]) for row in found.fetchall())]


def _phrase(words: list[str]) -> str:
    """The words for FTS5, each quoted, so that nothing in them is syntax."""
    return " ".join('"' + word.replace('"', '""') + '"' for word in words)
