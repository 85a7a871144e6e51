"""Takes shells' lines into the record: pairs them, saves batches, then publishes and acknowledges, in this order.

Also reads the spool files of shells; never acknowledges, and never empties, what is not committed.

The git branches of the folders that commands run in, read from git's files and cached for a moment.

Reads in a thread, so that a folder on a dead network drive blocks nobody. Called by the intake.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import ShellCommandStarted, ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.settings.git_info import branch
from gshtui.shell import spool
from gshtui.shell.pairing import PairedLine, Pairing, PairingResult
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.files import private_files
from gshtui.system.files.folder_watch import FolderWatch, until_calm_look
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import report

FRESH = 2.0
"""Seconds for which a branch is believed."""
WITHIN = 0.5
"""Seconds that reading may take; a folder that takes longer has no branch for now."""
_KEPT = 500


class BranchCache:
    """Answers at once for folders it has examined."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}

    def branch_of(self, folder: str) -> str:
        """The branch at the last look at the folder; empty if there was none."""
        return self._known.get(folder, ("", 0.0))[0]

    async def refresh(self, folders: Iterable[str]) -> None:
        """Look at these, unless that was a moment ago."""
        now = time.monotonic()
        wanted = [name for name in set(folders) if name.startswith("/") and self._stale(name, now)]
        if not wanted:
            return
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known |= {name: (self.branch_of(name), now) for name in wanted}
        with contextlib.suppress(TimeoutError):
            async with time_limit(WITHIN):
                found = await asyncio.to_thread(lambda: {name: _branch(name) for name in wanted})
                self._known |= {name: (said, now) for name, said in found.items()}

    def _stale(self, folder: str, now: float) -> bool:
        known = self._known.get(folder)
        return known is None or now - known[1] > FRESH


def _branch(folder: str) -> str:
    try:
        return branch(Path(folder))
    except (OSError, ValueError):
        return ""


BATCH = 250
"""Most lines stored in one piece."""
WAITING = 4_000
"""Lines that may wait before shells are read more slowly."""
_AGAIN = 0.5
"""Seconds until the record is tried again."""


Kept = Callable[[ShellRecord], None]


class _Line(msgspec.Struct):
    said: PairedLine
    done: Callable[[], None] | None


class LineIntake:
    """`add_line` queues a line; `run` stores them until it is cancelled."""

    def __init__(
        self, store: Store, pairing: Pairing, branches: BranchCache, publish: Callable[[Event], None], kept: Kept
    ) -> None:
        """
        Args:
            publish: receives what happened, once it is stored.
            kept: receives each stored record before it is published.
        """
        self._store = store
        self._pairing = pairing
        self._branches = branches
        self._publish = publish
        self._on_stored = kept
        self._lines: deque[_Line] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._closed = False
        self.stored = 0
        """The number of lines stored so far."""

    def add_line(self, said: PairedLine, done: Callable[[], None] | None = None) -> None:
        """Accept a line. Never blocks. `done` is called once it is stored. After the record was closed: nothing."""
        if self._closed:
            return
        self._lines.append(_Line(said, done))
        self._idle.clear()
        self._wake.set()
        if len(self._lines) >= WAITING:
            self._room.clear()

    async def wait_for_room(self) -> None:
        """Wait until more can be taken."""
        await self._room.wait()

    async def wait_until_stored(self) -> None:
        """Wait until every accepted line is stored. Raises `StoreError` if the record takes nothing any more."""
        await self._idle.wait()
        if self._closed:
            raise StoreError("closed", "The record takes nothing any more.")

    async def run(self) -> None:
        """Store accepted lines, in order."""
        while True:
            if not self._lines:
                self._wake.clear()
                self._idle.set()
                await self._wake.wait()
            lines = [self._lines.popleft() for _ in range(min(BATCH, len(self._lines)))]
            try:
                await self._store_batch(lines)
            except _RecordClosed:
                self._closed = True
                self._idle.set()
                self._room.set()
                return
            except Exception as error:  # a line that nobody can take costs its batch; who sent it sends the next one
                report("the intake of shells", error, f"{len(lines)} lines from shells are missing from the log.")
                for line in lines:
                    if line.done is not None:
                        line.done()
            if len(self._lines) < WAITING // 2:
                self._room.set()
            await asyncio.sleep(0)

    async def store_records(self, records: Sequence[ShellRecord], notes: Sequence[tuple[ShellNote, int]] = ()) -> None:
        """Store and publish records of another origin. Raises `StoreError`."""
        kept, notes_kept = await self._store.shells.add_all(records, notes)
        self.publish_stored(kept, notes_kept)

    def publish_stored(self, records: Sequence[ShellRecord], notes: Sequence[ShellNote | None] = ()) -> None:
        for record in records:
            if record.id:
                self._on_stored(record)
                self._publish(ShellRecorded(record=record))
        for note in notes:
            if note is not None and (event := event_of(note)) is not None:
                self._publish(event)

    async def _store_batch(self, lines: Sequence[_Line]) -> None:
        begun = [line.said.event for line in lines if isinstance(line.said.event, ShellCommandStarted)]
        await self._branches.refresh(event.cwd for event in begun)
        taken = self._pairing.add_lines([line.said for line in lines], time.time())
        kept, notes = await self._store_result(taken)
        self.publish_stored(kept, notes)
        self.stored += len(lines)
        for line in lines:
            if line.done is not None:
                line.done()

    async def _store_result(self, taken: PairingResult) -> tuple[list[ShellRecord], list[ShellNote | None]]:
        """Keep it, however long the record needs; what no record would ever take is left out."""
        newest = {(record.shell, record.number): record for record in taken.records}
        records = tuple(newest.values())
        while True:
            try:
                result = await self._store.shells.add_all(records, taken.notes)
                for info in taken.shells.values():
                    await self._store.shells.put_shell(info.shell, msgspec.json.encode(info).decode(), time.time())
                if taken.ended:
                    await self._store.shells.close_lost(taken.ended)
                return result
            except StoreError as error:
                if error.kind in ("closed", "readonly"):
                    raise _RecordClosed from error
                if error.kind == "invalid":
                    return await self._one_by_one(records), []
            await asyncio.sleep(_AGAIN)

    async def _one_by_one(self, records: Sequence[ShellRecord]) -> list[ShellRecord]:
        kept: list[ShellRecord] = []
        for record in records:
            with contextlib.suppress(StoreError):
                kept.append(await self._store.shells.put_record(record))
        return kept


