"""What every part of the record shares: it reads on the connection's thread, and writes through the one writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from types import CoroutineType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
Notice = Callable[[str, str], None]
"""Receives what to tell a person: a sentence, and what to do."""


class ReadThread(Protocol):
    """The thread of the one connection."""

    async def run(self, work: Work[T]) -> T:
        """Run `work` between two batches of the writer. Raises `StoreError`."""
        ...


class WriteQueue(Protocol):
    """The one writer."""

    async def submit(self, work: Work[T]) -> T:
        """Run `work` in a transaction; returns once it is committed. Raises `StoreError`."""
        ...


class Table:
    """A part of the record, shared by all processes.

    Its coroutines raise only `StoreError`, and return once their data is committed. Most are a function of the table's
    module, which says what they do, given the connection.
    """

    def __init__(self, thread: ReadThread, writer: WriteQueue) -> None:
        self._read = thread.run
        self._write = writer.submit

    @staticmethod
    def reads(
        work: Callable[Concatenate[sqlite3.Connection, P], T],
    ) -> Callable[Concatenate[Table, P], CoroutineType[Any, Any, T]]:
        """A method that runs `work` on the connection's thread."""

        async def read(self: Table, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self._read(lambda connection: work(connection, *args, **kwargs))

        return read

    @staticmethod
    def writes(
        work: Callable[Concatenate[sqlite3.Connection, P], T],
    ) -> Callable[Concatenate[Table, P], CoroutineType[Any, Any, T]]:
        """A method that runs `work` in a transaction."""

        async def write(self: Table, *args: P.args, **kwargs: P.kwargs) -> T:
            return await self._write(lambda connection: work(connection, *args, **kwargs))

        return write
