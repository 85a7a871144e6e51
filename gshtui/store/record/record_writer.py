"""The only writer of a process: operations queue up, and each batch is one transaction.

Answers after the commit, waits for other processes, and handles a full disk. The tables of `Store` submit the
operations.
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from gshtui.store.engine.journal_queue import JournalEntry, JournalQueue, insert
from gshtui.store.engine.migrations import VERSION
from gshtui.store.engine.store_errors import StoreError, closed, from_sqlite, is_busy, spoils_all
from gshtui.store.engine.table import Notice, Work
from gshtui.store.record.database import Database
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import keep_on

T = TypeVar("T")

BATCH = 256
"""Most operations in one transaction; journal entries are counted separately."""
JOURNAL_BATCH = 2_000
BUSY_DEADLINE = 10.0
"""Seconds that an operation waits for other processes' transactions."""
RETRY_EVERY = 2.0
"""Seconds between two attempts to write what has piled up."""


class _Operation(msgspec.Struct):
    call: Work[Any]
    answer: asyncio.Future[Any]


class _Result(msgspec.Struct):
    value: object = None
    error: Exception | None = None


class RecordWriter:
    """Group commit. `submit` waits for the commit, `record` does not."""

    def __init__(self, database: Database, on_notice: Notice, *, retry_every: float = RETRY_EVERY) -> None:
        self._database = database
        self._on_notice = on_notice
        self._retry_every = retry_every
        self._operations: deque[_Operation] = deque()
        self._journal = JournalQueue()
        self._wake = asyncio.Event()
        self._closing = False
        self._given_up = False
        self._failing: StoreError | None = None
        self._task = keep_on(self._serve, "the record's writer")

    async def submit(self, work: Work[T]) -> T:
        """Run `work` in a transaction; return once it is committed.

        If the caller is cancelled meanwhile, the operation stays in the queue: it is committed or not, as a whole.
        Raises `StoreError`: it could not be committed.
        """
        if self._closing:
            raise closed()
        if not await self._database.writable():
            path = self._database.path
            hint = f"Make {path.parent} writable, or make room there; recording then continues by itself."
            raise StoreError("readonly", f"The record {path} is open read-only.", hint=hint)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._operations.append(_Operation(work, answer))
        self._wake.set()
        return await answer

    def record(self, entry: JournalEntry) -> None:
        """Queue a journal entry. While nothing can be written, entries wait in memory."""
        if not (self._closing or self._database.opened.readonly):
            self._journal.add(entry)
            self._wake.set()

    async def close(self, deadline: float) -> None:
        """Commit the queue within `deadline` seconds, then stop; the rest is reported and dropped."""
        self._closing = True
        self._wake.set()
        if not await self._ended(deadline):
            # What has not begun will not begin; what has is awaited, so that each answer is true.
            self._given_up = True
            if not await self._ended(deadline):
                self._task.cancel()
        self._fail_all(_too_late())
        if lost := len(self._journal) + self._journal.lost:
            self._on_notice(f"{lost} events of this window could not be recorded.", "The conversation is not affected.")
            self._journal = JournalQueue()

    async def _ended(self, deadline: float) -> bool:
        try:
            async with time_limit(deadline):
                await asyncio.shield(self._task)
        except TimeoutError:
            return False
        return True

    async def _serve(self) -> None:
        while not (self._given_up or (self._closing and not self._operations and not self._owes_journal())):
            await self._wait()
            while not self._given_up and (self._operations or self._journal or self._failing):
                if not await self._write_once():
                    break

    def _owes_journal(self) -> bool:
        """On closing, do not wait for entries once the disk has refused them."""
        return bool(self._journal) and self._failing is None

    async def _wait(self) -> None:
        """Wait until there is something to do, or it is time to retry."""
        try:
            async with time_limit(self._retry_every if self._failing else None):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _write_once(self) -> bool:
        """Run one transaction. Return whether to continue at once."""
        operations = [self._operations.popleft() for _ in range(min(BATCH, len(self._operations)))]
        # While the disk refuses, write callers' operations alone: they are small, and may fit where the backlog does
        # not.
        entries = [] if self._failing and operations else self._journal.pop(JOURNAL_BATCH)
        works = [operation.call for operation in operations]
        try:
            results = await self._transact(works if works or entries else [_probe], entries)
        except Exception as error:  # this task survives whatever an operation or an entry contains
            problem = from_sqlite(error, self._database.path)
            self._keep(entries, problem)
            self._failed(problem)
            self._answer(operations, [_Result(error=problem)] * len(operations))
            return bool(self._operations)
        except BaseException:
            self._journal.put_back(entries)
            self._answer(operations, [_Result(error=_too_late())] * len(operations))
            raise
        self._answer(operations, results)
        self._succeeded()
        return True

    def _keep(self, entries: Sequence[JournalEntry], problem: StoreError) -> None:
        """Requeue unwritten entries, except those that no table would ever accept."""
        if problem.kind == "invalid":
            self._journal.lost += len(entries)
        else:
            self._journal.put_back(entries)

    async def _transact(self, works: Sequence[Work[Any]], entries: Sequence[JournalEntry]) -> list[_Result]:
        """Commit, retrying while another process is writing."""
        deadline = time.monotonic() + BUSY_DEADLINE
        while True:
            try:
                return await self._database.run(lambda connection: self._commit(connection, works, entries))
            except StoreError as error:
                if error.kind != "busy" or time.monotonic() > deadline:
                    raise
                if self._given_up:
                    raise _too_late() from error
            # The thread is free for readers meanwhile.
            await asyncio.sleep(random.uniform(0.002, 0.02))

    def _commit(
        self, connection: sqlite3.Connection, works: Sequence[Work[Any]], entries: Sequence[JournalEntry]
    ) -> list[_Result]:
        """Commit all of it in one transaction; an operation that fails by itself is undone alone."""
        lasting = self._database.synchronous == "normal" and any(entry.lasting for entry in entries)
        if lasting:
            connection.execute("PRAGMA synchronous = FULL")
        try:
            connection.execute("BEGIN IMMEDIATE")
            if self._given_up:
                raise _too_late()
            results = [_one(connection, work) for work in works]
            if entries:
                insert(connection, entries)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            if lasting:
                connection.execute("PRAGMA synchronous = NORMAL")
        return results

    def _answer(self, operations: Sequence[_Operation], results: Sequence[_Result]) -> None:
        for operation, result in zip(operations, results, strict=False):
            if operation.answer.done():
                continue
            if result.error is None:
                operation.answer.set_result(result.value)
            else:
                operation.answer.set_exception(from_sqlite(result.error, self._database.path))

    def _fail_all(self, error: StoreError) -> None:
        while self._operations:
            operation = self._operations.popleft()
            if not operation.answer.done():
                operation.answer.set_exception(error)

    def _failed(self, error: StoreError) -> None:
        if self._given_up:
            return
        if self._failing is None or self._failing.kind != error.kind:
            self._on_notice(error.message + " Events are waiting in memory.", error.hint)
        self._failing = error

    def _succeeded(self) -> None:
        if self._failing is None or self._journal:
            return
        self._failing = None
        lost = self._journal.pop_lost()
        text = f"Recording continues; {lost} events were lost meanwhile." if lost else "Recording continues."
        self._on_notice(text, "")


def _too_late() -> StoreError:
    return StoreError("closed", "The record was closed before this was written.")


def _probe(connection: sqlite3.Connection) -> None:
    """Rewrite an unchanged page, to see whether there is room again."""
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _one(connection: sqlite3.Connection, work: Work[Any]) -> _Result:
    connection.execute("SAVEPOINT operation")
    try:
        value = work(connection)
    except Exception as error:
        if spoils_all(error) or is_busy(error) or not connection.in_transaction:
            raise
        connection.execute("ROLLBACK TO operation")
        connection.execute("RELEASE operation")
        return _Result(error=error)
    connection.execute("RELEASE operation")
    return _Result(value)
