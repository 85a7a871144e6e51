"""Writes the observability log: one file per process and day, in batches, off the event loop.

Never makes anyone wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import json
import math
import os
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice, takewhile
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.settings import paths
from gshtui.store.log.log_records import LOGGED, Record, Recorder
from gshtui.system.files import private_files
from gshtui.system.json_types import map_texts
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import keep_on

KEPT_BACK = 20_000
"""Most records waiting while nothing can be written."""
FILE_MOST = 16 * 1024 * 1024
"""Bytes of one file, before the next one begins."""
FOLDER_MOST = 256 * 1024 * 1024
DAYS_MOST = 60
_BATCH = 200
"""Records per write."""
_FRESH = 3600.0
"""Seconds since the last write within which its process may still be writing a file."""


class LogFile:
    """The log files of this process. Not for two threads at once."""

    def __init__(self, folder: Path, redact: Callable[[str], str]) -> None:
        self._folder = folder
        self._redact = redact
        self._name = f"{os.getpid()}-{secrets.token_hex(3)}"
        self._waiting: deque[Record] = deque()
        self._lost = 0
        self._day = ""
        self._part = 0
        self._file = -1
        self._size = 0
        self._torn = False

    def add(self, record: Record) -> None:
        if len(self._waiting) >= KEPT_BACK:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(record)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def write(self) -> bool:
        """Write what waits; return whether everything is in the file. Blocks on the disk."""
        try:
            while self._waiting:
                self._write_some()
        except OSError:
            self.close()
            return False
        return True

    def close(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                os.close(self._file)
        self._file = -1

    def _write_some(self) -> None:
        day = day_of(self._waiting[0]["at"])
        self._open(day)
        batch = list(takewhile(lambda record: day_of(record["at"]) == day, islice(self._waiting, _BATCH)))
        lines = [self._line(record) for record in batch]
        if self._lost:
            text = f"{self._lost} records were lost while the log could not be written."
            lines.append(self._line({"at": time.time(), "type": "error", "where": "log", "message": text}))
        data = b"".join(lines)
        if self._torn:
            data = b"\n" + data
        self._put(data)
        self._lost = 0
        for _ in batch:
            self._waiting.popleft()

    def _put(self, data: bytes) -> None:
        """Write everything, or raise and leave a torn line: the whole batch is then written again."""
        left = memoryview(data)
        before = os.fstat(self._file).st_size
        try:
            while left:
                left = left[os.write(self._file, left) :]
        except OSError:
            self._torn = True
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, before)
                self._torn = False
            raise
        self._torn = False
        self._size += len(data)

    def _line(self, record: Record) -> bytes:
        cleaned = map_texts(record, self._redact)
        at = record["at"]
        head = {"at": round(at, 6), "time": stamp(at)}
        return (
            json.dumps({**head, **{k: v for k, v in cleaned.items() if k != "at"}}, ensure_ascii=False).encode(
                "utf-8", "replace"
            )
            + b"\n"
        )

    def _open(self, day: str) -> None:
        if self._file >= 0 and day == self._day and self._size < FILE_MOST:
            return
        self.close()
        self._part = self._part + 1 if day == self._day else 1
        self._day = day
        if self._folder == paths.logs_dir(create=False):
            paths.logs_dir()  # tightens permissions set by an earlier version
        private_files.make_folder(self._folder)
        tidy(self._folder)
        suffix = f"-{self._part}" if self._part > 1 else ""
        path = self._folder / f"{day}-{self._name}{suffix}.jsonl"
        self._file = private_files.open_file(path, os.O_WRONLY | os.O_APPEND)
        self._size = os.fstat(self._file).st_size


def tidy(folder: Path, now: float | None = None) -> None:
    """Remove the oldest files to stay within the folder's limits, but not those written recently."""
    now = time.time() if now is None else now
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob("*.jsonl"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            found.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in found)
    for changed, size, path in sorted(found):
        if abs(now - changed) < _FRESH or (total <= FOLDER_MOST and now - changed < DAYS_MOST * 86_400):
            continue
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size


def day_of(at: float) -> str:
    return stamp(at)[:10]


def stamp(at: float) -> str:
    """A time as local time, to the millisecond."""
    try:
        return datetime.datetime.fromtimestamp(at).astimezone().isoformat(timespec="milliseconds")
    except (OverflowError, OSError, ValueError):
        return "1970-01-01T00:00:00.000+00:00"


EVERY = 0.25
"""Most seconds between two writes while there is something to write."""
_AGAIN = 5.0
"""Seconds until the next attempt if nothing can be written."""
_CLOSE_WITHIN = 3.0


class LogKeeper:
    """Subscribes when created; `close` writes the rest. `carried(agent)`: another process logs what this agent does."""

    def __init__(
        self,
        bus: Bus,
        folder: Path,
        redact: Callable[[str], str],
        *,
        carried: Callable[[str], bool] = lambda _: False,
        every: float = EVERY,
    ) -> None:
        self.carried = carried
        self._recorder = Recorder()
        self._file = LogFile(folder, redact)
        self._every = every
        self._wake = asyncio.Event()
        self._closing = False
        self._writing = asyncio.Lock()
        self._ending = asyncio.Event()
        self._subscription = bus.subscribe(self._take, *LOGGED, name="log")
        self._task = keep_on(self._serve, "the log")

    async def close(self) -> None:
        """Write what waits, and end. Never raises; waits at most a few seconds."""
        await self._subscription.drained()
        self._subscription.unsubscribe()
        self._closing = True
        self._ending.set()
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with time_limit(_CLOSE_WITHIN):
                await asyncio.shield(self._task)

    async def flush(self) -> None:
        """Write what has happened until now, for somebody who reads the log next. Never raises."""
        await self._subscription.drained()
        await self._write()

    async def _write(self) -> bool:
        async with self._writing:
            return await asyncio.to_thread(self._file.write)

    def _take(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if self.carried(getattr(event, "agent", "")):
                continue
            if (record := self._recorder.record(event)) is not None:
                at = event.at if event.at and math.isfinite(event.at) else time.time()
                self._file.add({"at": at, **record})
                self._wake.set()

    async def _serve(self) -> None:
        while not (self._closing and not self._file.waiting):
            await self._wake.wait()
            self._wake.clear()
            if not self._closing:
                await self._pause(self._every)
            if not await self._write():
                if self._closing:
                    break
                self._wake.set()
                await self._pause(_AGAIN)
        await asyncio.to_thread(self._file.close)

    async def _pause(self, seconds: float) -> None:
        """Wait before the next attempt, unless it is the last one."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(seconds):
                await self._ending.wait()
