"""Checks whether the record is intact: briefly after opening a large file, and completely for `doctor`.

Repairs nothing; the next opening does that.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from urllib.parse import quote

from gshtui.store.engine.record_files import beside
from gshtui.store.engine.store_errors import StoreError, from_sqlite, is_index_damage
from gshtui.store.engine.table import Notice
from gshtui.store.record import recovery
from gshtui.store.record.database import CHECK_AT_OPEN, Database
from gshtui.store.record.record_writer import RecordWriter
from gshtui.system.tasks import cancel_and_wait, start_job

BEGIN_AFTER = 5.0
"""Seconds; a shorter command does not read the whole file."""
CHECK_EVERY = 86_400.0
"""Seconds between two background checks of a file, by any process."""
_SHOWN = 20
"""Most faults of one kind to list."""


class IntegrityChecker:
    """Checks on a separate connection, so that reading and writing continue."""

    def __init__(self, database: Database, writer: RecordWriter, on_notice: Notice) -> None:
        self._database = database
        self._writer = writer
        self._on_notice = on_notice
        self._task: asyncio.Task[None] | None = None
        self._connection: sqlite3.Connection | None = None

    def start(self) -> None:
        """Once a day, check in the background a file that was too large to be checked before it was opened."""
        path = self._database.path
        if self._database.opened.readonly or path.stat().st_size <= CHECK_AT_OPEN:
            return
        checked = beside(path, ".checked")
        if not checked.exists() or abs(time.time() - checked.stat().st_mtime) > CHECK_EVERY:
            self._task = start_job(self._background(), "the check of the record")

    async def stop(self) -> None:
        if self._task is None:
            return
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):  # it was closed in the same moment
                self._connection.interrupt()
        await cancel_and_wait(self._task)

    async def full(self) -> list[str]:
        """All faults: of the file's structure, of references between tables, of the word index."""
        faults = await asyncio.to_thread(self._structure)
        if not self._database.opened.readonly:
            try:
                faults += await self._writer.submit(_index)
            except StoreError as error:
                faults.append(error.message)
        return faults

    async def _background(self) -> None:
        await asyncio.sleep(BEGIN_AFTER)
        faults = await asyncio.to_thread(self._quick)
        if faults is None:
            return
        path = self._database.path
        if not faults:
            beside(path, ".checked").touch(mode=0o600)
            return
        recovery.mark(path)
        self._on_notice(
            f"The record {path} is damaged: {faults[0]}.",
            "Close every gsh-tui, then start one: it recovers what is readable, and keeps the damaged file.",
        )

    def _quick(self) -> list[str] | None:
        """The faults, or `None` if that is unknown because the check was interrupted or could not read the file."""
        with contextlib.closing(self._open()) as connection:
            self._connection = connection
            try:
                return recovery.quick_check(connection)
            except sqlite3.OperationalError:
                return None
            except sqlite3.DatabaseError as error:
                return [str(error)]
            finally:
                self._connection = None

    def _structure(self) -> list[str]:
        try:
            with contextlib.closing(self._open()) as connection:
                found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({_SHOWN})")]
                faults = [] if found == ["ok"] else found
                for table, rowid, parent, _ in connection.execute("PRAGMA foreign_key_check").fetchmany(_SHOWN):
                    faults.append(f"Row {rowid} of {table} belongs to a row of {parent} that does not exist.")
                return faults
        except sqlite3.Error as error:
            return [from_sqlite(error, self._database.path).message]

    def _open(self) -> sqlite3.Connection:
        mode = "mode=ro&immutable=1" if self._database.opened.readonly else "mode=ro"
        path = quote(os.fsencode(self._database.path))
        return sqlite3.connect(
            f"file:{path}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
        )


def _index(connection: sqlite3.Connection) -> list[str]:
    try:
        connection.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if not is_index_damage(error):
            raise
        return ["The full-text index is out of date; the next search rebuilds it."]
    return []
