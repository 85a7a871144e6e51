"""What shells say, on its way into the record: paired, kept in batches, then published and acknowledged, in this order.

Owns the queue, and taking in the files that shells left while no hub listened, exactly once; refuses to acknowledge
what is not committed.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import ShellCommandStarted, ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.shell import spool
from gshtui.shell.log.branch_cache import BranchCache
from gshtui.shell.pairing import PairedLine, Pairing, PairingResult
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.system.tasks import report

BATCH = 250
"""Lines that are kept in one piece."""
WAITING = 4_000
"""Lines that may wait before shells are read more slowly."""
_AGAIN = 0.5
"""Seconds until the record is tried again."""


Kept = Callable[[ShellRecord], None]


@dataclass(slots=True)
class _Line:
    said: PairedLine
    done: Callable[[], None] | None


class LineIntake:
    """`add_line` queues a line; `run` stores them until it is cancelled."""

    def __init__(
        self, store: Store, pairing: Pairing, branches: BranchCache, publish: Callable[[Event], None], kept: Kept
    ) -> None:
        """
        Args:
            publish: gets what happened, once it is kept.
            kept: gets each record that was kept, before it is told.
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

    def add_line(self, said: PairedLine, done: Callable[[], None] | None = None) -> None:
        """Take a line. Never blocks. `done` is called once it is kept."""
        self._lines.append(_Line(said, done))
        self._idle.clear()
        self._wake.set()
        if len(self._lines) >= WAITING:
            self._room.clear()

    async def wait_for_room(self) -> None:
        """Wait until more can be taken."""
        await self._room.wait()

    async def wait_until_stored(self) -> None:
        """Wait until all that was offered is kept."""
        await self._idle.wait()

    async def run(self) -> None:
        """Keep what is offered, in order."""
        while True:
            if not self._lines:
                self._wake.clear()
                self._idle.set()
                await self._wake.wait()
            lines = [self._lines.popleft() for _ in range(min(BATCH, len(self._lines)))]
            try:
                await self._store_batch(lines)
            except _RecordClosed:
                self._idle.set()
                self._room.set()
                return
            except Exception as error:  # a line that nobody can take costs its batch; who sent it sends the next one
                report("the intake of shells", error, f"{len(lines)} lines of shells are not in the log.")
                for line in lines:
                    if line.done is not None:
                        line.done()
            if len(self._lines) < WAITING // 2:
                self._room.set()
            await asyncio.sleep(0)

    async def store_records(self, records: Sequence[ShellRecord], notes: Sequence[tuple[ShellNote, int]] = ()) -> None:
        """Keep records of another origin, and tell them. Raises `StoreError`."""
        kept, notes_kept = await self._store.shells.add_all(records, notes)
        self.publish_stored(kept, notes_kept)

    def publish_stored(self, records: Sequence[ShellRecord], notes: Sequence[ShellNote | None] = ()) -> None:
        """Say what is kept now."""
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
    """A note as the event that tells it."""
    if note.kind == "note":
        return ShellNoted(at=note.at, shell=note.shell, text=note.text, cwd=note.cwd)
    if note.kind == "folder":
        return ShellFolderChanged(at=note.at, shell=note.shell, new=note.text)
    return None


EVERY = 1.0
"""Seconds between two looks at the folder."""
_ABANDONED = 86_400.0
"""Seconds after which the empty file of a shell that nobody knows is removed."""


class SpoolIntake:
    """Looks at the folder until it is cancelled; one of all hubs does."""

    def __init__(self, where: Path, intake: LineIntake) -> None:
        self._where = where
        self._intake = intake
        self._lock = asyncio.Lock()
        """A POSIX lock does not hold off one's own process, and is gone when any descriptor of the file is closed."""
        self.lines_read = 0
        """Lines that were taken."""
        self.bad_lines = 0
        """Lines that were none."""

    async def run(self) -> None:
        """Take in what is there, and what comes."""
        tidied = 0.0
        while True:
            await self.read_spools()
            if time.monotonic() - tidied > 600:
                tidied = time.monotonic()
                async with self._lock:
                    await asyncio.to_thread(_tidy, self._where)
            await asyncio.sleep(EVERY)

    async def read_spools(self) -> None:
        """Take in what is there now."""
        async with self._lock:
            for file in await asyncio.to_thread(spool.files, self._where):
                with contextlib.suppress(OSError), spool.claimed(file) as descriptor:
                    if descriptor is not None:
                        await self._read_spool(descriptor)

    async def _read_spool(self, descriptor: int) -> None:
        start = 0
        while True:
            piece, start = await asyncio.to_thread(spool.read, descriptor, start)
            self.bad_lines += piece.bad
            for number, (event, seq) in enumerate(piece.events, 1):
                self._intake.add_line(PairedLine(event, seq))
                self.lines_read += 1
                if number % 100 == 0:
                    await self._intake.wait_for_room()
            await self._intake.wait_until_stored()
            if not piece.more:
                break
        spool.emptied(descriptor, start)  # else it has grown, and is looked at again

    async def remove_spools(self, shells: set[str]) -> None:
        """Remove the files of shells that are gone, once they are empty."""
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
