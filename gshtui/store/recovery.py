"""A damaged record: set aside untouched, and everything still readable copied into a new one.

Owns the order of the steps, so that a crash at any point loses nothing; refuses to change the damaged file. Called
while the record is opened, under the opening lock.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from gshtui.store import agents, encoding, iterations, mail, migrations, outputs, salvage, texts
from gshtui.store.errors import StoreError
from gshtui.store.record_files import beside, with_companions
from gshtui.system import private_files

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
)
"""What is recovered; holds are not, their processes take them again."""

Prepare = Callable[[Path], sqlite3.Connection]


def quick_check(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the file's structure; nothing when it is sound. Takes as long as reading the file."""
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    return [] if found == ["ok"] else found


def mark(path: Path) -> None:
    """Remember that the record was found damaged, for the next start."""
    beside(path, ".damaged").touch(mode=0o600)


def is_marked(path: Path) -> bool:
    """Whether it was found damaged and not recovered yet."""
    return beside(path, ".damaged").exists()


def recover(path: Path, prepare: Prepare) -> tuple[str, str]:
    """Put a new record in place of the damaged one, holding all that could be read of it.

    Args:
        path: the damaged record.
        prepare: opens an empty file with the house's pragmas.

    Returns:
        What to tell a person: how much was recovered, and where the damaged file is.
    """
    room = _room(path)
    shutil.rmtree(room, ignore_errors=True)
    private_files.make_folder(room)
    copy, fresh, template = room / "old.db", room / "new.db", room / "empty.db"
    shutil.copyfile(path, copy)
    if (log := beside(path, "-wal")).exists():
        shutil.copyfile(log, beside(copy, "-wal"))
    _empty(template, prepare).close()
    with contextlib.closing(_empty(fresh, prepare)) as target:
        told = _copy_all(copy, template, target)
    fresh.rename(room / "complete.db")
    kept = _swap(path)
    return told, f"The damaged file is kept as {kept}."


def finish_interrupted(path: Path) -> None:
    """End a recovery whose process died; called before the record is looked at."""
    room = _room(path)
    if not room.exists():
        return
    if (room / "complete.db").exists() and not path.exists():
        _swap(path)
    shutil.rmtree(room, ignore_errors=True)


def _room(path: Path) -> Path:
    return beside(path, ".recovering")


def _swap(path: Path) -> Path:
    kept = beside(path, time.strftime(".corrupt-%Y%m%d-%H%M%S"))
    number = 1
    while kept.exists():
        number += 1
        kept = beside(path, time.strftime(f".corrupt-%Y%m%d-%H%M%S-{number}"))
    for old, new in zip(with_companions(path), with_companions(kept), strict=True):
        if old.exists():
            old.rename(new)
    _, log, index = with_companions(kept)
    if not (log.exists() and log.stat().st_size):
        for useless in (log, index):
            useless.unlink(missing_ok=True)
    room = _room(path)
    (room / "complete.db").rename(path)
    path.chmod(0o600)
    beside(path, ".damaged").unlink(missing_ok=True)
    shutil.rmtree(room, ignore_errors=True)
    return kept


def _empty(path: Path, prepare: Prepare) -> sqlite3.Connection:
    connection = prepare(path)
    migrations.migrate(connection, path)
    return connection


def _copy_all(copy: Path, template: Path, target: sqlite3.Connection) -> str:
    """Fill the new record with what the copy still holds; the copy is spoilt by it."""
    target.execute("PRAGMA foreign_keys = OFF")  # rows of lost sessions come first, see _mend_sessions
    with migrations.transaction(target):
        known: frozenset[int] = frozenset()
        with contextlib.suppress(sqlite3.Error), contextlib.closing(salvage.open_copy(copy, template)) as source:
            known = _copy_tables(source, target)
        salvage.emptied_log(copy, template)
        _copy_lost(copy, target, known)
        missing = _mend_sessions(target)
        _mend_uses(target)
    target.execute("PRAGMA foreign_keys = ON")
    messages = target.execute("SELECT count(*) FROM messages").fetchone()[0]
    sessions = target.execute("SELECT count(*) FROM sessions WHERE messages").fetchone()[0]
    if not (messages or target.execute("SELECT 1 FROM sessions").fetchone()):
        return "The record was damaged so badly that nothing could be read; a new one was begun."
    lost = f"{missing} messages could not be read" if missing else "no message is missing"
    return f"The record was damaged; {messages} messages of {sessions} conversations were recovered, {lost}."


def _copy_tables(source: sqlite3.Connection, target: sqlite3.Connection) -> frozenset[int]:
    """Copy what the tables lead to. Returns the pages at which they begin."""
    for table in _TABLES:
        known = salvage.columns_of(target, table)
        columns = [name for name in salvage.columns_of(source, table) if name in known]
        if columns:
            marks = ", ".join("?" * len(columns))
            insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})"
            target.executemany(insert, _sound(table, columns, salvage.readable_rows(source, table, columns)))
    return salvage.roots_of(source)


def _copy_lost(copy: Path, target: sqlite3.Connection, known: frozenset[int]) -> None:
    """Copy rows to which no table leads any more; they are told by their looks and by what they hold."""
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
    """The rows whose content is what it should be: damage can also leave a row that looks like one."""
    return (row for row in found if _is_sound(table, dict(zip(columns, row, strict=True))))


def _is_sound(table: str, fields: dict[str, Any]) -> bool:
    try:
        match table:
            case "messages" | "partials":
                return encoding.decode_message(fields["data"]).id == fields["message"]
            case "journal":
                msgspec.json.decode(fields["data"])
            case "agents":
                agents.sound(fields["data"], fields["request"])
            case "mail":
                mail.sound(fields["data"])
            case "outputs":
                outputs.text_of(fields["key"], fields["data"], bool(fields["packed"]))
            case "texts":
                texts.text_of(fields["hash"], fields["data"], bool(fields["packed"]), fields["bytes"])
            case "overlays":
                msgspec.json.decode(fields["data"])
            case "iterations":
                iterations.check_iteration(fields["data"], fields["packed"], fields["blocks"])
            case _:
                pass
    except (msgspec.DecodeError, ValueError, TypeError, StoreError, outputs.PackError):
        return False
    return True


def _mend_sessions(target: sqlite3.Connection) -> int:
    """Conversations whose own row was lost get a new one, and all count again. Returns the messages missing."""
    target.execute(
        "INSERT OR IGNORE INTO sessions (id, title, created, updated, touched)"
        " SELECT session, '(recovered)', min(at), max(at), min(id) FROM messages GROUP BY session"
    )
    for table in ("partials", "output_uses", "overlays", "text_uses", "iterations"):
        target.execute(f"DELETE FROM {table} WHERE session NOT IN (SELECT id FROM sessions)")
    target.execute(
        "UPDATE sessions SET messages = (SELECT count(*) FROM messages WHERE session = sessions.id),"
        " last_seq = max(last_seq, (SELECT coalesce(max(seq), 0) FROM messages WHERE session = sessions.id))"
    )
    return int(target.execute("SELECT coalesce(sum(last_seq - messages), 0) FROM sessions").fetchone()[0])


def _mend_uses(target: sqlite3.Connection) -> None:
    """Uses of what is lost go; texts whose uses are lost get them again from the iterations."""
    target.execute("DELETE FROM output_uses WHERE key NOT IN (SELECT key FROM outputs)")
    for row in target.execute("SELECT session, packed, blocks FROM iterations").fetchall():
        texts.use(target, row[0], iterations.hashes_in(row[1], row[2]))
