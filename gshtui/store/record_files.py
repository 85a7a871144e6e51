"""The data folder and its files: private, no links, one process at a time where the file itself is changed.

Owns permissions (0700, 0600) and the lock for opening, migrating and recovering; refuses a link or somebody else's
file in place of the record. Called when the record is opened.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Generator
from pathlib import Path

from gshtui.store.store_errors import StoreError
from gshtui.system import private_files

LOCK_WAIT = 30.0
"""Seconds to wait for another process that opens, migrates or recovers the record."""


def beside(path: Path, suffix: str) -> Path:
    """The file next to the record whose name has `suffix` appended."""
    return path.with_name(path.name + suffix)


def with_companions(path: Path) -> tuple[Path, Path, Path]:
    """The record with its write-ahead log and that log's index."""
    return path, beside(path, "-wal"), beside(path, "-shm")


def prepare_folder(path: Path) -> None:
    """Make the record's folder, for this user alone. The record's own (`gsh/gsh.db`) is narrowed to 0700 if it exists.

    Raises:
        StoreError: it is no folder, or belongs to somebody else (`unsafe`).
        OSError: it cannot be made.
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
    """Whether the record exists; it and its companions are narrowed to 0600.

    Works by name and never opens a file: closing one would drop the locks that this process holds on it through
    SQLite. Nobody else can swap a name in a folder of ours that is 0700.

    Raises:
        StoreError: a link, a folder or another user's file is in the place of one of them (`unsafe`).
    """
    for file in (*with_companions(path), beside(path, ".lock")):
        try:
            info = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(info.st_mode):
            what = "a link" if stat.S_ISLNK(info.st_mode) else "not a file"
            raise StoreError("unsafe", f"The record {file} is {what}.", hint="Move it away; it was left alone.")
        if info.st_uid not in (os.geteuid(), 0):
            raise StoreError("unsafe", f"The record {file} belongs to another user.", hint="Set XDG_DATA_HOME.")
        if stat.S_IMODE(info.st_mode) & 0o077:
            with contextlib.suppress(OSError):
                file.chmod(0o600)
    return path.exists()


def create_file(path: Path) -> None:
    """Make the empty record, 0600 from its first moment; its companions inherit that from it."""
    os.close(private_files.make_file(path))


@contextlib.contextmanager
def opening_lock(path: Path, wait: float = LOCK_WAIT) -> Generator[None]:
    """Hold off the other processes' opening of the record. The system drops the lock when a process dies.

    Blocks the calling thread. Raises `StoreError` (`busy`) after `wait` seconds, `OSError` in a folder that cannot be
    written.
    """
    descriptor = private_files.open_file(beside(path, ".lock"), os.O_RDWR)
    try:
        deadline = time.monotonic() + wait
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StoreError(
                        "busy",
                        f"Another process has been opening the record {path} for {wait:.0f} s.",
                        hint="Try again.",
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)
