"""Run inside a sandbox: tries to get out in every known way, and prints the names of those that work as JSON.

A script for an interpreter without packages. Arguments: a file outside that must not be writable, one that must not be
readable, a socket that must not answer, one that must not receive a datagram, a port of 127.0.0.1 that must not answer
(0: the network is allowed).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

_TIOCSTI, _CLONE_NEWUSER, _REMOUNT_BIND = 0x5412, 0x10000000, 32 | 4096
_IO_URING_SETUP, _PTRACE_TRACEME = 425, 0
_OPENAT2, _AT_CWD = 437, -100
_OF_LINUX = (
    *("make the system's files writable", "choose the program for core dumps", "open a namespace"),
    *("see other processes", "go around the filter by io_uring", "type into the terminal", "write among the devices"),
    *("reach into other processes", "leave a program that lends its owner's rights", "make a device"),
)
_LIBC = ctypes.CDLL(None, use_errno=True)


def _writes(path: str) -> bool:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    os.close(descriptor)
    return True


def _reads(path: str) -> bool:
    return bool(Path(path).read_bytes())


def _connects(family: int, address: str | tuple[str, int]) -> bool:
    with socket.socket(family) as way:
        way.settimeout(0.5)
        way.connect(address)
    return True


def _sends(address: str) -> bool:
    """Half of a pair of datagram sockets sends wherever it is told to."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with near, far:
        return near.sendto(b"x", address) == 1


def _fills_devices() -> bool:
    Path("/dev/gsh-fill").write_bytes(b"x")
    return True


def _types(request: int) -> bool:
    """Whether the terminal's queue is refused by anything but the filter."""
    try:
        fcntl.ioctl(0, request, b"x")
    except OSError as error:
        return error.errno != errno.EPERM
    return True


def _remounts() -> bool:
    return _LIBC.mount(None, b"/", None, _REMOUNT_BIND, None) == 0


def _opens_a_ring() -> bool:
    return _LIBC.syscall(_IO_URING_SETUP, 1, None) >= 0 or ctypes.get_errno() == errno.EFAULT


def _traces() -> bool:
    return _LIBC.ptrace(_PTRACE_TRACEME, 0, None, None) == 0


def _sees_others() -> bool:
    return any(
        name.isdecimal() and int(name) not in (1, os.getpid())
        for name in (each.name for each in Path("/proc").iterdir())
    )


def _lends_rights() -> bool:
    """Whether the program can leave a setuid file behind."""
    ways: tuple[Callable[[], object], ...] = (
        lambda: Path("lent").write_bytes(b"x") and Path("lent").chmod(0o4755),
        lambda: os.chmod("lent", 0o2755, dir_fd=os.open(".", os.O_RDONLY)),
        lambda: os.fchmod(os.open("lent", os.O_WRONLY), 0o4755),
        lambda: os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755),
        lambda: _LIBC.creat(b"created", 0o4755),
        lambda: os.mknod("made", stat.S_IFREG | 0o4755),
        lambda: _LIBC.syscall(_OPENAT2, _AT_CWD, b"opened2", _how(os.O_CREAT | os.O_WRONLY, 0o4755), 24),
    )
    for way in ways:
        with contextlib.suppress(OSError):
            way()
    return any(each.stat().st_mode & 0o6000 for each in Path().iterdir())


def _how(flags: int, mode: int) -> ctypes.Array[ctypes.c_uint64]:
    """The memory that openat2 reads."""
    return (ctypes.c_uint64 * 3)(flags, mode, 0)


def _makes_a_device() -> bool:
    os.mknod("device", stat.S_IFCHR | 0o600, os.makedev(1, 3))
    return True


def _moves_git() -> bool:
    Path(".git").rename(".moved")
    return True


def attempts(outside: str, secret: str, way: str, letters: str, port: int) -> dict[str, Callable[[], bool]]:
    """Every attempt by what it would do; true or no error: it worked."""
    tried: dict[str, Callable[[], bool]] = {
        "write outside the project": lambda: _writes(outside),
        "read what is hidden": lambda: _reads(secret),
        "make the system's files writable": _remounts,
        "choose the program for core dumps": lambda: _writes("/proc/sys/kernel/core_pattern"),
        "open a namespace": lambda: _LIBC.unshare(_CLONE_NEWUSER) == 0,
        "see other processes": _sees_others,
        "connect to a socket that is a file": lambda: _connects(socket.AF_UNIX, way),
        "send to a socket that is a file": lambda: _sends(letters),
        "type into the terminal": lambda: _types(_TIOCSTI),
        "go around the filter by io_uring": _opens_a_ring,
        "reach into other processes": _traces,
        "replace git's hooks": lambda: _writes(".git/hooks/pre-commit"),
        "move .git away": _moves_git,
        "write among the devices": _fills_devices,
        "leave a program that lends its owner's rights": _lends_rights,
        "make a device": _makes_a_device,
    }
    if port:
        tried["reach the network"] = lambda: _connects(socket.AF_INET, ("127.0.0.1", port))
    return {name: attempt for name, attempt in tried.items() if sys.platform == "linux" or name not in _OF_LINUX}


def main() -> None:
    """Try all and print which worked."""
    outside, secret, way, letters, port = sys.argv[1:6]
    worked: list[str] = []
    for name, attempt in attempts(outside, secret, way, letters, int(port)).items():
        try:
            if attempt():
                worked.append(name)
        except OSError:
            pass  # it was refused
    sys.stdout.write(json.dumps(worked))


if __name__ == "__main__":
    main()