class _RecordClosed(Exception):
    """Nothing can be kept any more."""


def event_of(note: ShellNote) -> Event | None:
    if note.kind == "note":
        return ShellNoted(at=note.at, shell=note.shell, text=note.text, cwd=note.cwd)
    if note.kind == "folder":
        return ShellFolderChanged(at=note.at, shell=note.shell, new=note.text)
    return None


EVERY = 1.0
"""Seconds between two looks at the folder, at least."""
_TIDY_EVERY = 600.0
_ABANDONED = 86_400.0
"""Seconds after which the empty file of a shell that nobody knows is removed."""


class EventIntake(Protocol):
    """Keeps lines in the record (`LineIntake`)."""

    def add_line(self, said: PairedLine) -> None: ...
    async def wait_for_room(self) -> None: ...
    async def wait_until_stored(self) -> None: ...


_TRIES = 20
"""Attempts to lock a file in which its shell is just writing, and the seconds between two of them: `_TRY_EVERY`."""
_TRY_EVERY = 0.005


class SpoolIntake:
    """Reads the folder; one process at a time empties its files."""

    def __init__(self, where: Path, intake: EventIntake) -> None:
        self._where = where
        self._intake = intake
        self._lock = asyncio.Lock()
        """A POSIX lock does not exclude its own process, and is lost when any descriptor of the file is closed."""
        self.bad_lines = 0
        """Invalid lines."""

    async def run(self) -> None:
        """Take in existing and future lines."""
        tidied = -_TIDY_EVERY
        stirred = asyncio.Event()
        with contextlib.suppress(OSError):  # then there is nothing to watch
            await asyncio.to_thread(private_files.make_folder, self._where)
        watch = FolderWatch(self._where, lambda name: name.endswith(".jsonl"))
        watch.on_change(stirred.set)
        try:
            while True:
                stirred.clear()
                again_at = time.monotonic() + EVERY
                all_read = await self.read_spools()
                tidied = await self._tidied(tidied)
                if watch.works and all_read:
                    with contextlib.suppress(TimeoutError):
                        async with time_limit(until_calm_look()):
                            await stirred.wait()
                await asyncio.sleep(max(0.0, again_at - time.monotonic()))
        finally:
            watch.close()

    async def _tidied(self, before: float) -> float:
        """Remove files of shells that are long gone, if it is time; returns when that was done last."""
        if time.monotonic() - before <= _TIDY_EVERY:
            return before
        async with self._lock:
            await asyncio.to_thread(_tidy, self._where)
        return time.monotonic()

    async def read_spools(self) -> bool:
        """Take in the lines that are there now; returns whether every file could be locked and read."""
        async with self._lock:
            read = [await self._take_in(file) for file in await asyncio.to_thread(spool.files, self._where)]
        return all(read)

    async def read_all(self) -> bool:
        """The same, but wait a moment for files in which shells are just writing."""
        for _ in range(_TRIES):
            if await self.read_spools():
                return True
            await asyncio.sleep(_TRY_EVERY)
        return False

    async def _take_in(self, file: Path) -> bool:
        with contextlib.suppress(OSError, StoreError), spool.claimed(file) as descriptor:
            if descriptor is not None:
                end = await self._store_lines(descriptor)
                spool.emptied(descriptor, end)  # else it has grown, and is looked at again
                return True
        return False

    async def _store_lines(self, descriptor: int) -> int:
        """Store what a file holds; returns the position after it. Raises `OSError` and `StoreError`."""
        start = 0
        while True:
            piece, start = await asyncio.to_thread(spool.read, descriptor, start)
            self.bad_lines += piece.bad
            for number, (event, seq) in enumerate(piece.events, 1):
                self._intake.add_line(PairedLine(event, seq))
                if number % 100 == 0:
                    await self._intake.wait_for_room()
            await self._intake.wait_until_stored()
            if not piece.more:
                return start

    async def remove_spools(self, shells: set[str]) -> None:
        """Remove the files of dead shells once they are empty."""
        for shell in shells:
            name = f"{shell}.jsonl"
            if Path(name).name != name:
                continue
            async with self._lock:
                await asyncio.to_thread(spool.remove_empty, self._where / name)


def _tidy(where: Path) -> None:
    old = time.time() - _ABANDONED
    for file in where.glob("*.jsonl"):
        with contextlib.suppress(OSError):
            info = file.lstat()
            if not info.st_size and info.st_mtime < old:
                spool.remove_empty(file)
