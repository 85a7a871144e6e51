"""Journal entries that wait to be written, and writing them.

Owns the limit of the queue and of what is kept of no conversation; beyond it gives up the oldest, and counts them.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Sequence

import msgspec

LOOSE_KEPT = 20_000
"""Entries of no conversation (a window opened, a setting changed) that are kept."""
QUEUE_LIMIT = 64 * 1024 * 1024
"""Bytes of entries that may wait: hours of work with a full disk."""


class JournalEntry(msgspec.Struct, frozen=True):
    """One event on its way into the journal."""

    session: str
    type: str
    at: float
    data: bytes
    lasting: bool = False
    """To be safe from a power cut at once, with all that was committed before."""


def insert(connection: sqlite3.Connection, entries: Sequence[JournalEntry]) -> None:
    """Add entries at the end."""
    connection.executemany(
        "INSERT INTO journal (session, type, at, data) VALUES (?, ?, ?, ?)",
        [(entry.session, entry.type, entry.at, entry.data.decode()) for entry in entries],
    )


def trim(connection: sqlite3.Connection) -> None:
    """Forget the oldest of what belongs to no conversation; the rest goes with its conversation."""
    connection.execute(
        "DELETE FROM journal WHERE session = '' AND seq <="
        " (SELECT seq FROM journal WHERE session = '' ORDER BY seq DESC LIMIT 1 OFFSET ?)",
        (LOOSE_KEPT,),
    )


class JournalQueue:
    """A queue of entries that knows its size."""

    def __init__(self, limit: int = QUEUE_LIMIT) -> None:
        self._limit = limit
        self._entries: deque[JournalEntry] = deque()
        self._size = 0
        self.lost = 0
        """Entries given up since `pop_lost`."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: JournalEntry) -> None:
        """Put an entry behind the others."""
        self._entries.append(entry)
        self._size += len(entry.data)
        self._keep_limit()

    def _keep_limit(self) -> None:
        while self._size > self._limit and len(self._entries) > 1:
            self._size -= len(self._entries.popleft().data)
            self.lost += 1

    def pop(self, count: int) -> list[JournalEntry]:
        """The oldest `count` entries, out of the queue."""
        taken = [self._entries.popleft() for _ in range(min(count, len(self._entries)))]
        self._size -= sum(len(entry.data) for entry in taken)
        return taken

    def put_back(self, entries: Sequence[JournalEntry]) -> None:
        """What was taken and not written, in front again."""
        self._entries.extendleft(reversed(entries))
        self._size += sum(len(entry.data) for entry in entries)
        self._keep_limit()

    def pop_lost(self) -> int:
        """How many were given up, counted anew from now on."""
        lost, self.lost = self.lost, 0
        return lost
