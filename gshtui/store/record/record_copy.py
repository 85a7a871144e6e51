"""Copies what a damaged record still holds into a new one, and repairs references to lost rows.

Decides which rows are intact: every row that is still readable counts, including those that no table leads to any more.
Repairs the copy's first page; never touches the damaged file.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.store.engine import encoding, migrations
from gshtui.store.engine.record_files import with_companions
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables import (
    agent_table,
    call_table,
    context_tables,
    mail_table,
    message_table,
    output_table,
    sent_texts,
)

PAGE = 4096
_LARGEST = 2**62


def open_copy(copy: Path, template: Path) -> sqlite3.Connection:
    """A connection to a copy of a damaged file that we may change, with its tables visible.

    Args:
        copy: the damaged file's copy.
        template: an intact, empty record; its first page (header and list of tables) replaces a lost one.

    Raises:
        sqlite3.Error: no table is visible even so.
    """
    connection = connect(copy)
    try:
        _tables(connection)
        return connection
    except sqlite3.Error:
        connection.close()
    replace_first_page(copy, template)
    connection = connect(copy)
    try:
        _tables(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """Names of the table's columns; none if there is no such table."""
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


def readable_rows(
    connection: sqlite3.Connection, table: str, columns: list[str], *, patience: int = 10_000
) -> Iterator[tuple[Any, ...]]:
    """The readable rows, in order of row id; `patience` damaged spans are skipped."""
    select = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid >= ? ORDER BY rowid"
    start, barren = -1, 0
    for _ in range(patience):
        if start is None:
            return
        last = start - 1
        try:
            for row in connection.execute(select, (start,)):
                if int(row[0]) > last:  # a damaged page may lead back, which would never end
                    last, barren = int(row[0]), 0
                    yield row[1:]
            return
        except sqlite3.Error:
            # If that gains nothing, take larger and larger steps: row ids may be far apart.
            start = _after_damage(connection, select + " LIMIT 1", last + (1 << barren))
            barren += 1


def _after_damage(connection: sqlite3.Connection, probe: str, damaged: int) -> int | None:
    """The smallest row id found from which reading continues; `None` if nothing after the damage is readable."""
    step = 1
    while not _reads(connection, probe, damaged + step):
        step *= 2
        if step > _LARGEST:
            return None
    low, high = damaged + step // 2, damaged + step
    while high - low > 1:
        middle = (low + high) // 2
        if _reads(connection, probe, middle):
            high = middle
        else:
            low = middle
    return high


def _reads(connection: sqlite3.Connection, probe: str, rowid: int) -> bool:
    """Whether the row after this position, if any, is readable and in its place."""
    try:
        found = connection.execute(probe, (rowid,)).fetchall()
    except sqlite3.Error:
        return False
    return not found or int(found[0][0]) >= rowid


def connect(copy: Path) -> sqlite3.Connection:
    """A connection that ignores whatever faults can be ignored in the file and its list of tables."""
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.text_factory = _lenient
    connection.execute("PRAGMA writable_schema = ON")  # also reads a faulty schema, and a truncated file
    return connection


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _tables(connection: sqlite3.Connection) -> None:
    if not connection.execute("SELECT name FROM sqlite_master WHERE name = 'sessions'").fetchall():
        raise sqlite3.DatabaseError("no table can be seen")


