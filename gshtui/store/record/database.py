"""Opens the record's file (folder, lock, pragmas, check, recovery, migration) and keeps its one connection on its
thread.

Also defines what is possible without write access. Links, other users' files and newer formats are refused. A
damaged record is set aside untouched, and what can be read of it is copied into a new one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeVar
from urllib.parse import quote

import aiosqlite
import msgspec

from gshtui.store.engine import migrations, record_files
from gshtui.store.engine.record_files import beside, with_companions
from gshtui.store.engine.store_errors import StoreError, closed, from_sqlite, is_corrupt, is_index_damage
from gshtui.store.engine.table import Notice, Work
from gshtui.system.files import private_files

Synchronous = Literal["normal", "full"]

BUSY_MS = 200
"""Milliseconds that SQLite itself waits for another process; the writer keeps retrying, with readers in between."""
OPEN_BUSY_MS = 10_000
CHECK_AT_OPEN = 16 * 1024 * 1024
"""Bytes; a larger file is checked in the background after opening."""


class OpenedFile(msgspec.Struct):
    """The result of opening: which file, whether it is read only, and what to tell a person."""

    identity: tuple[int, int] | None = None
    readonly: bool = False
    notices: list[tuple[str, str]] = msgspec.field(default_factory=list[tuple[str, str]])


def identity_of(path: Path) -> tuple[int, int] | None:
    """Which file the name leads to; `None` if to none."""
    try:
        info = os.stat(path)  # noqa: PTH116  (half the time of Path.stat, and this runs before every read and write)
    except FileNotFoundError:
        return None
    return info.st_dev, info.st_ino


def open_file(path: Path, synchronous: Synchronous, opened: OpenedFile) -> sqlite3.Connection:
    """Open, check, recover and migrate the record; without write access, open it for reading. Raises `StoreError`: it
    cannot be opened at all; the text says why.
    """
    try:
        record_files.prepare_folder(path)
        record_files.check_files(path)
        with record_files.opening_lock(path):
            connection = _open_writable(path, synchronous, opened)
            opened.identity = identity_of(path)
            return connection
    except (sqlite3.Error, OSError) as error:
        problem = from_sqlite(error, path)
        if problem.kind not in ("readonly", "full", "io") or not os.access(path, os.R_OK):
            raise problem from error
    opened.readonly = True
    opened.notices.append((problem.message + " It is open read-only, so nothing new is saved.", problem.hint))
    try:
        return _open_readonly(path)
    except sqlite3.Error as error:
        raise from_sqlite(error, path) from error


def _open_writable(path: Path, synchronous: Synchronous, opened: OpenedFile) -> sqlite3.Connection:
    finish_interrupted(path)
    if not record_files.check_files(path):
        record_files.create_file(path)  # an empty one: SQLite drops a log left behind by an earlier file
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
        opened.notices.append(recover(path, lambda new: _prepared(new, synchronous)))
    finally:
        # Only once the files have their new names: the last one to close a record merges its log into it, and the
        # damaged one must stay as it was found.
        if connection is not None:
            connection.close()
    return _up_to_date(_prepared(path, synchronous), path, opened)


def _demand_sound(connection: sqlite3.Connection, path: Path) -> None:
    if is_marked(path):
        raise StoreError("corrupt", f"The record {path} is damaged.")
    if path.stat().st_size <= CHECK_AT_OPEN and (problems := quick_check(connection)):
        raise StoreError("corrupt", f"The record {path} is damaged: {problems[0]}.")


def _up_to_date(connection: sqlite3.Connection, path: Path, opened: OpenedFile) -> sqlite3.Connection:
    if backup := migrations.migrate(connection, path):
        opened.notices.append(("The record was upgraded to a newer format.", f"The old one is kept as {backup}."))
    connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return connection


def _prepared(path: Path, synchronous: Synchronous) -> sqlite3.Connection:
    """A connection with our pragmas, before anything is read."""
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
    """Open for reading. Without a log the file does not change; with one, SQLite must be able to create its index."""
    log = record_files.beside(path, "-wal")
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
        f"The record {path} has format {version}, but this gsh-tui reads {migrations.VERSION}.",
        hint="Make its folder writable, so that it can be upgraded.",
    )


def _open_copy(path: Path, log: Path) -> sqlite3.Connection:
    """A private copy that disappears with this process, log included."""
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, record_files.beside(copy, "-wal"))
        connection = _connect_readonly(copy, "mode=rw")
        connection.execute("PRAGMA query_only = ON")
        return connection


def _connect_readonly(path: Path, mode: str) -> sqlite3.Connection:
    """Connect, and prove by reading that the file and its log are readable."""
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?{mode}", uri=True, isolation_level=None)
    try:
        migrations.version_of(connection)
    except BaseException:
        connection.close()
        raise
    return connection


T = TypeVar("T")

_TRY_EVERY = 2.0
"""Seconds between two attempts to write to a record that could only be read."""
_LAST_WORD = 5.0
"""Seconds for the thread to end after it failed to open the record."""


class Database(aiosqlite.Connection):
    """The connection on its thread. `ready` opens it, `run` works on it; always `close` it."""

    def __init__(self, path: Path, synchronous: Synchronous, on_notice: Notice) -> None:
        self.path = path
        self.opened = OpenedFile()
        self.synchronous: Synchronous = synchronous
        self._on_notice = on_notice
        self._tried = time.monotonic()
        super().__init__(lambda: open_file(path, synchronous, self.opened), 64)
        # We must close it; but a process that dies before that must not hang on this thread. Whatever was acknowledged
        # is in the file by then.
        self._thread.daemon = True

    async def ready(self) -> None:
        """Open the record. Raises `StoreError`; the thread has then ended."""
        try:
            await self
        except BaseException:
            # The thread sends the loop a last message, which the loop must be there to receive.
            await asyncio.shield(asyncio.to_thread(self._thread.join, _LAST_WORD))
            raise
        self.report_opening()

    async def writable(self) -> bool:
        """Whether it can be written to; one that could only be read is tried again. Raises `StoreError`."""
        if self.opened.readonly:
            await self.run(lambda _: None)
        return not self.opened.readonly

    async def run(self, work: Work[T]) -> T:
        """Run `work` with the connection, on its thread, between two batches of the writer. Raises `StoreError`: for
        any failure of SQLite; `closed` after the end.
        """
        if self._is_closed() or not self._running:
            raise closed()
        try:
            done: T = await self._execute(self._work, work)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            return done
        except (sqlite3.Error, OSError) as error:
            if self._is_closed():
                raise closed() from error
            raise from_sqlite(error, self.path) from error
        finally:
            self.report_opening()

    def _is_closed(self) -> bool:
        return self._connection is None

    def report_opening(self) -> None:
        """Pass on what there is to tell after opening, or following, the file."""
        while self.opened.notices:
            self._on_notice(*self.opened.notices.pop(0))

    def _work(self, work: Work[T]) -> T:
        if self.opened.readonly and not self._can_write_now():
            return work(self._open_connection())
        if identity_of(self.path) != self.opened.identity:
            self._follow()
        try:
            return work(self._open_connection())
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise
            index_alone = is_index_damage(error)
        if not (index_alone and self._index_rebuilt()):
            self._heal()
        return work(self._open_connection())

    def _can_write_now(self) -> bool:
        """Whether a record that could only be read is open for writing by now: there may be room again."""
        if time.monotonic() < self._tried + _TRY_EVERY:
            return False
        old, opened = self._open_connection(), OpenedFile()
        try:
            connection = open_file(self.path, self.synchronous, opened)
        except StoreError:
            opened.readonly = True
        else:
            if opened.readonly:
                connection.close()
            else:
                self._connection = connection
                old.close()
                opened.notices.append(("Recording continues.", ""))
                self.opened.readonly, self.opened.identity = False, opened.identity
                self.opened.notices += opened.notices
        self._tried = time.monotonic()
        return not opened.readonly

    def _open_connection(self) -> sqlite3.Connection:
        """The connection, asked for once: the loop takes it away at any moment while this thread works.
        Raises `StoreError`: `closed`.
        """
        connection = self._connection
        if connection is None:
            raise closed()
        return connection

    def _index_rebuilt(self) -> bool:
        from gshtui.store.tables import (
            command_history,  # late import: only a damaged index needs it
            message_table,
        )

        try:
            message_table.rebuild_index(self._open_connection())
            command_history.rebuild(self._open_connection())
        except sqlite3.DatabaseError:
            return False  # not even its first entry is readable
        return True

    def _follow(self) -> None:
        """The name leads to another file now, or to none: what is committed to ours would be lost with it."""
        restored = _put_back(self._open_connection(), self.path)
        self._reopen()
        what = "had been removed and was written again." if restored else "was replaced; the new one is in use now."
        self.opened.notices.append((f"The record's file {self.path} {what}", ""))

    def _heal(self) -> None:
        """The file is damaged: recover it as the next start would."""
        mark_damaged(self.path)
        self._reopen()

    def _reopen(self) -> None:
        old = self._open_connection()
        self._connection = open_file(self.path, self.synchronous, self.opened)
        old.close()


def _put_back(connection: sqlite3.Connection, path: Path) -> bool:
    """Recreate a deleted record from the file that is still open. Return whether that was necessary."""
    record_files.prepare_folder(path)
    with record_files.opening_lock(path):
        if path.exists():
            return False
        copy = record_files.beside(path, ".restored")
        copy.unlink(missing_ok=True)
        record_files.create_file(copy)
        with contextlib.closing(sqlite3.connect(copy)) as target:
            connection.backup(target)
        for stray in record_files.with_companions(path)[1:]:
            stray.unlink(missing_ok=True)  # a log without its file would be replayed into the new one
        copy.rename(path)
    return True


Prepare = Callable[[Path], sqlite3.Connection]


def quick_check(connection: sqlite3.Connection) -> list[str]:
    """What is wrong with the file's structure; empty if it is intact. Takes as long as reading the file."""
    found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)")]
    return [] if found == ["ok"] else found


