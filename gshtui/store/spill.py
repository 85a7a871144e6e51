"""Journal entries that wait to be written: in memory, in order, up to a limit.

Owns the limit; refuses nothing below it, and beyond it gives up the oldest and counts them. Held by the writer.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

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
        self._keep_limit()

    def _keep_limit(self) -> None:
        while self._size > self._limit and len(self._entries) > 1:
            self._size -= len(self._entries.popleft().data)
            self.lost += 1

    def take(self, count: int) -> list[Entry]:
        """The oldest `count` entries, out of the queue."""
        taken = [self._entries.popleft() for _ in range(min(count, len(self._entries)))]
        self._size -= sum(len(entry.data) for entry in taken)
        return taken

    def put_back(self, entries: Sequence[Entry]) -> None:
        """What was taken and not written, in front again."""
        self._entries.extendleft(reversed(entries))
        self._size += sum(len(entry.data) for entry in entries)
        self._keep_limit()

    def take_lost(self) -> int:
        """How many were given up, counted anew from now on."""
        lost, self.lost = self.lost, 0
        return lost
