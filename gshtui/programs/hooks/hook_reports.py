"""The files in which programs report their own status, one per agent, and the subscribers to new lines.

A line is a hint about one agent's status and authorises nothing; foreign lines are ignored. Files are 0600, in a
subfolder of the data folder. The status watcher subscribes; the launcher creates the file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, cast

from gshtui.programs.profiles.profile import Profile
from gshtui.programs.status.status import HookEvent
from gshtui.system.files import private_files
from gshtui.system.files.folder_watch import FolderWatch
from gshtui.system.json_types import is_object, parse_foreign_json
from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.text.sanitise import one_line, plain

VARIABLE = "GSH_HOOK_SPOOL"
_PIECE = 1_000_000
_LONGEST = 64_000
OnEvent = Callable[[HookEvent], None]


def spool_path(data: Path, agent: str) -> Path:
    return data / "hooks" / f"{agent}.jsonl"


def open_spool(data: Path, agent: str) -> Path:
    """Recreate the file, empty and 0600. Blocks for a moment. Raises `OSError`."""
    path = spool_path(data, agent)
    private_files.make_folder(path.parent)
    path.unlink(missing_ok=True)
    os.close(private_files.make_file(path))
    return path


def parse_report(line: bytes, profile: Profile) -> HookEvent | None:
    """The event in a line; `None` if it is not one, or not one that the profile knows."""
    if not line.strip() or len(line) > _LONGEST:
        return None
    try:
        data = parse_foreign_json(line)
    except ValueError:
        return None
    if not is_object(data):
        return None
    at, event = data.get("at"), data.get("event")
    if not isinstance(at, int | float) or isinstance(at, bool) or not isinstance(event, str):
        return None
    kind = _text(data, "kind")
    status = profile.hooks.events.get(f"{event}.{kind}", profile.hooks.events.get(event, ""))
    conversation = _text(data, "conversation")
    answer = data.get("answer")
    said = plain(answer) if isinstance(answer, str) and status == "idle" else ""
    return HookEvent(float(at), event, status, _doing(data, status), conversation, _text(data, "prompt"), said)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return one_line(value, 200) if isinstance(value, str) else ""


def _doing(fields: dict[str, Any], status: str) -> str:
    tool, subject = _text(fields, "tool"), _text(fields, "subject")
    if tool and status in ("tool", "waiting"):
        return f"{tool} {subject}".strip()
    return _text(fields, "text") if status in ("idle", "said", "waiting") else ""


class HookFeed:
    """Reads the files of a folder as they grow. One a hub; made inside a running loop."""

    def __init__(self, data: Path) -> None:
        self._folder = data / "hooks"
        self._readers: dict[str, _Reader] = {}
        self._task: asyncio.Task[None] | None = None
        self._watch: FolderWatch | None = None
        self._grown = asyncio.Event()
        self._stop = asyncio.Event()

    async def subscribe(self, agent: str, profile: Profile, callback: OnEvent) -> Callable[[], None]:
        """Call with every event of an agent, first with those that are there already. Returns what ends it."""
        reader = _Reader(self._folder / f"{agent}.jsonl", profile, callback)
        self._readers[agent] = reader
        if self._task is None:
            await asyncio.to_thread(private_files.make_folder, self._folder)
            self._watch = FolderWatch(self._folder, lambda name: name.endswith(".jsonl"))
            self._watch.on_change(self._grown.set)
            reading = self._read_when_told if self._watch.works else self._read_when_found
            self._task = keep_on(reading, "the hooks of programs")
        await reader.catch_up()

        def end() -> None:
            if self._readers.get(agent) is reader:
                del self._readers[agent]

        return end

    async def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        if self._watch is not None:
            self._watch.close()
        task, self._task = self._task, None
        await cancel_and_wait(task)

    async def _read_when_told(self) -> None:
        while True:
            await self._grown.wait()
            self._grown.clear()
            for reader in tuple(self._readers.values()):
                await reader.catch_up()

    async def _read_when_found(self) -> None:
        """Where the system does not tell."""
        import watchfiles  # loads a library of its own

        # Half of its types are unknown.
        watch = cast("Callable[..., AsyncIterator[set[tuple[Any, str]]]]", getattr(watchfiles, "awatch"))  # noqa: B009
        options = {"debounce": 100, "step": 20, "stop_event": self._stop, "recursive": False}
        async for changes in watch(self._folder, **options):
            touched = {Path(path).stem for _, path in changes}
            for agent in touched & self._readers.keys():
                await self._readers[agent].catch_up()


class _Reader:
    """One file, from where it was read to last."""

    def __init__(self, path: Path, profile: Profile, callback: OnEvent) -> None:
        self._path = path
        self._profile = profile
        self._callback = callback
        self._identity = (0, 0)
        self._place = 0
        self._reading = asyncio.Lock()

    async def catch_up(self) -> None:
        """Tell of what has come. A first reading may meet one that a new line has led to."""
        async with self._reading:
            for event in await asyncio.to_thread(self._read):
                self._callback(event)

    def _read(self) -> list[HookEvent]:
        """What has come since; blocks."""
        events: list[HookEvent] = []
        try:
            file = private_files.open_existing(self._path)
        except OSError:
            return events
        try:
            state = os.fstat(file)
            identity = (state.st_dev, state.st_ino)
            if identity != self._identity or state.st_size < self._place:  # begun anew
                self._identity, self._place = identity, 0
            while piece := os.pread(file, _PIECE, self._place):
                whole = piece.rfind(b"\n") + 1
                if not whole:
                    # Half a line yet; or a line that is longer than any of ours.
                    self._place += len(piece) if len(piece) == _PIECE else 0
                    break
                self._place += whole
                parsed = (parse_report(line, self._profile) for line in piece[:whole].split(b"\n"))
                events += [event for event in parsed if event is not None]
        finally:
            os.close(file)
        return events
