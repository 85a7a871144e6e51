"""The whole output of a command, kept on disk: the first half and the last half of a limit, however much comes.

Takes no more memory than one piece. Made by `bash`, for one run; closed when its text has been taken out.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

_PIECE = 128 * 1024


class Spool:
    """Bytes in the order they came; of more than `limit`, the first and the last half."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._file = tempfile.TemporaryFile(prefix="gsh-output-")  # noqa: SIM115 - lives as long as the run
        self.size = 0
        """Bytes that came, kept or not."""

    def write(self, data: bytes) -> None:
        """Take more.

        Raises:
            OSError: the disk is full.
        """
        at = self.size
        self.size += len(data)
        if len(data) > self._half * 2:
            head = data[: max(0, self._half - at)]
            self._put(head, at)
            cut = len(data) - self._half
            at, data = at + cut, data[cut:]
        while data:
            room = self._half - at if at < self._half else self._half - (at - self._half) % self._half
            self._put(data[:room], at)
            at, data = at + room, data[room:]

    def _put(self, data: bytes, at: int) -> None:
        place = at if at < self._half else self._half + (at - self._half) % self._half
        while data:
            written = os.pwrite(self._file.fileno(), data, place)
            place, data = place + written, data[written:]

    @property
    def lost(self) -> int:
        """Bytes in the middle that are not kept."""
        return max(0, self.size - 2 * self._half)

    def head(self, size: int) -> bytes:
        """The first bytes."""
        return os.pread(self._file.fileno(), min(size, self.size, self._half), 0)

    def pieces(self) -> Iterator[bytes]:
        """What is kept, in order; an empty piece stands for what is lost."""
        yield from self._range(0, min(self.size, self._half))
        if self.size <= self._half:
            return
        if self.lost:
            yield b""
            turn = self._half + (self.size - self._half) % self._half
            yield from self._range(turn, 2 * self._half)
            yield from self._range(self._half, turn)
        else:
            yield from self._range(self._half, self.size)

    def _range(self, start: int, end: int) -> Iterator[bytes]:
        while start < end:
            piece = os.pread(self._file.fileno(), min(_PIECE, end - start), start)
            if not piece:
                return
            yield piece
            start += len(piece)

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()
