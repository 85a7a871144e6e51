"""A lock among all processes: the kernel's lock on a file of ours, which ends with its owner.

While it is held, the file contains a note saying why. Never follows a link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

from gshtui.system.files import private_files

_EVERY = 0.05
"""Seconds between attempts."""
_LONGEST_NOTE = 300


class LockHeld(Exception):
    """Another process holds the lock for too long. `note` is its reason."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


def try_lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock until closed; `None` if another process has it. Raises `OSError`."""
    descriptor = private_files.open_file(path, os.O_RDWR)
    try:
        if _lock(descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


@contextlib.contextmanager
def blocking_lock(path: Path) -> Generator[None]:
    """Wait for the lock in this thread, and hold it. Raises `OSError`."""
    descriptor = private_files.open_file(path, os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.asynccontextmanager
async def file_lock(
    path: Path, *, within: float, note: str = "", every: float = _EVERY, keep: bool = True
) -> AsyncGenerator[None]:
    """Hold the lock.

    Args:
        within: seconds to wait for it.
        note: the reason, shown to others who wait.
        every: seconds between attempts.
        keep: leave the file for the next owner; otherwise remove it with the lock.

    Raises `LockHeld`: another process has it for longer; `OSError`: the file cannot be opened or locked.
    """
    import asyncio  # the settings and the command line use the other two functions, and start faster without it

    until = asyncio.get_running_loop().time() + within
    descriptor = private_files.open_file(path, os.O_RDWR)
    try:
        while not _lock(descriptor) or not _is_file(path, descriptor):
            if asyncio.get_running_loop().time() >= until:
                raise LockHeld(os.pread(descriptor, _LONGEST_NOTE, 0).decode("utf-8", "replace"))
            if _is_file(path, descriptor):
                await asyncio.sleep(every)
            else:  # removed by its previous owner
                os.close(descriptor)
                descriptor = private_files.open_file(path, os.O_RDWR)
        if note:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, note.encode("utf-8", "replace")[:_LONGEST_NOTE], 0)
        try:
            yield
        finally:
            if not keep:
                with contextlib.suppress(OSError):
                    path.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _is_file(path: Path, descriptor: int) -> bool:
    """Whether the path still leads to the open file."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
