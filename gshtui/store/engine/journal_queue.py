"""Journal entries waiting to be written, and writing them.

Limits the queue and the entries without a conversation; beyond that, drops the oldest and counts them.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Sequence

import msgspec

LOOSE_KEPT = 20_000
"""Entries kept that belong to no conversation (a window opened, a setting changed)."""
QUEUE_LIMIT = 64 * 1024 * 1024
"""Bytes of entries that may wait: hours of work with a full disk."""


class JournalEntry(msgspec.Struct, frozen=True):
    """One event on its way into the journal."""

    session: str
    type: str
    at: float
    data: bytes
    lasting: bool = False
    """To be made safe from a power cut at once, with everything committed before."""


def insert(connection: sqlite3.Connection, entries: Sequence[JournalEntry]) -> None:
    connection.executemany(
        "INSERT INTO journal (session, type, at, data) VALUES (?, ?, ?, ?)",
        [(entry.session, entry.type, entry.at, entry.data.decode()) for entry in entries],
    )


def trim(connection: sqlite3.Connection) -> None:
    """Delete the oldest entries without a conversation; the others are deleted with theirs."""
    connection.execute(
        "DELETE FROM journal WHERE session = '' AND seq <="
        " (SELECT seq FROM journal WHERE session = '' ORDER BY seq DESC LIMIT 1 OFFSET ?)",
        (LOOSE_KEPT,),
    )


class JournalQueue:
    """A queue of entries that tracks its size."""

    def __init__(self, limit: int = QUEUE_LIMIT) -> None:
        self._limit = limit
        self._entries: deque[JournalEntry] = deque()
        self._size = 0
        self.lost = 0
        """Entries given up since `pop_lost`."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: JournalEntry) -> None:
        self._entries.append(entry)
        self._size += len(entry.data)
        self._keep_limit()

    def _keep_limit(self) -> None:
        while self._size > self._limit and len(self._entries) > 1:
            self._size -= len(self._entries.popleft().data)
            self.lost += 1

    def pop(self, count: int) -> list[JournalEntry]:
        """Remove and return the oldest `count` entries."""
        taken = [self._entries.popleft() for _ in range(min(count, len(self._entries)))]
        self._size -= sum(len(entry.data) for entry in taken)
        return taken

    def put_back(self, entries: Sequence[JournalEntry]) -> None:
        """Put back in front what was taken and not written."""
        self._entries.extendleft(reversed(entries))
        self._size += sum(len(entry.data) for entry in entries)
        self._keep_limit()

    def pop_lost(self) -> int:
        """The number of dropped entries; resets the count."""
        lost, self.lost = self.lost, 0
        return lost
