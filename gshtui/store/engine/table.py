"""What every part of the record shares: it reads on the connection's thread, and writes through the one writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Protocol, TypeVar

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

    Its coroutines raise only `StoreError`, and return once their data is committed.
    """

    def __init__(self, thread: ReadThread, writer: WriteQueue) -> None:
        self._read = thread.run
        self._write = writer.submit
