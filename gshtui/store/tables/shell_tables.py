"""The tables of the shell log together: notes between commands, and rows by number.

Queries a span of rows among a million; the SQL of commands is in `command_history`.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Filter, Row, Span
from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.table import ReadThread, Table, WriteQueue
from gshtui.store.tables import command_history, output_table
from gshtui.store.tables.command_history import HistoryQuery, count_commands, ids_of, sound

if TYPE_CHECKING:
    from gshtui.store.tables.output_table import OutputTable

NOTE_COLUMNS = "id, kind, text, at, shell, cwd"
_SHELLS_KEPT = 1_000


def add_note(connection: sqlite3.Connection, note: ShellNote, seq: int = 0) -> ShellNote | None:
    """Keep a note; return it with its id, or `None` if this line of its shell was kept before. `seq`: the line's number
    in its shell's life; 0: it does not come from a shell.
    """
    row = connection.execute(
        "INSERT INTO shell_notes (kind, text, at, shell, cwd, seq) VALUES (?, ?, ?, ?, ?, ?)"
        f" ON CONFLICT DO NOTHING RETURNING {NOTE_COLUMNS}",
        (note.kind, clean_text(note.text), sound(note.at), clean_text(note.shell), clean_text(note.cwd), seq),
    ).fetchone()
    return None if row is None else note_of(row)


def add_note_once(connection: sqlite3.Connection, note: ShellNote, seconds: float) -> None:
    """Keep a note, unless the same one was kept within so many seconds; one that repeats the newest row renews it."""
    what = (note.kind, clean_text(note.text), clean_text(note.cwd))
    newest = connection.execute(
        "SELECT id, at, kind, text, cwd FROM shell_notes WHERE at >= (SELECT coalesce(max(id), 0) / 1e6 FROM history)"
        " ORDER BY at DESC, id DESC LIMIT 1"
    ).fetchone()
    if newest is not None and newest[2:] == what:
        connection.execute("UPDATE shell_notes SET at = ? WHERE id = ?", (max(newest[1], sound(note.at)), newest[0]))
        return
    same = connection.execute(
        "SELECT 1 FROM shell_notes WHERE at >= ? AND kind = ? AND text = ? AND cwd = ?",
        (sound(note.at) - seconds, *what),
    ).fetchone()
    if same is None:
        add_note(connection, note)


def list_notes(
    connection: sqlite3.Connection,
    *,
    after: float | None,
    before: float | None,
    shell: str,
    kind: str,
    limit: int,
) -> list[ShellNote]:
    """The newest matching notes, newest first."""
    conditions = {"at >= ?": after, "at < ?": before, "shell = ?": shell or None, "kind = ?": kind or None}
    given = {text: value for text, value in conditions.items() if value is not None}
    where = " AND ".join(given) or "1"
    found = connection.execute(
        f"SELECT {NOTE_COLUMNS} FROM shell_notes WHERE {where} ORDER BY at DESC, id DESC LIMIT ?",
        (*given.values(), limit),
    )
    return [note_of(row) for row in found.fetchall()]


def trim_notes(connection: sqlite3.Connection, most: int) -> None:
    """Delete the oldest above `most`."""
    connection.execute(
        "DELETE FROM shell_notes WHERE id <= (SELECT id FROM shell_notes ORDER BY id DESC LIMIT 1 OFFSET ?)", (most,)
    )


def set_shell(connection: sqlite3.Connection, shell: str, data: str, at: float) -> None:
    """Remember what a running shell reported about itself (JSON), for the next hub."""
    connection.execute(
        "INSERT INTO shells (shell, data, at) VALUES (?, ?, ?)"
        " ON CONFLICT (shell) DO UPDATE SET data = excluded.data, at = excluded.at",
        (clean_text(shell), data, at),
    )
    connection.execute(
        "DELETE FROM shells WHERE at < (SELECT at FROM shells ORDER BY at DESC LIMIT 1 OFFSET ?)"
        " AND shell NOT IN (SELECT shell FROM history WHERE state = 'running')",
        (_SHELLS_KEPT,),
    )


def list_shells(connection: sqlite3.Connection) -> dict[str, str]:
    """What shells that may still be running reported about themselves, by their ids."""
    return {str(shell): str(data) for shell, data in connection.execute("SELECT shell, data FROM shells")}


def forget_shell(connection: sqlite3.Connection, shell: str) -> None:
    """The shell is gone: close everything that it ran."""
    connection.execute("DELETE FROM shells WHERE shell = ?", (shell,))


def note_of(row: tuple[Any, ...]) -> ShellNote:
    """The note of a row read as `NOTE_COLUMNS`."""
    id, kind, text, at, shell, cwd = row
    return ShellNote(kind=kind, text=str(text), at=float(at), shell=str(shell), cwd=str(cwd), id=int(id))


_MOST_VALUES = 500


def rows_span(connection: sqlite3.Connection, wanted: Filter, start: int, limit: int) -> Span:
    """`limit` rows from the number `start` on, oldest first.

    Args:
        wanted: which rows count.
        start: below 0: the newest rows, from a multiple of `limit` on, at least `limit` if there are that many.
        limit: rows.
    """
    commands = HistoryQuery(query=wanted.text, cwd=wanted.cwd, failed=wanted.failed, shell=wanted.shell)
    notes, values = _notes(wanted)
    total = count_commands(connection, commands)
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
            table, columns = ("shell_notes", NOTE_COLUMNS) if kind else ("history", command_history.ALL)
            found = connection.execute(f"SELECT {columns} FROM {table} WHERE id IN ({listed})", some).fetchall()
            for row in found:
                made = note_of(row) if kind else command_history.record_of(row)
                rows[kind, made.id] = made
    return rows


class ShellTables(Table):
    """`store.shells`: commands of shells, notes between them, and the shells themselves."""

    def __init__(self, thread: ReadThread, writer: WriteQueue, outputs: OutputTable) -> None:
        super().__init__(thread, writer)
        self._outputs = outputs

    async def put_record(self, record: ShellRecord) -> ShellRecord:
        """Keep a command, or merge what is new about it (the same shell and number); return all that is known."""
        return (await self.add_all([record]))[0][0]

    async def add_all(
        self, records: Sequence[ShellRecord], notes: Sequence[tuple[ShellNote, int]] = ()
    ) -> tuple[list[ShellRecord], list[ShellNote | None]]:
        """Keep commands and notes in one transaction; gives them as they are now, `None` for a note kept before.
        `notes`: each with the number of its shell's line, 0 for none.
        """

        def work(connection: sqlite3.Connection) -> tuple[list[ShellRecord], list[ShellNote | None]]:
            kept = command_history.keep_records(connection, records)
            return kept, [add_note(connection, note, seq) for note, seq in notes]

        return await self._write(work)

    find_all = Table.reads(command_history.find_commands)
    find_printed = Table.reads(command_history.find_printed)
    count = Table.reads(command_history.count_commands)
    rows = Table.reads(rows_span)
    runs_with_prefix = Table.reads(command_history.runs_with_prefix)
    running = Table.reads(command_history.running)

    async def close_lost(self, shells: Collection[str]) -> list[ShellRecord]:
        """Close, as `lost`, what still counts as running in shells that are gone."""

        def work(connection: sqlite3.Connection) -> list[ShellRecord]:
            closed = command_history.close_lost(connection, shells)
            for shell in shells:
                forget_shell(connection, shell)
            return closed

        return await self._write(work)

    async def output(self, key: str) -> str:
        """A command's output. Raises `StoreError` (`unknown`, `corrupt`)."""
        return await self._outputs.get(key)

    async def put_output(self, shell: str, number: int, text: str) -> ShellRecord | None:
        """Keep a command's output; return its row, or `None` if there is none (any more)."""
        kept = await asyncio.to_thread(output_table.prepared, text)
        lines = text.count("\n") + bool(text and not text.endswith("\n"))
        return await self._write(lambda connection: command_history.put_output(connection, shell, number, kept, lines))

    import_records = Table.writes(command_history.add_new)

    async def trim(self, most: int) -> int:
        """One small step towards holding `most` commands and notes; return how many commands went, 0 at the end."""

        def work(connection: sqlite3.Connection) -> int:
            trim_notes(connection, most)
            return command_history.trim(connection, most)

        return await self._write(work)

    async def notes(
        self,
        *,
        after: float | None = None,
        before: float | None = None,
        shell: str = "",
        kind: str = "",
        limit: int = 50,
    ) -> list[ShellNote]:
        """The newest matching notes, newest first. Times in seconds since the epoch."""
        wanted = partial(list_notes, after=after, before=before, shell=shell, kind=kind, limit=limit)
        return await self._read(wanted)

    add_note_once = Table.writes(add_note_once)
    put_shell = Table.writes(set_shell)
    known_shells = Table.reads(list_shells)
