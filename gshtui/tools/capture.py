"""A running command's output: taken off a pipe as it comes, all of it to the spool, the end of it to whoever watches.

Lives on the event loop and takes little of its time whatever comes: watchers get the last few kilobytes twenty times a
second, and a flood is let in in portions. Made by `bash`, for one run.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from gshtui.guard.sanitise import Sanitiser
from gshtui.tools.spool import Spool

_PIECE = 256 * 1024
_PORTION = 4 * 1024 * 1024
"""Bytes that are taken before the rest of the program gets its turn."""
_PAUSE = 0.005
_TICK = 0.05
_WATCHED = 16 * 1024


class Capture:
    """Reads one pipe to its end. `write_end` is the child's; close it here once the child has it."""

    def __init__(self, spool: Spool, watch: Callable[[str], None]) -> None:
        """`watch` takes output as it comes, sanitised."""
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
        """Why the output could not be kept, if it could not."""
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop.add_reader(self._read_end, self._readable)

    def close_write_end(self) -> None:
        """Leave the writing to the child alone, so that its end is seen."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    async def ended(self, timeout: float) -> bool:
        """Whether every process that writes has closed the pipe; waits up to `timeout` seconds for it."""
        try:
            async with asyncio.timeout(timeout):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop reading and give out what watchers have not seen yet."""
        self.close_write_end()
        self._stop_reading()
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None
        self._show(last=True)

    def _readable(self) -> None:
        try:
            data = os.read(self._read_end, _PIECE)
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
