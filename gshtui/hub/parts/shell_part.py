"""The part for the person's shells: what runs in them, and the changes of the project's files, as
entries of the shell log.

Needs the record, and refuses to start without. Started by the hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from pathlib import Path

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.shell_events import FilesChanged
from gshtui.bus.shell_rows import files_note
from gshtui.hub.hub import Hub
from gshtui.hub.part_lifecycle import MissingPart
from gshtui.shell.file_watch import FileWatch
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.tasks import cancel_and_wait, keep_on


async def start_shell(hub: Hub) -> None:
    """Listen to shells and watch files. Raises `MissingPart`, `StoreError`."""
    if hub.store is None:
        raise MissingPart("store", "The shell log needs the record.")
    from gshtui.agents.telemetry import redactor
    from gshtui.shell.log.shell_log import make_shell_log

    host = None if hub.host is None else hub.host.shell_log
    sits = hub.options.respondent == "person" and not (hub.options.visiting or hub.options.keeper)
    hub.shell_log = make_shell_log(
        hub.bus,
        hub.store,
        hub.settings,
        hub.options.cwd,
        redact=redactor(hub.settings, hub.environ).redact,
        host=host,
    )
    hub.parts.stops_with("shell", hub.shell_log.stop)
    await hub.shell_log.start()
    if hub.settings.shell.watch_files and sits:
        files = ProjectFiles(hub.bus, hub.store, hub.project)
        files.start()
        hub.parts.stops_with("files", files.stop)


AFTER = 1.0
"""Seconds after the start: the window has the processor for itself until then."""
_SAME = 3.0
"""Seconds within which the same line of another window is this one."""
_WAITING = 100
"""Events that may wait for the record; of more, the oldest are not told."""


class ProjectFiles:
    """`start` and `stop` bracket its life."""

    def __init__(self, bus: Bus, store: Store, project: Path) -> None:
        self._bus = bus
        self._store = store
        self._project = project
        self._changes: asyncio.Queue[FilesChanged] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []
        self.watch = FileWatch(project, self._changed, self._notice)

    def start(self, after: float = AFTER) -> None:
        """Start watching after this many seconds."""
        self._tasks = [
            keep_on(partial(self._run, after), "the watch on the project's files"),
            keep_on(self._keep, "the keeping of changes of files"),
        ]

    async def stop(self) -> None:
        await cancel_and_wait(*self._tasks)

    async def _run(self, after: float) -> None:
        await asyncio.sleep(after)
        await self.watch.run()

    def _notice(self, text: str, hint: str) -> None:
        self._bus.publish(Noticed(text=text, hint=hint, about="files"))

    def _changed(self, event: FilesChanged) -> None:
        while self._changes.qsize() >= _WAITING:
            self._changes.get_nowait()
        self._changes.put_nowait(msgspec.structs.replace(event, at=time.time()))

    async def _keep(self) -> None:
        while True:
            event = await self._changes.get()
            with contextlib.suppress(StoreError):  # what is seen now matters more than that it is kept
                await self._store.shells.add_note_once(files_note(event, str(self._project)), _SAME)
            self._bus.publish(event)
