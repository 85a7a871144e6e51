"""Files and folders for this user only: created 0700 and 0600 whatever the umask, atomically, never through a link.

Uses little of the standard library, so code before the first frame may import it. Raises the system's `OSError`.
"""

# Importing pathlib takes longer than running all of this.
# ruff: noqa: PTH100, PTH102, PTH105, PTH108, PTH112, PTH118, PTH120

from __future__ import annotations

import os
from io import BufferedReader


def open_reader(descriptor: int) -> BufferedReader:
    """Read from it; closing the file closes it. Raises `OSError` where it is a folder's, which closes it as well.

    `os.fdopen` leaves a folder's descriptor open.
    """
    try:
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


FOLDER = 0o700
FILE = 0o600
_NEW = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Create the folder and its missing parents, each 0700. An existing one keeps its mode."""
    path = os.path.abspath(folder)
    missing: list[str] = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for path in reversed(missing):
        try:
            os.mkdir(path, FOLDER)
        except FileExistsError:
            if not os.path.isdir(path):
                raise


def open_file(path: str | os.PathLike[str], flags: int, mode: int = FILE) -> int:
    """Open the file, creating it if missing, and return the descriptor. Removes others' permissions from a file of
    ours.

    `flags`: as for `os.open`, such as `os.O_WRONLY | os.O_APPEND`. Does not follow links; children do not inherit it.
    """
    descriptor = os.open(path, flags | _NEW, mode)
    try:
        found = os.fstat(descriptor)
        if found.st_mode & 0o077 & ~mode and found.st_uid == os.geteuid():
            os.fchmod(descriptor, found.st_mode & 0o7777 & ~(0o077 & ~mode))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_existing(path: str | os.PathLike[str], flags: int = os.O_RDONLY) -> int:
    """Open an existing file and return the descriptor. Does not follow links, or block on a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def make_file(path: str | os.PathLike[str]) -> int:
    """Create a new file, open for writing, and return the descriptor. Raises `FileExistsError`."""
    return os.open(path, os.O_RDWR | os.O_EXCL | _NEW, FILE)


def write_whole(path: str | os.PathLike[str], data: bytes, *, mode: int = FILE, sync: bool = False) -> None:
    """Write the file atomically: readers and crashes see the old or the new content, never a part.

    `mode`: its exact permissions, whatever the umask. `sync`: flush to disk before the name points to it.
    """
    folder, name = os.path.split(os.path.abspath(path))
    fresh = os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_EXCL | _NEW, mode & FILE)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            if mode != mode & FILE:
                os.fchmod(descriptor, mode)
            file.write(data)
            if sync:
                file.flush()
                os.fsync(descriptor)
        os.replace(fresh, os.path.join(folder, name))
    except BaseException:
        try:
            os.unlink(fresh)
        except OSError:
            pass
        raise
