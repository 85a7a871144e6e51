"""Open and replace files so that no link can redirect a write and no file is left half written.

Takes real paths found by `paths.locate`. Each step down is opened without following links, so a link placed in the way
afterwards is an error. The file tools call it in a thread.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.system.files.private_files import open_reader
from gshtui.system.processes.process_limits import make_ours

_STEP = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SWAPPED = (errno.ELOOP, errno.ENOTDIR, errno.EMLINK)


@contextmanager
def parent_of(real: Path, *, create: bool = False) -> Generator[int]:
    """Open the folder that holds `real` without following any link, and return its descriptor.

    Args:
        real: an absolute path that contained no links when it was resolved.
        create: create missing folders.

    Raises `CommandError`: a folder on the way is now a link or a file; `OSError`: any other system error.
    """
    here = os.open("/", _STEP)
    try:
        for name in real.parent.parts[1:]:
            try:
                below = _step(name, here, create=create)
            except OSError as error:
                if error.errno in _SWAPPED:
                    raise _astray(real) from error
                raise
            os.close(here)
            here = below
        yield here
    finally:
        os.close(here)


def _step(name: str, here: int, *, create: bool) -> int:
    try:
        return os.open(name, _STEP, dir_fd=here)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(name, dir_fd=here)
    except FileExistsError:
        pass  # created by someone else meanwhile; opened all the same
    else:
        made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
        make_ours(made, 0o777)
        return made
    return os.open(name, _STEP, dir_fd=here)


def open_regular(real: Path) -> int:
    """Open an ordinary file for reading and return its descriptor. Raises `CommandError`: it is now a link, or not an
    ordinary file (a device would never end, a pipe never begin); `OSError`: any other system error.
    """
    with parent_of(real) as folder:
        try:
            opened = os.open(
                real.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY, dir_fd=folder
            )
        except OSError as error:
            if error.errno in _SWAPPED:
                raise _astray(real) from error
            raise
    kind = os.fstat(opened).st_mode
    if not stat.S_ISREG(kind):
        os.close(opened)
        raise CommandError(f"{real.name or real} is {_kind(kind)}, not a file that can be read or written.")
    return opened


def read_whole(real: Path, limit: int) -> tuple[bytes, os.stat_result]:
    """Return the file's content and state. Raises `CommandError`: see `open_regular`; or the file is larger than
    `limit` bytes.
    """
    with open_reader(open_regular(real)) as file:
        state = os.fstat(file.fileno())
        if state.st_size > limit:
            raise CommandError(
                f"{real.name} has {state.st_size:,} bytes; the limit is {limit:,}.", hint="Use bash for it."
            )
        return file.read(limit + 1), state


def replace(real: Path, content: bytes) -> os.stat_result:
    """Replace the file's content atomically: readers see the old or the new content, never a mix.

    Creates missing folders and keeps an existing file's mode. Raises `CommandError`: a link was put in the way, or it
    is not an ordinary file; `OSError`: any other system error (read-only, full, not permitted).
    """
    with parent_of(real, create=True) as folder:
        before = _state_before(real, folder)
        draft = f".{real.name[:200]}.{secrets.token_hex(4)}.tmp"
        descriptor = os.open(
            draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder
        )
        try:
            with os.fdopen(descriptor, "wb") as file:
                if before is not None:
                    os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
                    if (before.st_uid, before.st_gid) != (os.geteuid(), os.getegid()):
                        _keep_owner(descriptor, before)
                else:
                    make_ours(descriptor, 0o666)
                file.write(content)
                file.flush()
                os.fsync(descriptor)
                after = os.fstat(descriptor)
            os.rename(draft, real.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(draft, dir_fd=folder)
            raise
        return after


def append_lines(real: Path, content: bytes) -> bool:
    """Add whole lines at the end of a file, after a newline that its last line may lack; the rest is not touched.

    Creates the file and missing folders. What several writers append at once stays whole.

    Returns:
        Whether the file is new.

    Raises `CommandError`: a link was put in the way, it is not an ordinary file, or it has another name; `OSError`: any
    other system error.
    """
    with parent_of(real, create=True) as folder:
        before = _state_before(real, folder)
        descriptor = os.open(
            real.name, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666, dir_fd=folder
        )
        with os.fdopen(descriptor, "ab") as file:
            state = os.fstat(descriptor)
            if state.st_nlink > 1:
                raise CommandError(
                    f"{real.name} has another name, too (a hard link), and what is there would be changed with it.",
                    hint="Nothing was changed. `write` gives this name a file of its own.",
                )
            if before is None:
                make_ours(descriptor, 0o666)
            size = state.st_size
            start = b"\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else b""
            end = b"" if content.endswith(b"\n") or not content else b"\n"
            file.write(start + content + end)
            file.flush()
            os.fsync(descriptor)
    return before is None


def _state_before(real: Path, folder: int) -> os.stat_result | None:
    try:
        before = os.stat(real.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(before.st_mode):
        raise _astray(real)
    if not stat.S_ISREG(before.st_mode):
        raise CommandError(f"{real.name} is {_kind(before.st_mode)}, not a file that can be written.")
    if not os.access(real.name, os.W_OK, dir_fd=folder):
        raise PermissionError(errno.EACCES, "the file is read-only")
    return before


def _keep_owner(descriptor: int, before: os.stat_result) -> None:
    try:
        os.fchown(descriptor, before.st_uid, before.st_gid)
    except PermissionError:
        pass  # Only root may change a file's owner; the content is right either way.


def _astray(real: Path) -> CommandError:
    return CommandError(
        f"A link or file appeared in the path of {real} after the path was checked.", hint="Nothing was changed."
    )


def _kind(mode: int) -> str:
    for test, words in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISLNK, "a link"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if test(mode):
            return words
    return "something else"


def explained(error: OSError, what: str) -> CommandError:
    """Describe a system error in one sentence about `what` (a path or an action)."""
    words = {
        errno.EACCES: "permission denied",
        errno.EPERM: "permission denied",
        errno.EROFS: "the file system is read-only",
        errno.ENOSPC: "the disk is full",
        errno.EDQUOT: "the disk quota is used up",
        errno.ENAMETOOLONG: "a name in the path is too long",
        errno.ENOENT: "a folder in the path does not exist",
        errno.EISDIR: "it is a folder",
        errno.ENOTDIR: "a part of the path is a file, not a folder",
    }
    return CommandError(f"{what}: {words.get(error.errno or 0) or error.strerror or error}.")


@contextmanager
def explaining(what: str) -> Generator[None]:
    """Raise the block's system errors as `explained`."""
    try:
        yield
    except OSError as error:
        raise explained(error, what) from error
