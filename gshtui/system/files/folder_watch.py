"""Tells when the files of a folder change, so that nobody has to look at them again and again.

Only on Linux, by its inotify. Where it does not work, and for what the system might have missed, those who wait look
from time to time: rarely, and at moments that all of this machine's processes share, so that whatever looks is woken
once for all of it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path

EVERY = 120.0
"""Seconds between two such moments, of time that the machine was awake."""
_SOON = 1.0


def until_calm_look() -> float:
    """Seconds until the next of these moments."""
    left = EVERY - time.monotonic() % EVERY
    return left if left > _SOON else left + EVERY  # a clock that is a little ahead of its timer is no second moment


_MODIFY, _MOVED, _CREATE, _DELETE, _OVERFLOW = 0x2, 0xC0, 0x100, 0x200, 0x4000
_EVENT = struct.Struct("iIII")
_CHUNK = 16 * 1024
_APART = 0.05
"""Seconds between two calls: the first change is told at once, and what changes until then together."""
OnChange = Callable[[], None]


class FolderWatch:
    """Made inside a running loop. `close` ends it."""

    def __init__(self, folder: Path, wanted: Callable[[str], bool]) -> None:
        """
        Args:
            folder: it has to exist; those below it are not watched.
            wanted: whether changes of a file with this name count.
        """
        self._wanted = wanted
        self._callbacks: list[OnChange] = []
        self._timer: asyncio.TimerHandle | None = None
        self._next = 0.0
        self._loop = asyncio.get_running_loop()
        self._descriptor = _opened(folder)
        if self._descriptor is not None:
            self._loop.add_reader(self._descriptor, self._read)

    @property
    def works(self) -> bool:
        """Whether every change is told."""
        return self._descriptor is not None

    def on_change(self, callback: OnChange) -> OnChange:
        """Call this soon after each change; returns what ends that."""
        self._callbacks.append(callback)
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    def close(self) -> None:
        self._callbacks.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _read(self) -> None:
        assert self._descriptor is not None
        try:
            raw = os.read(self._descriptor, _CHUNK)
        except BlockingIOError:
            return
        if self._timer is None and any(mask & _OVERFLOW or self._wanted(name) for mask, name in _events(raw)):
            self._timer = self._loop.call_at(self._next, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._next = self._loop.time() + _APART
        for callback in tuple(self._callbacks):
            callback()


def _opened(folder: Path) -> int | None:
    """The descriptor of a watch on this folder; `None` if there can be none."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        libc = ctypes.CDLL(None)
        descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, AttributeError):
        return None
    if descriptor < 0:
        return None
    if libc.inotify_add_watch(descriptor, os.fsencode(folder), _MODIFY | _MOVED | _CREATE | _DELETE) < 0:
        os.close(descriptor)
        return None
    return descriptor


def _events(raw: bytes) -> list[tuple[int, str]]:
    """What happened to which files, as the system writes it down."""
    found: list[tuple[int, str]] = []
    at = 0
    while at + _EVENT.size <= len(raw):
        _, mask, _, length = _EVENT.unpack_from(raw, at)
        at += _EVENT.size
        found.append((mask, os.fsdecode(raw[at : at + length].rstrip(b"\0"))))
        at += length
    return found
