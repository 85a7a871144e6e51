"""Copies what a damaged record still holds into a new one, and repairs references to lost rows.

Decides which rows are intact.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gshtui.store.engine import encoding, migrations
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record import salvage
from gshtui.store.tables import (
    agent_table,
    call_table,
    context_tables,
    mail_table,
    message_table,
    output_table,
    sent_texts,
)

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
        with contextlib.suppress(sqlite3.Error), contextlib.closing(salvage.open_copy(copy, template)) as source:
            known = _copy_tables(source, target)
        salvage.emptied_log(copy, template)
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
        known = salvage.columns_of(target, table)
        columns = [name for name in salvage.columns_of(source, table) if name in known]
        if columns:
            marks = ", ".join("?" * len(columns))
            insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            target.executemany(insert, _sound(table, columns, salvage.readable_rows(source, table, columns)))
    return salvage.roots_of(source)


def _copy_lost(copy: Path, target: sqlite3.Connection, known: frozenset[int]) -> None:
    """Copy rows that no table leads to any more, recognised by their shape and content."""
    shapes = [shape for table in _TABLES if (shape := salvage.shape_of(target, table)).columns]
    for likely, row in salvage.lost_rows(copy, shapes, known):
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
                mail_table.sound(fields["data"])
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
