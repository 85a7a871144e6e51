"""What shells say, on its way into the record: paired, kept in batches, then told and acknowledged, in this order.

Owns the queue and its bounds; refuses to acknowledge what is not committed, and to give up what the record cannot take
for now. Fed by the hosts of the socket and by the spool; held by the shell log.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.shell import ShellCommandStarted, ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell import ShellNote, ShellRecord
from gshtui.shell.log.branches import Branches
from gshtui.shell.pairing import Pairing, Said, Taken
from gshtui.store.errors import StoreError
from gshtui.store.store import Store
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
    said: Said
    done: Callable[[], None] | None


class Intake:
    """`offer` takes lines; `run` keeps them until it is cancelled."""

    def __init__(
        self, store: Store, pairing: Pairing, branches: Branches, publish: Callable[[Event], None], kept: Kept
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
        self._kept = kept
        self._lines: deque[_Line] = deque()
        self._wake = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._idle = asyncio.Event()
        self._idle.set()

    def offer(self, said: Said, done: Callable[[], None] | None = None) -> None:
        """Take a line. Never blocks. `done` is called once it is kept."""
        self._lines.append(_Line(said, done))
        self._idle.clear()
        self._wake.set()
        if len(self._lines) >= WAITING:
            self._room.clear()

    async def pace(self) -> None:
        """Wait until more can be taken."""
        await self._room.wait()

    async def idle(self) -> None:
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
                await self._batch(lines)
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

    async def keep(self, records: Sequence[ShellRecord], notes: Sequence[tuple[ShellNote, int]] = ()) -> None:
        """Keep records of another origin, and tell them. Raises `StoreError`."""
        kept, notes_kept = await self._store.keep_records(records, notes)
        self.tell(kept, notes_kept)

    def tell(self, records: Sequence[ShellRecord], notes: Sequence[ShellNote | None] = ()) -> None:
        """Say what is kept now."""
        for record in records:
            if record.id:
                self._kept(record)
                self._publish(ShellRecorded(record=record))
        for note in notes:
            if note is not None and (event := event_of(note)) is not None:
                self._publish(event)

    async def _batch(self, lines: Sequence[_Line]) -> None:
        begun = [line.said.event for line in lines if isinstance(line.said.event, ShellCommandStarted)]
        await self._branches.look(event.cwd for event in begun)
        taken = self._pairing.take([line.said for line in lines], time.time())
        kept, notes = await self._stored(taken)
        self.tell(kept, notes)
        for line in lines:
            if line.done is not None:
                line.done()

    async def _stored(self, taken: Taken) -> tuple[list[ShellRecord], list[ShellNote | None]]:
        """Keep it, however long the record needs; what no record would ever take is left out."""
        newest = {(record.shell, record.number): record for record in taken.records}
        records = tuple(newest.values())
        while True:
            try:
                result = await self._store.keep_records(records, taken.notes)
                for info in taken.shells.values():
                    await self._store.keep_shell(info.shell, msgspec.json.encode(info).decode(), time.time())
                if taken.ended:
                    await self._store.close_lost(taken.ended)
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
                kept.append(await self._store.keep_record(record))
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
