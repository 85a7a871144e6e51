"""Where hubs listen: one socket and one entry per hub, in a folder that only this user can access.

Claims and releases sockets: a live one is never stolen, a stale one is replaced, anything else in its place is left
alone and is an error. Called by the listener, and by everything that looks for a hub.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import sys
from pathlib import Path

import msgspec

from gshtui.settings import paths
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock
from gshtui.system.files.private_files import open_reader
from gshtui.system.network.peer import peer_of
from gshtui.system.struct_types import learned

_PATH_LIMIT = 104 if sys.platform == "darwin" else 108
"""Most bytes of a socket's path, including the final zero."""
_ENTRY_LIMIT = 64 * 1024
_PROBE_WITHIN = 1.0
BACKLOG = 1_024


class HubRegistryError(ExpectedError):
    """The socket is not available; `message` is one clear sentence, `hint` says what to do."""


class SocketInUse(HubRegistryError):
    """Another process is listening there."""


class HubEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a hub says about itself to those who look for one."""

    pid: int
    socket: str
    cwd: str = ""
    project: str = ""
    answers: bool = True
    """A person sits there, who can answer questions."""
    since: float = 0.0


def folder() -> Path:
    """The folder of the sockets, made when it is missing. Raises `HubRegistryError`."""
    try:
        return paths.runtime_dir()
    except OSError as error:
        raise HubRegistryError(str(error)) from error


def shells_socket_path(configured: Path) -> Path:
    """The socket that shells report to: the configured one, or the default where others can write to its folder.

    In such a folder (such as `/tmp`) other users could put their own socket in its place, so it is not used.
    """
    try:
        found = configured.parent.stat()
    except OSError:
        return configured  # it is made when it is needed, or its fault is told then
    shared = found.st_uid != os.getuid() or bool(stat.S_IMODE(found.st_mode) & 0o022)
    return paths.runtime_dir(create=False) / "gsh.sock" if shared else configured


def own_name(number: int = 0) -> str:
    """File name of this process's socket; `number` for a second hub in the same process."""
    return f"hub-{os.getpid()}{f'-{number}' if number else ''}.sock"


def claim(path: Path) -> socket.socket:
    """Create a listening socket at this path, 0600. Blocks for a moment. Raises `InUse`: another process is listening
    there; `PlaceError`: something else is in its place, or it cannot be created.
    """
    if len(os.fsencode(path)) >= _PATH_LIMIT:
        hint = "Set XDG_RUNTIME_DIR to a folder with a short path."
        raise HubRegistryError(f"The path {path} is too long for a socket.", hint=hint)
    try:
        with _locked(path.parent):
            _make_room(path)
            return _bound(path)
    except HubRegistryError:
        raise
    except OSError as error:
        raise HubRegistryError(f"Cannot create a socket at {path}: {error.strerror or error}.") from error


def is_live(path: Path) -> bool:
    """Whether a process is listening at a socket; true if in doubt. Raises `OSError` if it is not a socket."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_WITHIN)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except (TimeoutError, BlockingIOError):
            return True  # its queue is full: it is only busy
    return True


def listener_of(path: Path) -> int:
    """The process that listens at a socket; 0 where that is not known."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_WITHIN)
        try:
            probe.connect(str(path))
            return peer_of(probe).pid
        except OSError:
            return 0


def give_back(path: Path, listening: tuple[int, int]) -> None:
    """Remove the socket if it is still the one that was claimed; `listening` is its (device, inode)."""
    with contextlib.suppress(OSError):
        if identity(path) == listening:
            path.unlink()


def identity(path: Path) -> tuple[int, int]:
    """(device, inode) of the file at this path. Raises `OSError`."""
    info = path.lstat()
    return info.st_dev, info.st_ino


def announce(entry: HubEntry) -> None:
    """Write the hub's entry beside its socket, whole or not at all. Raises `OSError`."""
    target = Path(entry.socket).with_suffix(".json")
    private_files.write_whole(target, json.dumps(msgspec.to_builtins(entry)).encode("ascii"))


def withdraw(socket_path: Path) -> None:
    """Remove a hub's entry."""
    with contextlib.suppress(OSError):
        socket_path.with_suffix(".json").unlink()


def hubs(where: Path) -> list[HubEntry]:
    """The entries in a folder of sockets, newest hub first. What cannot be read is left out."""
    found: list[HubEntry] = []
    with contextlib.suppress(OSError):
        for file in where.glob("hub-*.json"):
            with contextlib.suppress(OSError, ValueError, msgspec.DecodeError, RecursionError):
                entry = msgspec.convert(json.loads(_read(file)), learned(HubEntry))  # paths may have undecodable bytes
                if entry.socket == str(file.with_suffix(".sock")):
                    found.append(entry)
    return sorted(found, key=lambda entry: entry.since, reverse=True)


def sweep(where: Path) -> int:
    """Remove sockets and entries of dead hubs; returns their number. Blocks for a moment."""
    swept = 0
    with contextlib.suppress(OSError), _locked(where):
        for file in where.glob("hub-*.sock"):
            with contextlib.suppress(OSError):
                info = file.lstat()
                if stat.S_ISSOCK(info.st_mode) and info.st_uid == os.getuid() and not is_live(file):
                    file.unlink()
                    swept += 1
        for file in where.glob("hub-*.json"):
            if not file.with_suffix(".sock").exists():
                with contextlib.suppress(OSError):
                    file.unlink()
    return swept


def _make_room(path: Path) -> None:
    """Remove a stale socket at this path. Raises `HubRegistryError` if something else is there."""
    try:
        info = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        what = "a link" if stat.S_ISLNK(info.st_mode) else "a folder" if stat.S_ISDIR(info.st_mode) else "a file"
        raise HubRegistryError(f"{path} is {what}, not a socket.", hint="It was left alone; remove it yourself.")
    if info.st_uid != os.getuid():
        raise HubRegistryError(
            f"The socket {path} belongs to user {info.st_uid}, not to you.", hint="It was left alone."
        )
    if is_live(path):
        raise SocketInUse(f"Another process is already listening at {path}.")
    path.unlink()


def _bound(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        with contextlib.suppress(OSError):
            os.fchmod(made.fileno(), 0o600)  # on Linux the file gets this mode from its first moment
        made.bind(str(path))
        path.chmod(0o600)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRINUSE:
            raise SocketInUse(f"Another process is already listening at {path}.") from error
        raise
    return made


def _read(file: Path) -> bytes:
    descriptor = private_files.open_existing(file)
    with open_reader(descriptor) as opened:
        if os.fstat(opened.fileno()).st_uid != os.getuid():
            raise OSError(errno.EPERM, "somebody else's")
        return opened.read(_ENTRY_LIMIT)


def _locked(where: Path) -> contextlib.AbstractContextManager[None]:
    """The lock under which one process at a time changes the folder."""
    return blocking_lock(where / "hubs.lock")
