"""The record of everything, as other rooms call it.

Every coroutine returns only after its data is committed, and raises only `StoreError`.

Acknowledged means: in the file, and safe from the death of this process. With `synchronous="full"` each commit also
survives a power cut; with "normal" every finished turn does, and the file stays intact in any case.

The parts are imported late: a short command needs one or two of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from gshtui.store.engine.record_files import beside
from gshtui.store.engine.store_errors import StoreError, from_sqlite, is_index_damage
from gshtui.store.engine.table import Notice
from gshtui.store.record import database
from gshtui.store.record.database import CHECK_AT_OPEN, Database, Synchronous
from gshtui.store.record.record_writer import RETRY_EVERY, RecordWriter
from gshtui.store.tables.hold_table import HoldTable
from gshtui.system.tasks import cancel_and_wait, start_job

if TYPE_CHECKING:
    from gshtui.store.record.journal import JournalTable
    from gshtui.store.tables.agent_table import AgentTable
    from gshtui.store.tables.call_table import CallTable
    from gshtui.store.tables.checkpoint_table import CheckpointTable
    from gshtui.store.tables.context_tables import ContextTables
    from gshtui.store.tables.grant_table import GrantTable
    from gshtui.store.tables.mail_table import MailTable
    from gshtui.store.tables.memory_table import MemoryTable
    from gshtui.store.tables.message_table import MessageTable
    from gshtui.store.tables.output_table import OutputTable
    from gshtui.store.tables.prompt_table import PromptTable
    from gshtui.store.tables.queue_table import QueueTable
    from gshtui.store.tables.session_table import SessionTable
    from gshtui.store.tables.shell_tables import ShellTables
    from gshtui.store.tables.usage_table import UsageTable
    from gshtui.store.tables.workflow_table import WorkflowTable
    from gshtui.system.files.folder_watch import FolderWatch

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
        database.mark_damaged(path)
        self._on_notice(
            f"The record {path} is damaged: {faults[0]}.",
            "Close every gsh-tui, then start one: it recovers what is readable, and keeps the damaged file.",
        )

    def _quick(self) -> list[str] | None:
        """The faults, or `None` if that is unknown because the check was interrupted or could not read the file."""
        with contextlib.closing(self._open()) as connection:
            self._connection = connection
            try:
                return database.quick_check(connection)
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


CLOSE_DEADLINE = 10.0
"""Seconds to write the queue when the store closes."""


def _silent(text: str, hint: str) -> None:
    """The default for notices: drop them."""


class Store:
    """The record. Made by `open`; always `close` it."""

    def __init__(self, database: Database, on_notice: Notice, retry_every: float) -> None:
        self.path = database.path
        self._database = database
        self._on_notice = on_notice
        self._writer = RecordWriter(database, on_notice, retry_every=retry_every)
        self._checker = IntegrityChecker(database, self._writer, on_notice)
        self.holds = HoldTable(database, self._writer)

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        on_notice: Notice = _silent,
        synchronous: Synchronous = "normal",
        retry_every: float = RETRY_EVERY,
    ) -> Store:
        """Open the record, creating, migrating or recovering it as needed.

        `on_notice` receives what to tell a person (a sentence, and what to do), in this loop; `retry_every`: seconds
        between attempts to write what a full disk refused. Raises `StoreError`: not even reading is possible.
        """
        database = Database(path, synchronous, on_notice)
        await database.ready()
        store = cls(database, on_notice, retry_every)
        store._checker.start()
        return store

    @property
    def readonly(self) -> bool:
        """Nothing can be written while this store is open."""
        return self._database.opened.readonly

    @cached_property
    def sessions(self) -> SessionTable:
        """Conversations, without their messages."""
        from gshtui.store.tables.session_table import SessionTable

        return SessionTable(self._database, self._writer)

    @cached_property
    def messages(self) -> MessageTable:
        """The logs of conversations: append, read, search."""
        from gshtui.store.tables.message_table import MessageTable

        return MessageTable(self._database, self._writer, self._on_notice)

    @cached_property
    def outputs(self) -> OutputTable:
        """Whole outputs of tools and shell commands."""
        from gshtui.store.tables.output_table import OutputTable

        return OutputTable(self._database, self._writer)

    @cached_property
    def journal(self) -> JournalTable:
        """Events, in the order in which they were recorded."""
        from gshtui.store.record.journal import JournalTable

        return JournalTable(self._database, self._writer)

    @cached_property
    def contexts(self) -> ContextTables:
        """What each model request sent, and what was cut."""
        from gshtui.store.tables.context_tables import ContextTables

        return ContextTables(self._database, self._writer, self.outputs)

    @cached_property
    def usage(self) -> UsageTable:
        """What model requests used."""
        from gshtui.store.tables.usage_table import UsageTable

        return UsageTable(self._database, self._writer)

    @cached_property
    def agents(self) -> AgentTable:
        from gshtui.store.tables.agent_table import AgentTable

        return AgentTable(self._database, self._writer)

    @cached_property
    def mail(self) -> MailTable:
        from gshtui.store.tables.mail_table import MailTable

        return MailTable(self._database, self._writer)

    @cached_property
    def checkpoints(self) -> CheckpointTable:
        """Files as they were at prompts."""
        from gshtui.store.tables.checkpoint_table import CheckpointTable

        return CheckpointTable(self._database, self._writer)

    @cached_property
    def memory(self) -> MemoryTable:
        """What agents know beyond one conversation."""
        from gshtui.store.tables.memory_table import MemoryTable

        return MemoryTable(self._database, self._writer)

    @cached_property
    def calls(self) -> CallTable:
        """The shared rooms, and what is said there."""
        from gshtui.store.tables.call_table import CallTable

        return CallTable(self._database, self._writer)

    @cached_property
    def shells(self) -> ShellTables:
        """Commands of shells, and notes between them."""
        from gshtui.store.tables.shell_tables import ShellTables

        return ShellTables(self._database, self._writer, self.outputs)

    @cached_property
    def grants(self) -> GrantTable:
        """What a person has always allowed, per project."""
        from gshtui.store.tables.grant_table import GrantTable

        return GrantTable(self._database, self._writer)

    @cached_property
    def prompts(self) -> PromptTable:
        """What was typed into input lines."""
        from gshtui.store.tables.prompt_table import PromptTable

        return PromptTable(self._database, self._writer)

    @cached_property
    def queue(self) -> QueueTable:
        """Prompts that wait in conversations."""
        from gshtui.store.tables.queue_table import QueueTable

        return QueueTable(self._database, self._writer)

    @cached_property
    def workflows(self) -> WorkflowTable:
        """Runs of workflows, and what became of their steps."""
        from gshtui.store.tables.workflow_table import WorkflowTable

        return WorkflowTable(self._database, self._writer)

    @cached_property
    def changes(self) -> FolderWatch:
        """Tells soon after each commit, of this process and all others, that something is new."""
        from gshtui.system.files.folder_watch import FolderWatch

        log = f"{self.path.name}-wal"
        return FolderWatch(self.path.parent, lambda name: name == log)

    async def check(self) -> list[str]:
        """Everything that is wrong with the file, one sentence each; empty if it is intact. Reads all of it."""
        return await self._checker.full()

    async def close(self) -> None:
        """Write the queue, release what is held, end the thread. Never raises."""
        if "changes" in self.__dict__:
            self.changes.close()
        await self.holds.release_all(CLOSE_DEADLINE)
        await self._writer.close(CLOSE_DEADLINE)
        await self._checker.stop()
        with contextlib.suppress(sqlite3.Error, ValueError):
            await self._database.close()
