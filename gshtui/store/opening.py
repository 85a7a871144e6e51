"""Opening the record: folder, lock, pragmas, check, recovery, migration.

Owns the order of these, and what can be done where nothing can be written; refuses links, other people's files and
newer formats. Called by `connection`, on its thread.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from gshtui.store import files, migrations, recovery
from gshtui.store.errors import StoreError, from_sqlite, is_corrupt

Synchronous = Literal["normal", "full"]

BUSY_MS = 200
"""Milliseconds that SQLite itself waits for another process; the writer goes on asking, readers in between."""
OPEN_BUSY_MS = 10_000
CHECK_AT_OPEN = 16 * 1024 * 1024
"""Bytes; a larger file is checked after it was opened, in the background."""


@dataclass
class Opened:
    """What opening came to: which file it is, whether it is read only, and what a person should be told."""

    identity: tuple[int, int] | None = None
    readonly: bool = False
    notices: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file the name leads to; `None` when to none."""
    try:
        info = os.stat(path)  # noqa: PTH116  (half the time of Path.stat, and this runs before every read and write)
    except FileNotFoundError:
        return None
    return info.st_dev, info.st_ino


def open_file(path: Path, synchronous: Synchronous, opened: Opened) -> sqlite3.Connection:
    """Open, check, recover and migrate the record; where nothing can be written, open it for reading.

    Raises:
        StoreError: it cannot be opened at all; the text says why.
    """
    try:
        files.prepare_folder(path)
        files.check_files(path)
        with files.opening_lock(path):
            connection = _open_writable(path, synchronous, opened)
            opened.identity = identity_of(path)
            return connection
    except (sqlite3.Error, OSError) as error:
        problem = from_sqlite(error, path)
        if problem.kind not in ("readonly", "full", "io") or not path.exists():
            raise problem from error
    opened.readonly = True
    opened.notices.append((problem.message + " It is open for reading only; nothing new is kept.", problem.hint))
    try:
        return _open_readonly(path)
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from error


def _open_writable(path: Path, synchronous: Synchronous, opened: Opened) -> sqlite3.Connection:
    recovery.finish_interrupted(path)
    if not files.check_files(path):
        files.create_file(path)  # an empty one: SQLite drops a log that an earlier file left behind
    connection: sqlite3.Connection | None = None
    try:
        connection = _prepared(path, synchronous)
        _demand_sound(connection, path)
        return _up_to_date(connection, path, opened)
    except BaseException as error:
        if not (is_corrupt(error) or (isinstance(error, StoreError) and error.kind == "corrupt")):
            if connection is not None:
                connection.close()
            raise
    try:
        opened.notices.append(recovery.recover(path, lambda new: _prepared(new, synchronous)))
    finally:
        # Not before the files have their new names: whoever closes a record last empties its log into it, and the
        # damaged one is to stay as it was found.
        if connection is not None:
            connection.close()
    return _up_to_date(_prepared(path, synchronous), path, opened)


def _demand_sound(connection: sqlite3.Connection, path: Path) -> None:
    if recovery.is_marked(path):
        raise StoreError("corrupt", f"The record {path} was found damaged.")
    if path.stat().st_size <= CHECK_AT_OPEN and (problems := recovery.quick_check(connection)):
        raise StoreError("corrupt", f"The record {path} is damaged: {problems[0]}.")


def _up_to_date(connection: sqlite3.Connection, path: Path, opened: Opened) -> sqlite3.Connection:
    if backup := migrations.migrate(connection, path):
        opened.notices.append(("The record was brought to a newer format.", f"A copy of the old one is {backup}."))
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return connection


def _prepared(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """A connection with the house's pragmas, before any look at the content."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=OPEN_BUSY_MS / 1000, cached_statements=256)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        for pragma in (
            f"synchronous = {'FULL' if synchronous == 'full' else 'NORMAL'}",
            "foreign_keys = ON",
            "secure_delete = ON",  # a removed conversation is gone from the file too
            "temp_store = MEMORY",
            "journal_size_limit = 16777216",
        ):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _open_readonly(path: Path) -> sqlite3.Connection:
    """Read what is there. Without a log the file stands still; with one, SQLite must be able to make its index."""
    log = files.beside(path, "-wal")
    if not (log.exists() and log.stat().st_size):
        connection = _connect_readonly(path, "mode=ro&immutable=1")
    else:
        try:
            connection = _connect_readonly(path, "mode=ro")
        except sqlite3.OperationalError:
            connection = _open_copy(path, log)
    version = migrations.version_of(connection)
    if version == migrations.VERSION:
        return connection
    connection.close()
    raise StoreError(
        "readonly" if version < migrations.VERSION else "newer",
        f"The record {path} has format {version}, this gsh-tui reads {migrations.VERSION}.",
        hint="Make its folder writable, so that it can be brought up to date.",
    )


def _open_copy(path: Path, log: Path) -> sqlite3.Connection:
    """A copy that nobody else sees and that is gone with this process, log included."""
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, files.beside(copy, "-wal"))
        connection = _connect_readonly(copy, "mode=rw")
        connection.execute("PRAGMA query_only = ON")
        return connection


def _connect_readonly(path: Path, mode: str) -> sqlite3.Connection:
    """Connect, and prove by a read that the file and its log can be read."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, isolation_level=None)
    try:
        migrations.version_of(connection)
    except BaseException:
        connection.close()
        raise
    return connection
