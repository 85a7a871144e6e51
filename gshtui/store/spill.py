"""Journal entries that wait to be written: in memory, in order, up to a limit.

Owns the limit; refuses nothing below it, and beyond it gives up the oldest and counts them. Held by the writer.
"""

from __future__ import annotations

from collections import deque
from itertools import islice

from gshtui.store.journal import Entry

LIMIT = 64 * 1024 * 1024
"""Bytes of entries that may wait: hours of work with a full disk."""


class Spill:
    """A queue of entries that knows its size."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._entries: deque[Entry] = deque()
        self._size = 0
        self.lost = 0
        """Entries given up since `take_lost`."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: Entry) -> None:
        """Put an entry behind the others."""
        self._entries.append(entry)
        self._size += len(entry.data)
        while self._size > self._limit and len(self._entries) > 1:
            self._size -= len(self._entries.popleft().data)
            self.lost += 1

    def peek(self, count: int) -> list[Entry]:
        """The oldest `count` entries, which stay."""
        return list(islice(self._entries, count))

    def drop(self, count: int) -> None:
        """Forget the oldest `count`: they are written."""
        for _ in range(count):
            self._size -= len(self._entries.popleft().data)

    def take_lost(self) -> int:
        """How many were given up, counted anew from now on."""
        lost, self.lost = self.lost, 0
        return lost