def emptied_log(copy: Path, template: Path) -> None:
    """Write the copy's log into the copy itself, as far as SQLite accepts it."""
    for attempt in (1, 2):
        try:
            with contextlib.closing(connect(copy)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            break
        except sqlite3.Error:
            if attempt == 1:
                replace_first_page(copy, template)
    for log in with_companions(copy)[1:]:
        log.unlink(missing_ok=True)


def roots_of(connection: sqlite3.Connection) -> frozenset[int]:
    """The pages at which the visible tables begin."""
    return frozenset(int(row[0]) for row in connection.execute("SELECT rootpage FROM sqlite_master WHERE rootpage"))


def replace_first_page(copy: Path, template: Path) -> None:
    """Replace the copy's list of tables with an intact one. The copy must have no log, or SQLite would use that."""
    page = bytearray(template.read_bytes()[:PAGE])
    with copy.open("r+b") as file:
        pages = -(-os.fstat(file.fileno()).st_size // PAGE)
        page[28:32] = pages.to_bytes(4, "big")
        page[32:40] = bytes(8)  # no list of free pages: nothing is written here any more
        page[92:96] = page[24:28]  # make SQLite trust the number of pages
        file.write(page)
        file.truncate(max(pages, 1) * PAGE)


_INTERIOR, _LEAF = 5, 13
"""First byte of a page of a table."""
_WIDEST = 32
"""Columns of the widest table that can be recognised."""
_AT_ONCE = 256
"""Pages read at once."""
_PATIENCE = 200
"""Damaged spans of one tree after which the rest is given up: it may all be noise."""
_COLUMNS = ["rowid", *(f"c{number}" for number in range(_WIDEST))]
_TYPES: dict[str, tuple[type, ...]] = {"TEXT": (str,), "INTEGER": (int,), "REAL": (float, int), "BLOB": (bytes,)}


class TableShape(msgspec.Struct, frozen=True):
    """What a table's rows look like."""

    table: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    needed: tuple[bool, ...]
    key: int
    """Which column is the row id and not stored; -1: none."""

    def fits(self, row: Sequence[Any]) -> dict[str, Any] | None:
        """The row's fields if it belongs to this table. `row`: its id, then `_WIDEST` values."""
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


def shape_of(connection: sqlite3.Connection, table: str) -> TableShape:
    """The shape of a table of an intact record."""
    info = connection.execute(f"PRAGMA table_info({table})").fetchall()
    keys = [at for at, (_, _, kind, _, _, key) in enumerate(info) if key and kind == "INTEGER"]
    return TableShape(
        table,
        tuple(str(row[1]) for row in info),
        tuple(str(row[2]) for row in info),
        tuple(bool(row[3]) for row in info),
        keys[0] if len(keys) == 1 and sum(bool(row[5]) for row in info) == 1 else -1,
    )


def lost_rows(
    copy: Path, shapes: Sequence[TableShape], known: frozenset[int]
) -> Iterator[tuple[Sequence[TableShape], tuple[Any, ...]]]:
    """(tables that it may belong to, row) of every tree without a parent that is not among the `known` roots.

    This destroys the copy: its list of tables is replaced.
    """
    roots = [root for root in _orphans(copy) if root not in known]
    if not roots:
        return
    with contextlib.closing(_open_probe(copy)) as connection:
        for root in roots:
            if not _point_at(connection, root):
                continue
            for row in readable_rows(connection, "probe", _COLUMNS, patience=_PATIENCE):
                if likely := [shape for shape in shapes if shape.fits(row) is not None]:
                    yield likely, row


def _orphans(copy: Path) -> list[int]:
    """Numbers of the pages that begin a tree of rows: those that no other page leads to."""
    pages = copy.stat().st_size // PAGE
    found: list[int] = []
    children: set[int] = set()
    with copy.open("rb") as file:
        for first in range(1, pages + 1, _AT_ONCE):
            piece = file.read(_AT_ONCE * PAGE)
            for at in range(0, len(piece) - PAGE + 1, PAGE):
                number = first + at // PAGE
                head = at + (100 if number == 1 else 0)
                if piece[head] in (_INTERIOR, _LEAF) and number > 1:
                    found.append(number)
                if piece[head] == _INTERIOR:
                    children |= _children(piece[at : at + PAGE], head - at, number, pages)
    return [number for number in found if number not in children]


def _children(page: bytes, head: int, number: int, pages: int) -> set[int]:
    """The pages that an inner page leads to; none if it is not what it looks like."""
    (count,) = struct.unpack_from(">H", page, head + 3)
    if head + 12 + 2 * count > len(page):
        return set()
    places = struct.unpack_from(f">{count}H", page, head + 12)
    if any(place + 4 > len(page) for place in places):
        return set()
    leads = {struct.unpack_from(">I", page, place)[0] for place in places}
    leads.add(struct.unpack_from(">I", page, head + 8)[0])
    return leads if all(1 < child <= pages and child != number for child in leads) else set()


def _open_probe(copy: Path) -> sqlite3.Connection:
    """The copy with one table that can be pointed at any tree."""
    template = copy.with_name("probe.db")
    template.unlink(missing_ok=True)
    with contextlib.closing(sqlite3.connect(template, isolation_level=None)) as made:
        made.execute(f"PRAGMA page_size = {PAGE}")
        made.execute(f"CREATE TABLE probe ({', '.join(_COLUMNS[1:])})")
    replace_first_page(copy, template)
    return connect(copy)


def _point_at(connection: sqlite3.Connection, root: int) -> bool:
    try:
        connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'probe'", (root,))
        connection.execute("PRAGMA writable_schema = RESET")
        connection.execute("PRAGMA writable_schema = ON")
    except sqlite3.Error:
        return False
    return True


_TABLES = (
    "sessions",
    "messages",
    "partials",
    "outputs",
    "output_uses",
    "journal",
    "grants",
    "prompts",
    "agents",
    "mail",
    "history",
    "overlays",
    "texts",
    "text_uses",
    "iterations",
    "usage",
    "shell_notes",
    "shell_halves",
    "shells",
    "memory",
    "calls",
    "call_members",
    "call_messages",
    "call_pins",
    "call_presence",
    "workflow_runs",
    "workflow_steps",
    "media_uses",
    "session_bases",
    "checkpoints",
    "queued_prompts",
)
"""What is recovered; holds are not, because their processes take them again."""

_OF_SESSIONS = (
    *("partials", "output_uses", "overlays", "text_uses", "iterations"),
    *("media_uses", "session_bases", "checkpoints"),
)
"""Tables whose rows mean nothing without their conversation."""


def copy_all(copy: Path, template: Path, target: sqlite3.Connection) -> str:
    """Fill the new record with what the copy still holds; this destroys the copy."""
    target.execute("PRAGMA foreign_keys = OFF")  # rows of lost sessions come first, see _mend_sessions
    with migrations.transaction(target):
        target.execute("DELETE FROM calls")  # the new record's own lobby, in favour of the copy's
        known: frozenset[int] = frozenset()
        with contextlib.suppress(sqlite3.Error), contextlib.closing(open_copy(copy, template)) as source:
            known = _copy_tables(source, target)
        emptied_log(copy, template)
        _copy_lost(copy, target, known)
        missing = _mend_sessions(target)
        _mend_uses(target)
        _mend_calls(target)
    target.execute("PRAGMA foreign_keys = ON")
    messages = target.execute("SELECT count(*) FROM messages").fetchone()[0]
    sessions = target.execute("SELECT count(*) FROM sessions WHERE messages").fetchone()[0]
    if not (messages or target.execute("SELECT 1 FROM sessions").fetchone()):
        return "The record was too damaged to read; a new one was started."
    lost = f"{missing} messages are unreadable" if missing else "no message is missing"
    return f"The record was damaged; {messages} messages of {sessions} conversations were recovered, {lost}."


def _copy_tables(source: sqlite3.Connection, target: sqlite3.Connection) -> frozenset[int]:
    """Copy what the tables lead to. Return the pages at which they begin."""
    for table in _TABLES:
        known = columns_of(target, table)
        columns = [name for name in columns_of(source, table) if name in known]
        if columns:
            marks = ", ".join("?" * len(columns))
            insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            target.executemany(insert, _sound(table, columns, readable_rows(source, table, columns)))
    return roots_of(source)


def _copy_lost(copy: Path, target: sqlite3.Connection, known: frozenset[int]) -> None:
    """Copy rows that no table leads to any more, recognised by their shape and content."""
    shapes = [shape for table in _TABLES if (shape := shape_of(target, table)).columns]
    for likely, row in lost_rows(copy, shapes, known):
        for shape in likely:
            fields = shape.fits(row)
            if fields is not None and _is_sound(shape.table, fields):
                marks = ", ".join("?" * len(fields))
                target.execute(
                    f"INSERT OR IGNORE INTO {shape.table} ({', '.join(fields)}) VALUES ({marks})", (*fields.values(),)
                )
                break


def _sound(table: str, columns: list[str], found: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The rows with valid content: damage can also leave something that looks like a row."""
    return (row for row in found if _is_sound(table, dict(zip(columns, row, strict=True))))


def _is_sound(table: str, fields: dict[str, Any]) -> bool:
    try:
        match table:
            case "messages" | "partials":
                return encoding.decode_message(fields["data"]).id == fields["message"]
            case "journal":
                msgspec.json.decode(fields["data"])
            case "agents":
                agent_table.sound(fields["data"], fields["request"])
            case "mail":
                mail_table.decode_letter(fields["data"])
            case "calls":
                call_table.sound_call(fields["data"])
            case "call_messages":
                call_table.sound_message(fields["data"])
            case "outputs":
                output_table.text_of(fields["key"], fields["data"], bool(fields["packed"]))
            case "texts":
                sent_texts.text_of(fields["hash"], fields["data"], bool(fields["packed"]), fields["bytes"])
            case "overlays":
                msgspec.json.decode(fields["data"])
            case "iterations":
                context_tables.check_iteration(fields["data"], fields["packed"], fields["blocks"])
            case _:
                pass
    except (msgspec.DecodeError, ValueError, TypeError, StoreError, output_table.PackError):
        return False
    return True


def _mend_sessions(target: sqlite3.Connection) -> int:
    """Recreate lost rows of conversations, and recount all. Return the number of missing messages."""
    target.execute(
        "INSERT OR IGNORE INTO sessions (id, title, created, updated, touched)"
        " SELECT session, '(recovered)', min(at), max(at), min(id) FROM messages GROUP BY session"
    )
    for table in _OF_SESSIONS:
        target.execute(f"DELETE FROM {table} WHERE session NOT IN (SELECT id FROM sessions)")
    target.execute("DELETE FROM session_bases WHERE base NOT IN (SELECT id FROM sessions)")
    target.execute(
        "UPDATE sessions SET messages = (SELECT count(*) FROM messages WHERE session = sessions.id)"
        " + coalesce((SELECT upto FROM session_bases WHERE session = sessions.id), 0),"
        " last_seq = max(last_seq, (SELECT coalesce(max(seq), 0) FROM messages WHERE session = sessions.id))"
    )
    return int(target.execute("SELECT coalesce(sum(last_seq - messages), 0) FROM sessions").fetchone()[0])


def _mend_uses(target: sqlite3.Connection) -> None:
    """Remove uses of what is lost; restore lost uses of texts from the iterations."""
    target.execute("DELETE FROM output_uses WHERE key NOT IN (SELECT key FROM outputs)")
    for session, data in target.execute('SELECT session, data FROM messages WHERE data LIKE \'%"key":"%\'').fetchall():
        message_table.use_media(target, session, encoding.decode_message(data))
    for row in target.execute("SELECT session, packed, blocks FROM iterations").fetchall():
        sent_texts.use(target, row[0], context_tables.hashes_in(row[1], row[2]))


def _mend_calls(target: sqlite3.Connection) -> None:
    """Recreate lost rows of calls and the lobby, and recount all."""
    target.execute(
        "INSERT OR IGNORE INTO calls (name, created, data, revision)"
        " SELECT call, min(at), json_object('name', call), 1 FROM call_messages GROUP BY call"
    )
    target.execute(
        "INSERT OR IGNORE INTO calls (name, created, data, revision) VALUES ('lobby', 0, '{\"name\":\"lobby\"}', 1)"
    )
    for table in ("call_members", "call_pins"):
        target.execute(f"DELETE FROM {table} WHERE call NOT IN (SELECT name FROM calls)")
    target.execute(
        "UPDATE calls SET messages = (SELECT coalesce(max(seq) + 1, 0) FROM call_messages WHERE call = calls.name)"
    )
