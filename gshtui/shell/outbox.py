"""What is still to be delivered over a connection that may break: numbered lines, kept until they are acknowledged.

Bounded in memory; what is more goes to a file and comes back in order. When even that is full or the disk is, the
newest are given up and counted: what they told is in the record all the same. Held by link and relay.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from pathlib import Path

from gshtui.shell.lines import numbered
from gshtui.system import private_files

IN_MEMORY = 4 * 1024 * 1024
ON_DISK = 256 * 1024 * 1024
_BACK_AT_ONCE = 1024 * 1024
"""Bytes that are read back from the file at a time."""


class Outbox:
    """A queue of lines. `spill` is the file for what does not fit into memory; `None`: there is none."""

    def __init__(self, spill: Path | None = None, *, in_memory: int = IN_MEMORY, on_disk: int = ON_DISK) -> None:
        self.acked = 0
        """The last line that the other side has."""
        self.lost = 0
        """Lines that were given up."""
        self._next = 1
        self._lines: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._in_memory = in_memory
        self._on_disk = on_disk
        self._path = spill
        self._file: int | None = None
        self._written = 0
        self._read: int = 0
        self._first_in_file = 0

    def __len__(self) -> int:
        """Lines that are not acknowledged, those given up included."""
        return self._next - 1 - self.acked

    @property
    def last(self) -> int:
        """The number of the newest line, 0 before the first."""
        return self._next - 1

    @property
    def spilled(self) -> int:
        """Bytes that wait in the file."""
        return self._written - self._read

    def put(self, event_line: bytes) -> int:
        """Take an encoded event; its number, 0 when it had to be given up."""
        line = numbered(event_line, self._next)
        if not self.spilled and self._size + len(line) <= self._in_memory:
            self._lines.append((self._next, line))
            self._size += len(line)
        elif not self._to_file(line):
            self.lost += 1
            return 0
        self._next += 1
        return self._next - 1

    def after(self, number: int, limit: int = 256) -> list[tuple[int, bytes]]:
        """The next lines behind this number, in order; nothing when all were given out."""
        if not self._lines:
            self._refill()
        found: list[tuple[int, bytes]] = []
        if self._lines:
            first = self._lines[0][0]
            start = max(0, number + 1 - first)
            for at in range(start, min(len(self._lines), start + limit)):
                found.append(self._lines[at])
        if not found and self.spilled and self._lines and number >= self._lines[-1][0]:
            self._refill()
            return self.after(number, limit) if self._lines[-1][0] > number else []
        return found

    def ack(self, number: int) -> None:
        """The other side has everything up to this number."""
        self.acked = max(self.acked, min(number, self._next - 1))
        while self._lines and self._lines[0][0] <= self.acked:
            self._size -= len(self._lines.popleft()[1])

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _to_file(self, line: bytes) -> bool:
        if self._path is None or self._written + len(line) > self._on_disk:
            return False
        try:
            if self._file is None:
                with contextlib.suppress(FileNotFoundError):
                    self._path.unlink()  # of an earlier life; what it held is in the record
                self._file = private_files.make_file(self._path)
            done = os.pwrite(self._file, line, self._written)
        except OSError:
            return False
        if done < len(line):
            return False  # the disk is full: the next line overwrites the torn one
        if not self.spilled:
            self._first_in_file = self._next
        self._written += done
        return True

    def _refill(self) -> None:
        """Take the next lines from the file into memory."""
        if self._file is None or not self.spilled:
            return
        size = _BACK_AT_ONCE
        while True:
            raw = os.pread(self._file, min(size, self.spilled), self._read)
            end = raw.rfind(b"\n") + 1
            if end or len(raw) >= self.spilled or not raw:
                break
            size *= 2  # one line is longer than that
        for line in raw[:end].split(b"\n")[:-1]:
            self._lines.append((self._first_in_file, line + b"\n"))
            self._size += len(line) + 1
            self._first_in_file += 1
        self._read += end
        if not self.spilled:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            self._written = self._read = 0
