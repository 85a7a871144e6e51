"""Read a running command's output from its pipe, keep it on disk up to a limit, and return it as sanitised text."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator

import msgspec

from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import Sanitiser
from gshtui.text.truncation import Gap, is_too_long, marker, original_size, shorten
from gshtui.tools.files.file_type import describe, is_binary

_PIECE = 128 * 1024


class Spool:
    """Bytes in order of arrival; beyond `limit`, only the first and the last half."""

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._file = tempfile.TemporaryFile(prefix="gsh-output-")  # noqa: SIM115 - lives as long as the run
        self.size = 0
        """Bytes that arrived, kept or not."""

    def write(self, data: bytes) -> None:
        """Append data. Raises `OSError`: the disk is full."""
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
        """Bytes dropped from the middle."""
        return max(0, self.size - 2 * self._half)

    def head(self, size: int) -> bytes:
        return os.pread(self._file.fileno(), min(size, self.size, self._half), 0)

    def pieces(self) -> Iterator[bytes]:
        """Yield the kept data in order, with an empty piece where data was dropped."""
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
        self._file.close()


_READ_SIZE = 256 * 1024
_PORTION = 4 * 1024 * 1024
"""Bytes to read before other tasks get their turn."""
_PAUSE = 0.005
_TICK = 0.05
_WATCHED = 16 * 1024


class Capture:
    """Reads one pipe to its end. Close `write_end` here once the child has it."""

    def __init__(self, spool: Spool, watch: Callable[[str], None], source: int = -1) -> None:
        """Args:
        watch: called with sanitised output as it arrives.
        source: a pipe to read that others will read later, and which is not closed here; by default a new one.
        """
        self._loop = asyncio.get_running_loop()
        self._spool = spool
        self._watch = watch
        self._live = bytearray()
        self._skipped = 0
        self._sanitiser = Sanitiser()
        self._tick: asyncio.TimerHandle | None = None
        self._pause: asyncio.TimerHandle | None = None
        self._portion = 0
        self._ended = asyncio.Event()
        self.fault = ""
        """Why the output could not be kept; empty if it was."""
        self._read_end, self.write_end = os.pipe() if source < 0 else (os.dup(source), -1)
        os.set_blocking(self._read_end, False)
        self._loop.add_reader(self._read_end, self._readable)

    def close_write_end(self) -> None:
        """Close our copy of the write end, so that the pipe ends when the child's copy does."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    async def ended(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds for every writer to close the pipe; return whether they did."""
        try:
            async with time_limit(timeout):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def drain(self) -> None:
        """Read what is in the pipe by now, when its writers write no more."""
        while self._read_end >= 0:
            try:
                data = os.read(self._read_end, _READ_SIZE)
            except BlockingIOError:
                return
            if not data:
                return
            self._keep(data)

    def close(self) -> None:
        """Stop reading and pass on what watchers have not seen yet."""
        self.close_write_end()
        self._stop_reading()
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        self._show(last=True)

    def _readable(self) -> None:
        try:
            data = os.read(self._read_end, _READ_SIZE)
        except BlockingIOError:
            return
        if not data:
            self._stop_reading()
            return
        self._keep(data)
        self._portion += len(data)
        if self._portion >= _PORTION:
            self._portion = 0
            self._loop.remove_reader(self._read_end)
            self._pause = self._loop.call_later(_PAUSE, self._resume)

    def _resume(self) -> None:
        self._pause = None
        if self._read_end >= 0:
            self._loop.add_reader(self._read_end, self._readable)

    def _keep(self, data: bytes) -> None:
        if not self.fault:
            try:
                self._spool.write(data)
            except OSError as error:
                self.fault = error.strerror or str(error)
        self._live += data
        if (over := len(self._live) - _WATCHED) > 0:
            self._skipped += over
            del self._live[:over]
        if self._tick is None:
            self._show()
            self._tick = self._loop.call_later(_TICK, self._again)

    def _again(self) -> None:
        self._tick = None
        if self._live:
            self._show()
            self._tick = self._loop.call_later(_TICK, self._again)

    def _show(self, *, last: bool = False) -> None:
        text = ""
        if self._skipped:
            text = f"{self._sanitiser.finish()}\n⟨… {self._skipped:,} bytes more …⟩\n"
            self._sanitiser = Sanitiser()
            self._skipped = 0
        text += self._sanitiser.feed(bytes(self._live)) + self._sanitiser.flush()
        self._live.clear()
        if last:
            text += self._sanitiser.finish()
        if text:
            self._watch(text)

    def _stop_reading(self) -> None:
        if self._read_end < 0:
            return
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._read_end)
        os.close(self._read_end)
        self._read_end = -1
        self._ended.set()


_SECONDS = 20.0
"""Time to make an output readable. Only hostile output takes this long; its middle is then left out."""
_LATE = 8


def output_text(spool: Spool) -> tuple[str, Gap | None, int]:
    """Return everything that was kept, sanitised, where data is missing, and the number of bytes received.

    Binary data is only described. The byte count covers readable text and excludes terminal control sequences.
    """
    head = spool.head(8192)
    if is_binary(head):
        kind = describe(head)
        said = f"[binary output: {kind}, {spool.size:,} bytes; not shown. Redirect it to a file instead.]"
        return said, None, spool.size
    until = time.monotonic() + _SECONDS
    sanitiser = Sanitiser()
    before: list[str] = []
    after: list[str] = []
    parts = before
    late: deque[bytes] = deque()
    lost = skipped = 0
    for piece in spool.pieces():
        if not piece:
            lost += spool.lost + skipped + sum(map(len, late))
            late.clear()
            skipped = 0
            before.append(sanitiser.finish())
            sanitiser, parts = Sanitiser(), after
        elif time.monotonic() < until:
            parts.append(sanitiser.feed(piece))
        else:
            late.append(piece)
            skipped += len(late.popleft()) if len(late) > _LATE else 0
    if skipped:
        parts.append(sanitiser.finish())
        # Drop what lies between two gaps, so that one gap remains.
        lost += skipped + sum(len(part.encode(errors="replace")) for part in after)
        after.clear()
        sanitiser, parts = Sanitiser(), after
    parts.extend(sanitiser.feed(piece) for piece in late)
    parts.append(sanitiser.finish())
    start = "".join(before)
    if not lost:
        return start, None, original_size(start)
    said = marker(lost)
    text = f"{start}{said}{''.join(after)}"
    gap = Gap(len(start), len(start) + len(said), lost)
    return text, gap, original_size(text, gap)


class ShownOutput(msgspec.Struct, frozen=True):
    """Output as shown: `output` alone, `text` with the notes, and whether something was left out."""

    output: str
    text: str
    cut: bool


def show_output(full: str, limit: int, notes: str, empty: str, gap: Gap | None = None) -> ShownOutput:
    """Join the output and its notes within a limit; `empty` replaces an empty output.

    Complete output loses its trailing blank lines; shortened output keeps them, so that line numbers add up.
    """
    whole = full.rstrip("\n")
    if is_too_long(whole, limit, notes=notes):
        text = shorten(full, limit, notes=notes, gap=gap)
        return ShownOutput(text.removesuffix(notes), text, True)
    return ShownOutput(full, "\n".join(filter(None, (whole or empty, notes))), False)
