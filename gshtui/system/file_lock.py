"""A lock over all processes: the kernel's, on a file of ours. It ends with the process that has it.

Owns the open file while the lock is held, and a note in it that says what it is held for. Refuses to follow a link.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from gshtui.system import private_files

_EVERY = 0.05
"""Seconds between attempts."""
_LONGEST_NOTE = 300


class LockHeld(Exception):
    """Somebody else has the lock for longer than one would wait. `note` is what they said of it."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


@contextlib.asynccontextmanager
async def file_lock(path: Path, *, note: str, within: float) -> AsyncGenerator[None]:
    """Hold the lock.

    Args:
        note: what for, told to others who wait.
        within: seconds to wait for it.

    Raises:
        LockHeld: somebody else has it for longer.
        OSError: the file cannot be opened.
    """
    descriptor = private_files.open_file(path, os.O_RDWR)
    try:
        await _acquire(descriptor, within)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode("utf-8", "replace")[:_LONGEST_NOTE], 0)
        yield
    finally:
        os.close(descriptor)


async def _acquire(descriptor: int, within: float) -> None:
    until = asyncio.get_running_loop().time() + within
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if asyncio.get_running_loop().time() >= until:
                raise LockHeld(os.pread(descriptor, _LONGEST_NOTE, 0).decode("utf-8", "replace")) from None
            await asyncio.sleep(_EVERY)
        else:
            return
