"""The spool: files into which shells write their lines until a hub has stored them, one per shell.

Reads and empties them under their lock, so that no line is lost, not even one written meanwhile; rejects links, other
users' files and invalid lines. Blocks: the shell log calls it in threads.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Generator
from pathlib import Path

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.shell.event_table import KINDS, SHELL
from gshtui.shell.line_stream import BadLine, number_of, of_line
from gshtui.shell.pairing import is_of_shell
from gshtui.system.files import private_files

AT_ONCE = 4 * 1024 * 1024
"""Most bytes of a file read in one piece."""
_BEGIN = b'{"v":'


class SpoolPiece(msgspec.Struct):
    """Some lines of a file."""

    events: list[tuple[Event, int]] = msgspec.field(default_factory=list[tuple[Event, int]])
    """Each with its number in the shell's life."""
    bad: int = 0
    """The number of invalid lines."""
    more: bool = False
    """Whether there is more after them."""


def folder(data: Path) -> Path:
    """Where the files are, below the folder of the user's data."""
    return data / "spool"


def files(where: Path) -> list[Path]:
    """Those that hold something, the oldest first."""
    found: list[tuple[float, Path]] = []
    with contextlib.suppress(OSError):
        for file in where.glob("*.jsonl"):
            with contextlib.suppress(OSError):
                info = file.lstat()
                if stat.S_ISREG(info.st_mode) and info.st_size and info.st_uid == os.getuid():
                    found.append((info.st_mtime, file))
    return [file for _, file in sorted(found)]


@contextlib.contextmanager
def claimed(file: Path) -> Generator[int | None]:
    """The file, locked against its shell and other hubs; `None` if it is locked or cannot be opened."""
    try:
        descriptor = private_files.open_existing(file, os.O_RDWR)
    except OSError:
        yield None
        return
    try:
        yield descriptor if _locked(descriptor) else None
    finally:
        os.close(descriptor)


def read(descriptor: int, start: int = 0) -> tuple[SpoolPiece, int]:
    """The complete lines of a claimed file from a position on, and the position after them. Raises `OSError`."""
    raw = os.pread(descriptor, AT_ONCE, start)
    size = os.fstat(descriptor).st_size
    end = raw.rfind(b"\n") + 1
    piece = SpoolPiece()
    for line in raw[:end].split(b"\n"):
        if line.strip():
            _take(piece, line)
    if not end and start + len(raw) < size:
        piece.bad += 1  # a line of megabytes is none
        end = len(raw)
    piece.more = end > 0 and start + end < size
    return piece, start + end


def emptied(descriptor: int, end: int) -> bool:
    """Empty a claimed file whose complete lines up to `end` are all stored; drops an incomplete line after them.

    It does nothing if a line has arrived meanwhile, because bash appends without a lock. Remaining lines are read again
    and recognised by their numbers. Raises `OSError`.
    """
    size = os.fstat(descriptor).st_size
    if size > end and b"\n" in os.pread(descriptor, size - end, end):
        return False
    os.ftruncate(descriptor, 0)
    return True


def remove_empty(file: Path) -> None:
    """Remove the file of a dead shell."""
    with claimed(file) as descriptor:
        if descriptor is not None and os.fstat(descriptor).st_size == 0:
            with contextlib.suppress(OSError):
                file.unlink()


def _locked(descriptor: int) -> bool:
    info = os.fstat(descriptor)
    if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid():
        return False
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.ENOLCK, errno.EDEADLK):
            return False
        raise
    return True


def _take(piece: SpoolPiece, line: bytes) -> None:
    """Take a line; one that was torn by a full disk has the next one glued to it, which is saved."""
    for start in (0, line.rfind(_BEGIN)):
        if start < 0 or (start == 0 and not line.startswith(b"{")):
            continue
        try:
            fields = of_line(line[start:])
            number = number_of(fields)
            event = wire.from_plain(fields)
        except (BadLine, wire.WireError):
            continue
        if KINDS[SHELL].may_publish(event) and is_of_shell(event):
            piece.events.append((event, number))
            piece.bad += start > 0
            return
    piece.bad += 1