def mark_damaged(path: Path) -> None:
    """Remember for the next start that the record was found damaged."""
    beside(path, ".damaged").touch(mode=0o600)


def is_marked(path: Path) -> bool:
    """Whether it was found damaged and not recovered yet."""
    return beside(path, ".damaged").exists()


def recover(path: Path, prepare: Prepare) -> tuple[str, str]:
    """Replace the damaged record with a new one that holds everything still readable.

    Args:
        path: the damaged record.
        prepare: opens an empty file with our pragmas.

    Returns:
        What to tell a person: how much was recovered, and where the damaged file is.
    """
    from gshtui.store.record import record_copy  # late import: it knows every table, and only a damaged record needs it

    room = _room(path)
    shutil.rmtree(room, ignore_errors=True)
    private_files.make_folder(room)
    copy, fresh, template = room / "old.db", room / "new.db", room / "empty.db"
    shutil.copyfile(path, copy)
    if (log := beside(path, "-wal")).exists():
        shutil.copyfile(log, beside(copy, "-wal"))
    _empty(template, prepare).close()
    with contextlib.closing(_empty(fresh, prepare)) as target:
        told = record_copy.copy_all(copy, template, target)
    fresh.rename(room / "complete.db")
    kept = _swap(path)
    return told, f"The damaged file is kept as {kept}."


def finish_interrupted(path: Path) -> None:
    """Finish a recovery whose process died; call before the record is read."""
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
