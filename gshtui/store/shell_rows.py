"""The rows of the shell log by their numbers: commands and notes together, in the order of their times.

Owns the query for a stretch of them among a million; refuses to change anything. Called by `ShellHistory`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from gshtui.bus.shell_rows import Filter, Row, Span
from gshtui.store import history, shell_notes
from gshtui.store.history_query import Wanted, ids_of, number_of
from gshtui.store.plain import clean_text

_MOST_VALUES = 500


def span(connection: sqlite3.Connection, wanted: Filter, start: int, limit: int) -> Span:
    """`limit` rows from the number `start` on, oldest first.

    Args:
        wanted: which rows count.
        start: below 0: the newest rows, from a multiple of `limit` on, at least `limit` if there are.
        limit: rows.
    """
    commands = Wanted(query=wanted.text, cwd=wanted.cwd, failed=wanted.failed, shell=wanted.shell)
    notes, values = _notes(wanted)
    total = number_of(connection, commands)
    total += int(connection.execute(f"SELECT count(*) FROM shell_notes WHERE {notes}", values).fetchone()[0])
    if start < 0:
        start = max(0, total - limit) // limit * limit
        limit = total - start
    limit = min(limit, total - start)
    if limit <= 0:
        return Span(start, total)
    sql, asked = ids_of(commands)
    query = (
        f"SELECT 0 AS kind, id AS number, id AS place FROM ({sql})"
        f" UNION ALL SELECT 1, id, CAST(at * 1000000 AS INTEGER) FROM shell_notes WHERE {notes}"
    )
    newest_first = start > total // 2
    order, skipped = ("DESC", total - start - limit) if newest_first else ("ASC", start)
    found = connection.execute(
        f"{query} ORDER BY place {order}, kind {order}, number {order} LIMIT ? OFFSET ?",
        (*asked, *values, limit, skipped),
    ).fetchall()
    places = [(int(kind), int(number)) for kind, number, _ in (found[::-1] if newest_first else found)]
    rows = _rows(connection, places)
    return Span(start, total, tuple(rows[place] for place in places))


def _notes(wanted: Filter) -> tuple[str, list[Any]]:
    """The condition on notes, and its values."""
    if wanted.failed:
        return "0", []
    conditions, values = ["1"], list[Any]()
    for word in clean_text(wanted.text).split():
        conditions.append("instr(lower(text), ?)")
        values.append(word.lower())
    if cwd := clean_text(wanted.cwd).rstrip("/"):
        conditions.append("(cwd = ? OR (cwd > ? AND cwd < ?))")
        values += [cwd, f"{cwd}/", f"{cwd}0"]
    if wanted.shell:
        conditions.append("shell = ?")
        values.append(clean_text(wanted.shell))
    return " AND ".join(conditions), values


def _rows(connection: sqlite3.Connection, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Row]:
    """The rows themselves, by kind and id."""
    rows: dict[tuple[int, int], Row] = {}
    for kind in (0, 1):
        ids = [number for of, number in places if of == kind]
        for at in range(0, len(ids), _MOST_VALUES):
            some = ids[at : at + _MOST_VALUES]
            listed = ", ".join("?" * len(some))
            table, columns = ("shell_notes", shell_notes.COLUMNS) if kind else ("history", history.ALL)
            found = connection.execute(f"SELECT {columns} FROM {table} WHERE id IN ({listed})", some).fetchall()
            for row in found:
                made = shell_notes.note_of(row) if kind else history.record_of(row)
                rows[kind, made.id] = made
    return rows
