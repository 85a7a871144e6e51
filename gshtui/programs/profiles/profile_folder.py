"""The profiles of a process that stays: read anew when a file of the user's changes, with the last good one of each.

Asked for at every use, it looks at the folder's times no more often than a few times a second; `watch` tells of a
change at once, for those who hold on to a profile.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from gshtui.programs.profiles.profile_bundle import USED
from gshtui.programs.profiles.profile_files import LoadedProfiles, load, own_folder
from gshtui.system.files.folder_watch import FolderWatch, until_calm_look
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on

_LOOK = 0.3
"""Seconds between two looks at the folder."""
_WITHOUT_WATCH = 0.8
"""The same where the system tells of no change."""
OnProfiles = Callable[[LoadedProfiles], None]
_State = tuple[tuple[str, int, int, int], ...]


class ProfileFolder:
    """The loaded profiles, as they are now."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or own_folder()
        self._loaded: LoadedProfiles | None = None
        self._state: _State = ()
        self._looked = float("-inf")
        self._turn = asyncio.Lock()

    @property
    def loaded(self) -> LoadedProfiles | None:
        return self._loaded

    async def current(self) -> LoadedProfiles:
        """The profiles of now."""
        if self._loaded is None or time.monotonic() - self._looked >= _LOOK:
            async with self._turn:
                self._looked = time.monotonic()
                state = _state(self._folder)
                if self._loaded is None or state != self._state:
                    self._loaded = await asyncio.to_thread(load, self._folder, self._loaded)
                    self._state = state
        assert self._loaded is not None
        return self._loaded

    def watch(self, changed: OnProfiles) -> Callable[[], Awaitable[None]]:
        """Call this with the profiles whenever they have changed; returns what ends that, to be awaited."""
        following = keep_on(lambda: self._follow(changed), "the profiles")
        return lambda: cancel_and_wait(following)

    async def _follow(self, changed: OnProfiles) -> None:
        known = await self.current()
        watch: FolderWatch | None = None
        told = asyncio.Event()
        watched = Path()
        try:
            while True:
                told.clear()
                if (near := _nearest(self._folder)) != watched:
                    if watch is not None:
                        watch.close()
                    watch, watched = FolderWatch(near, lambda _: True), near
                    watch.on_change(told.set)
                self._looked = float("-inf")
                if (now := await self.current()) is not known:
                    known = now
                    changed(now)
                with contextlib.suppress(TimeoutError):
                    async with time_limit(until_calm_look() if watch is not None and watch.works else _WITHOUT_WATCH):
                        await told.wait()
        finally:
            if watch is not None:
                watch.close()


def _nearest(folder: Path) -> Path:
    """The folder, or the first one above it that exists."""
    while not folder.is_dir() and folder.parent != folder:
        folder = folder.parent
    return folder


def _state(folder: Path) -> _State:
    """What changes with every change of the folder's files."""
    try:
        found = [(entry.name, entry.stat()) for entry in os.scandir(folder) if entry.name.endswith((".toml", USED))]
    except OSError:
        return ()
    return tuple(sorted((name, each.st_mtime_ns, each.st_size, each.st_ino) for name, each in found))
