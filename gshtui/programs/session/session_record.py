"""What a program keeps up to date about its session in a file: Claude Code its status, Qwen its conversation.

The file is `sessions/PID.json` in the program's folder. It counts only if it names the start of exactly that process;
what is no such record, too large or half written says nothing, and the next rank counts. The program may be below the
process of its terminal. Reads, never writes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from gshtui.programs.profiles.profile import RecordKind
from gshtui.programs.status.evidence import Evidence, LiveSource, Rank
from gshtui.programs.transcripts import claude_transcript, qwen_transcript
from gshtui.programs.transcripts.transcript_readers import home_of
from gshtui.system.files.folder_watch import FolderWatch
from gshtui.system.json_types import is_object, parse_foreign_json
from gshtui.system.processes.process_identity import start_of
from gshtui.text.sanitise import one_line

_LARGEST = 64_000
"""Bytes of a record; a larger file is none."""
STATUSES = {"busy": "thinking", "waiting": "waiting", "idle": "idle", "shell": "idle"}
"""`shell`: its turn is over, and a command that it has started runs in the background."""
_FAMILY_EVERY = 2.0
"""Seconds between two searches below the terminal's process for the one that keeps a record."""
WAITS = {
    "permission prompt": "asks for permission",
    "input needed": "asks a question",
    "dialog open": "a dialog is open",
}


class _Record(msgspec.Struct, frozen=True):
    status: str = ""
    at: float = 0.0
    waits_for: str = ""
    conversation: str = ""
    version: str = ""


_NOTHING = _Record()


class SessionRecord(LiveSource):
    """The record of the program in one terminal.

    Args:
        pid: the terminal's process.
        environ: of the program; its folder may be elsewhere.
    """

    def __init__(self, kind: RecordKind, pid: int, environ: Mapping[str, str]) -> None:
        self._kind = kind
        self._pid = pid
        home = home_of(environ)
        root = qwen_transcript.root(environ, home) if kind == "qwen" else claude_transcript.root(environ, home)
        self._folder = root / "sessions"
        self._path: Path | None = None
        self._of: tuple[int, str | None] = (0, None)
        """The process whose record that is, and when it began."""
        self._stamp: tuple[int, ...] = ()
        self._found = _NOTHING
        self._confirmed = 0.0
        self._searched = float("-inf")
        self._stale = False
        self._watch: FolderWatch | None = None
        self._task: asyncio.Task[None] | None = None
        self._changed: Callable[[], None] = _nothing

    @property
    def evidence(self) -> Evidence | None:
        """Its status."""
        found = self._found
        if not found.status:
            return None
        waits = WAITS.get(found.waits_for, found.waits_for)
        why = f"{self._path}: {found.status}" + (f", {found.waits_for}" if found.waits_for else "")
        status = STATUSES[found.status]
        doing = waits if status == "waiting" else "a command runs in the background" if found.status == "shell" else ""
        return Evidence(
            Rank.RECORD, "record", status, found.at, self._confirmed, doing, found.waits_for in WAITS, why=why
        )

    @property
    def conversation(self) -> str:
        return self._found.conversation

    @property
    def file(self) -> Path | None:
        return self._path

    @property
    def version(self) -> str:
        return self._found.version

    async def start(self, changed: Callable[[], None]) -> None:
        """Begin."""
        self._changed = changed
        await self.refresh(quiet=True)

    async def refresh(self, *, quiet: bool) -> None:
        """Read it again if it has changed."""
        if await asyncio.to_thread(self._read):
            self._changed()
        if self._watch is None and self._path is not None:
            self._watch = FolderWatch(self._folder, lambda name: self._path is not None and name == self._path.name)
            self._watch.on_change(self._look_soon)

    async def stop(self) -> None:
        """End."""
        self._changed = _nothing
        if self._watch is not None:
            self._watch.close()

    def _look_soon(self) -> None:
        self._stale = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._look())

    async def _look(self) -> None:
        while self._stale:  # it may change again while it is read
            self._stale = False
            await self.refresh(quiet=True)

    def _read(self) -> bool:
        """Whether it says something else than before. Blocks for a moment."""
        if self._path is not None and start_of(self._of[0]) != self._of[1]:
            self._path, self._stamp = None, ()  # that process has ended, and may have left it
            return self._now_is(_NOTHING)
        if self._path is None and not self._search():
            return False
        assert self._path is not None
        try:
            status = self._path.stat()
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            self._confirmed = time.time()
            if stamp == self._stamp:
                return False
            data = _data_of(self._path)
        except OSError:
            self._path, self._stamp = None, ()
            return self._now_is(_NOTHING)
        if data is None:
            return False  # it is just being written: the next look reads it
        self._stamp = stamp
        return self._now_is(_parsed(data))

    def _now_is(self, found: _Record) -> bool:
        before, self._found = self._found, found
        return found != before

    def _search(self) -> bool:
        """Whether there is a record of a process in the terminal."""
        now = time.monotonic()
        if now < self._searched + _FAMILY_EVERY:
            return False
        self._searched = now
        for pid in family_of(self._pid):
            path = self._folder / f"{pid}.json"
            try:
                data = _data_of(path)
            except OSError:
                continue
            if data is not None and _is_of(data, pid):
                self._path, self._of = path, (pid, start_of(pid))
                return True
        return False


def _data_of(path: Path) -> dict[str, Any] | None:
    """The object in a file; `None` if it is none. Raises `OSError`."""
    with path.open("rb") as file:
        raw = file.read(_LARGEST + 1)
    if len(raw) > _LARGEST:
        return None
    try:
        value = parse_foreign_json(raw)
    except ValueError:
        return None
    return value if is_object(value) else None


def _is_of(data: Mapping[str, Any], pid: int) -> bool:
    """Whether a record is of the process that has this number now, and not of one that had it before."""
    if data.get("pid") != pid:
        return False
    begun = _text(data, "procStart").rpartition(":")[2]
    return not begun or begun == start_of(pid)


def _parsed(data: Mapping[str, Any]) -> _Record:
    status = _text(data, "status")
    at = data.get("statusUpdatedAt") or data.get("updatedAt")
    since = float(at) / 1000 if isinstance(at, int | float) and not isinstance(at, bool) else time.time()
    return _Record(
        status if status in STATUSES else "",
        min(since, time.time()),
        _text(data, "waitingFor"),
        _text(data, "sessionId"),
        _text(data, "version") or _text(data, "qwenVersion"),
    )


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return one_line(value, 200) if isinstance(value, str) else ""


def family_of(pid: int) -> list[int]:
    """A process and those below it, which a wrapper has started."""
    import psutil  # not needed for the first screen

    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.Error:
        return []


def _nothing() -> None:
    pass
