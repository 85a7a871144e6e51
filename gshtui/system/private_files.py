"""Files and folders for this user alone: made 0700 and 0600 whatever the umask, never through a link, written whole.

Standard library only, and little of it: what runs before the first frame may import it. It refuses nothing on its own
authority; errors are the system's `OSError`. Every room that makes something below the XDG folders calls it.
"""

# pathlib takes longer to import than all of this does to run.
# ruff: noqa: PTH100, PTH102, PTH105, PTH108, PTH112, PTH118, PTH120

from __future__ import annotations

import os

FOLDER = 0o700
FILE = 0o600
_NEW = os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


def make_folder(folder: str | os.PathLike[str]) -> None:
    """Make the folder and every folder above it that is missing, each 0700. One that exists keeps its mode."""
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
    """Open the file, made where it is missing; gives the descriptor. A file of ours that others may read is narrowed.

    `flags`: as for `os.open`, such as `os.O_WRONLY | os.O_APPEND`. Links are not followed; children do not inherit it.
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
    """Open a file that is there; gives the descriptor. Links are not followed, and a pipe does not block."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def make_file(path: str | os.PathLike[str]) -> int:
    """Make a file that was not there, open for writing; gives the descriptor. Raises `FileExistsError`."""
    return os.open(path, os.O_RDWR | os.O_EXCL | _NEW, FILE)


def write_whole(path: str | os.PathLike[str], data: bytes, *, mode: int = FILE, sync: bool = False) -> None:
    """Put the file there with this content: a reader, or a crash, sees the old content or the new, never a part.

    `mode`: its rights, exactly, whatever the umask. `sync`: it is on the disk before the name points to it.
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
