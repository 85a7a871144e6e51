"""What agents are just saying in calls, before it is said: for faces in other processes than the agent's.

One file an answer, in this user's runtime folder, from the start of its turn to the end. Nothing is kept there: the
answer itself is in the record. A draft that cannot be written or read is not shown; nothing raises.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import IterationStarted, TextDelta, TurnFinished, TurnStarted
from gshtui.settings.paths import FolderError, runtime_dir
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.files import private_files
from gshtui.system.files.folder_watch import FolderWatch
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned
from gshtui.system.tasks import cancel_and_wait, keep_on

_SUFFIX = ".draft"
_ANEW = "\x1e"
"""Begins the text of another message of the same turn; the text of a model has none."""
_LARGEST = 1 << 20
"""Bytes of one draft."""
_CHUNK = 64 * 1024
_STALE = 3_600.0
"""Seconds without a change after which its process must have been killed."""
_LOOK_EVERY, _CALM_EVERY = 0.25, 5.0
"""Seconds between two looks: where the system tells of no change, and where it does."""


class DraftHead(msgspec.Struct, frozen=True):
    """Whose answer to what."""

    letter: str
    """Id of the message that is answered, which will be the answer's in the call."""
    call: str
    name: str


class DraftPiece(msgspec.Struct, frozen=True):
    """What an agent said since the last piece. `anew`: it begins another message."""

    head: DraftHead
    text: str
    anew: bool


class DraftWriter:
    """Writes what the agents of this process say."""

    def __init__(self, bus: Bus, store: Store, is_ours: Callable[[str], bool]) -> None:
        """`is_ours`: whether an agent lives in this process; others write for themselves."""
        self._store = store
        self._is_ours = is_ours
        self._open: dict[str, tuple[Path, int]] = {}
        self._subscription = bus.subscribe(
            self._listen, TurnStarted, IterationStarted, TextDelta, TurnFinished, name="drafts of answers"
        )

    async def close(self) -> None:
        """Write no more."""
        self._subscription.unsubscribe()
        for agent in tuple(self._open):
            self._end(agent)

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            match event:
                case TurnStarted() if self._is_ours(event.agent):
                    await self._begin(event)
                case IterationStarted():
                    self._write(event.agent, _ANEW)
                case TextDelta():
                    self._write(event.agent, event.text.replace(_ANEW, ""))
                case TurnFinished():
                    self._end(event.agent)
                case _:
                    continue

    async def _begin(self, event: TurnStarted) -> None:
        self._end(event.agent)
        with contextlib.suppress(StoreError, OSError, FolderError):
            letter = await self._store.mail.find(event.prompt)
            if letter.id != event.prompt or not letter.call:
                return
            folder = drafts_folder(self._store)
            private_files.make_folder(folder)
            path = folder / f"{letter.id}{_SUFFIX}"
            path.unlink(missing_ok=True)
            head = DraftHead(letter.id, letter.call, letter.recipient_name or letter.recipient)
            descriptor = private_files.make_file(path)
            self._open[event.agent] = path, descriptor
            os.write(descriptor, msgspec.json.encode(head) + b"\n")

    def _write(self, agent: str, text: str) -> None:
        opened = self._open.get(agent)
        if opened is not None:
            with contextlib.suppress(OSError):
                if os.lseek(opened[1], 0, os.SEEK_END) < _LARGEST:
                    os.write(opened[1], text.encode(errors="replace"))

    def _end(self, agent: str) -> None:
        opened = self._open.pop(agent, None)
        if opened is not None:
            os.close(opened[1])
            with contextlib.suppress(OSError):
                opened[0].unlink()


class _Reading(msgspec.Struct):
    """How far one draft was read."""

    offset: int = 0
    head: DraftHead | None = None
    decoder: codecs.IncrementalDecoder = msgspec.field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )


class DraftReader:
    """Tells of what agents say, in this process or another one, between `start` and `stop`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._callbacks: list[Callable[[DraftPiece], None]] = []
        self._readings: dict[str, _Reading] = {}
        self._stirred = asyncio.Event()
        self._watch: FolderWatch | None = None
        self._life: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to read; without the folder, nothing is told."""
        with contextlib.suppress(OSError, FolderError):
            folder = drafts_folder(self._store)
            private_files.make_folder(folder)
            self._watch = FolderWatch(folder, lambda name: name.endswith(_SUFFIX))
            self._watch.on_change(self._stirred.set)
            self._life = keep_on(lambda: self._follow(folder), "drafts of answers")

    async def stop(self) -> None:
        """Read no more."""
        await cancel_and_wait(self._life)
        if self._watch is not None:
            self._watch.close()

    def follow(self, callback: Callable[[DraftPiece], None]) -> Callable[[], None]:
        """Call this for each piece; returns what ends that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    async def _follow(self, folder: Path) -> None:
        while True:
            if self._callbacks:
                self._look(folder)
            works = self._watch is not None and self._watch.works
            with contextlib.suppress(TimeoutError):
                async with time_limit(_CALM_EVERY if works else _LOOK_EVERY):
                    await self._stirred.wait()
            self._stirred.clear()

    def _look(self, folder: Path) -> None:
        there: set[str] = set()
        for path in folder.glob(f"*{_SUFFIX}"):
            there.add(path.name)
            with contextlib.suppress(OSError, msgspec.DecodeError):
                if time.time() - path.stat().st_mtime > _STALE:
                    path.unlink()
                else:
                    self._read(path, self._readings.setdefault(path.name, _Reading()))
        self._readings = {name: one for name, one in self._readings.items() if name in there}

    def _read(self, path: Path, reading: _Reading) -> None:
        """Tell what was added. Raises `OSError`, `msgspec.DecodeError`."""
        with path.open("rb") as file:
            file.seek(reading.offset)
            while data := file.read(_CHUNK):
                if reading.head is None:
                    head, newline, rest = data.partition(b"\n")
                    if not newline:
                        return  # it is being written
                    reading.head = msgspec.json.decode(head, type=learned(DraftHead))
                    reading.offset += len(data)
                    data = rest
                else:
                    reading.offset += len(data)
                first, *others = reading.decoder.decode(data).split(_ANEW)
                for text, anew in ((first, False), *((other, True) for other in others)):
                    if text or anew:
                        self._tell(DraftPiece(reading.head, text, anew))

    def _tell(self, piece: DraftPiece) -> None:
        for callback in tuple(self._callbacks):
            callback(piece)


def drafts_folder(store: Store) -> Path:
    """Where the drafts of this record are. Raises `FolderError`, `OSError`."""
    record = hashlib.sha256(os.fsencode(store.path.resolve())).hexdigest()[:16]
    return runtime_dir() / f"answers-{record}"
