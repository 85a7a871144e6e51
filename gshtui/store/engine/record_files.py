"""The data folder and its files: private, no links, one process at a time while the file itself is changed.

Sets permissions (0700, 0600), and locks opening, migrating and recovering. A link or another user's file in place of
the record is refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Generator
from pathlib import Path

from gshtui.store.engine.store_errors import StoreError
from gshtui.system.files import private_files

LOCK_WAIT = 30.0
"""Seconds to wait for another process that is opening, migrating or recovering the record."""


def beside(path: Path, suffix: str) -> Path:
    """The file next to the record whose name has `suffix` appended."""
    return path.with_name(path.name + suffix)


def with_companions(path: Path) -> tuple[Path, Path, Path]:
    """The record with its write-ahead log and that log's index."""
    return path, beside(path, "-wal"), beside(path, "-shm")


def prepare_folder(path: Path) -> None:
    """Create the record's folder, for this user only. The default folder (`gsh/gsh.db`) is narrowed to 0700 if it
    exists. Raises `StoreError`: it is not a folder, or belongs to someone else (`unsafe`); `OSError`: it cannot be
    created.
    """
    folder = path.parent
    private_files.make_folder(folder)
    info = folder.stat()
    if info.st_uid not in (os.geteuid(), 0):
        raise StoreError("unsafe", f"The data folder {folder} belongs to another user.", hint="Set XDG_DATA_HOME.")
    own = folder.name == path.stem and info.st_uid == os.geteuid()
    if own and stat.S_IMODE(info.st_mode) & 0o077:
        with contextlib.suppress(PermissionError, OSError):
            folder.chmod(0o700)


def check_files(path: Path) -> bool:
    """Whether the record exists; narrows it and its companions to 0600.

    Works by name and never opens a file: closing one would drop the locks that this process holds on it through SQLite.
    No one else can swap a name in a folder of ours that is 0700. Raises `StoreError`: one of them is a link, a folder
    or another user's file (`unsafe`).
    """
    for file in (*with_companions(path), beside(path, ".lock")):
        try:
            info = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(info.st_mode):
            what = "a link" if stat.S_ISLNK(info.st_mode) else "not a file"
            raise StoreError("unsafe", f"The record {file} is {what}.", hint="It was left alone; move it away.")
        if info.st_uid not in (os.geteuid(), 0):
            raise StoreError("unsafe", f"The record {file} belongs to another user.", hint="Set XDG_DATA_HOME.")
        if stat.S_IMODE(info.st_mode) & 0o077:
            with contextlib.suppress(OSError):
                file.chmod(0o600)
    return path.exists()


def create_file(path: Path) -> None:
    """Create the empty record, 0600 from the start; its companions inherit that."""
    os.close(private_files.make_file(path))


@contextlib.contextmanager
def opening_lock(path: Path) -> Generator[None]:
    """Keep other processes from opening the record. The system drops the lock if the process dies.

    Blocks the calling thread. Raises `StoreError` (`busy`) after `LOCK_WAIT` seconds, and `OSError` in an unwritable
    folder.
    """
    descriptor = private_files.open_file(beside(path, ".lock"), os.O_RDWR)
    try:
        deadline = time.monotonic() + LOCK_WAIT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        "busy",
                        f"Another process has been opening the record {path} for {LOCK_WAIT:.0f} s.",
                        hint="Try again.",
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
