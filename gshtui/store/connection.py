"""The one long-lived connection of a process to the record, and its thread.

Owns opening: folder, lock, pragmas, migration, recovery, and what can be done where nothing can be written; refuses
links and newer files. Used by `Store` for every read and by the writer for every batch.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar, cast
from urllib.parse import quote

import aiosqlite

from gshtui.store import files, migrations, recovery
from gshtui.store.errors import StoreError, from_sqlite, is_corrupt

T = TypeVar("T")
Synchronous = Literal["normal", "full"]
Work = Callable[[sqlite3.Connection], T]

BUSY_MS = 200
"""Milliseconds that SQLite itself waits for another process; the writer goes on asking, readers in between."""
OPEN_BUSY_MS = 10_000
CHECK_AT_OPEN = 16 * 1024 * 1024
"""Bytes; a larger file is checked after it was opened, in the background."""


Notice = Callable[[str, str], None]
"""Takes what a person should be told: a sentence, and what to do."""


@dataclass
class Opened:
    """What opening came to: which file it is, whether it is read only, and what a person should be told."""

    identity: tuple[int, int] | None = None
    readonly: bool = False
    notices: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])


class Database(aiosqlite.Connection):
    """The connection on its thread. `await` it to open it; `run` works on it; always `close` it."""

    def __init__(self, path: Path, synchronous: Synchronous, on_notice: Notice) -> None:
        self.path = path
        self.opened = Opened()
        self._synchronous: Synchronous = synchronous
        self._on_notice = on_notice
        super().__init__(lambda: open_file(path, synchronous, self.opened), 64)
        # Closing is our duty; a process that dies without it must not hang on this thread. What was acknowledged is
        # in the file by then.
        self._thread.daemon = True

    async def run(self, work: Work[T]) -> T:
        """Have `work` done with the connection, on its thread, between two batches of the writer.

        Raises:
            StoreError: for any failure of SQLite; `closed` after the end.
        """
        if self._connection is None or not self._running:
            raise StoreError("closed", "The record is closed.")
        try:
            done = await self._execute(self._work, work)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            return cast("T", done)
        except (sqlite3.Error, OSError) as error:
            raise from_sqlite(error, self.path) from error
        finally:
            self.tell()

    def tell(self) -> None:
        """Pass on what opening, or following the file, came to."""
        while self.opened.notices:
            self._on_notice(*self.opened.notices.pop(0))

    def _work(self, work: Work[T]) -> T:
        if not self.opened.readonly and _identity(self.path) != self.opened.identity:
            self._follow()
        return work(self._conn)

    def _follow(self) -> None:
        """The name leads to another file now, or to none: what is committed to ours would be lost with it."""
        old = self._conn
        restored = _put_back(old, self.path)
        self._connection = open_file(self.path, self._synchronous, self.opened)
        old.close()
        what = "had been removed, and was written again." if restored else "was replaced; the new one is in use now."
        self.opened.notices.append((f"The record's file {self.path} {what}", ""))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = os.stat(path)  # noqa: PTH116  (half the time of Path.stat, and this runs before every read and write)
    except FileNotFoundError:
        return None
    return info.st_dev, info.st_ino


def _put_back(connection: sqlite3.Connection, path: Path) -> bool:
    """Write a removed record again from the file that is still open. Returns whether there was need to."""
    files.prepare_folder(path)
    with files.opening_lock(path):
        if path.exists():
            return False
        copy = files.beside(path, ".restored")
        copy.unlink(missing_ok=True)
        files.create_file(copy)
        with contextlib.closing(sqlite3.connect(copy)) as target:
            connection.backup(target)
        _drop_companions(path)
        copy.rename(path)
    return True


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
            opened.identity = _identity(path)
            return connection
    except (sqlite3.Error, OSError) as error:
        problem = from_sqlite(error, path)
        if problem.kind not in ("readonly", "full") or not path.exists():
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
        _drop_companions(path)
        files.create_file(path)
    try:
        return _checked(path, synchronous, opened)
    except (sqlite3.Error, StoreError) as error:
        if not is_corrupt(error) and getattr(error, "kind", "") != "corrupt":
            raise
    opened.notices.append(recovery.recover(path, lambda new: _prepared(new, synchronous)))
    return _checked(path, synchronous, opened)


def _drop_companions(path: Path) -> None:
    """A log without its file would be replayed into the new one."""
    for stray in files.with_companions(path)[1:]:
        stray.unlink(missing_ok=True)


def _checked(path: Path, synchronous: Synchronous, opened: Opened) -> sqlite3.Connection:
    if recovery.is_marked(path):
        raise StoreError("corrupt", f"The record {path} was found damaged.")
    connection = _prepared(path, synchronous)
    try:
        if path.stat().st_size <= CHECK_AT_OPEN and (problems := recovery.quick_check(connection)):
            raise StoreError("corrupt", f"The record {path} is damaged: {problems[0]}.")
        if backup := migrations.migrate(connection, path):
            opened.notices.append(("The record was brought to a newer format.", f"A copy of the old one is {backup}."))
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    except BaseException:
        connection.close()
        raise
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
    """Read what is there. With a write-ahead log, SQLite needs its index; without one, the file stands still."""
    wal = files.beside(path, "-wal")
    mode = "mode=ro" if wal.exists() and wal.stat().st_size else "mode=ro&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, isolation_level=None)
    try:
        version = migrations.version_of(connection)
        if version != migrations.VERSION:
            raise StoreError(
                "readonly" if version < migrations.VERSION else "newer",
                f"The record {path} has format {version}, this gsh-tui reads {migrations.VERSION}.",
                hint="Make its folder writable, so that it can be brought up to date.",
            )
    except BaseException:
        connection.close()
        raise
    return connection
