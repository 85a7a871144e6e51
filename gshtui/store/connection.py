"""The one long-lived connection of a process to the record, and its thread.

Owns the thread and the file behind the name: it follows a file that was replaced, and heals one that is damaged;
refuses to work on a record that is closed. Used by `Store` for every read and by the writer for every batch.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import aiosqlite

from gshtui.store import files, history, recovery, search
from gshtui.store.errors import StoreError, from_sqlite, is_corrupt, is_index_damage
from gshtui.store.opening import Opened, Synchronous, identity_of, open_file

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

_LAST_WORD = 5.0
"""Seconds for the thread to end after it could not open the record."""
Notice = Callable[[str, str], None]
"""Takes what a person should be told: a sentence, and what to do."""


class Database(aiosqlite.Connection):
    """The connection on its thread. `ready` opens it; `run` works on it; always `close` it."""

    def __init__(self, path: Path, synchronous: Synchronous, on_notice: Notice) -> None:
        self.path = path
        self.opened = Opened()
        self.synchronous: Synchronous = synchronous
        self._on_notice = on_notice
        super().__init__(lambda: open_file(path, synchronous, self.opened), 64)
        # Closing is our duty; a process that dies without it must not hang on this thread. What was acknowledged is
        # in the file by then.
        self._thread.daemon = True

    async def ready(self) -> None:
        """Open the record. Raises `StoreError`, and then the thread has ended."""
        try:
            await self
        except BaseException:
            # The thread says a last word to the loop, which must be there to hear it.
            await asyncio.shield(asyncio.to_thread(self._thread.join, _LAST_WORD))
            raise
        self.tell()

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
        if self.opened.readonly:
            return work(self._conn)
        if identity_of(self.path) != self.opened.identity:
            self._follow()
        try:
            return work(self._conn)
        except sqlite3.DatabaseError as error:
            if not is_corrupt(error):
                raise
            index_alone = is_index_damage(error)
        if not (index_alone and self._index_rebuilt()):
            self._heal()
        return work(self._conn)

    def _index_rebuilt(self) -> bool:
        try:
            search.rebuild(self._conn)
            history.rebuild(self._conn)
        except sqlite3.DatabaseError:
            return False  # not even its first entry can be read
        return True

    def _follow(self) -> None:
        """The name leads to another file now, or to none: what is committed to ours would be lost with it."""
        restored = _put_back(self._conn, self.path)
        self._reopen()
        what = "had been removed, and was written again." if restored else "was replaced; the new one is in use now."
        self.opened.notices.append((f"The record's file {self.path} {what}", ""))

    def _heal(self) -> None:
        """The file turned out to be damaged: recover it as the next start would."""
        recovery.mark(self.path)
        self._reopen()

    def _reopen(self) -> None:
        old = self._conn
        self._connection = open_file(self.path, self.synchronous, self.opened)
        old.close()


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
        for stray in files.with_companions(path)[1:]:
            stray.unlink(missing_ok=True)  # a log without its file would be replayed into the new one
        copy.rename(path)
    return True
