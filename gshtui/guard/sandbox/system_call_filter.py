"""The system calls that a sandboxed command must not make, as a seccomp filter for bubblewrap.

What mounts and namespaces leave open: sockets of the host that are files, keys pushed into the terminal, the kernel's
keyrings, calls that go around the others (io_uring opens sockets, too), and those that reach into another process:
the one that watches over a sandbox may be in it. Pure.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _RETURN, _AND = 0x20, 0x15, 0x35, 0x06, 0x54
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets in `struct seccomp_data`; of an argument, its lower 32 bits, which are all that the kernel reads of these."""
_FAMILIES = (2, 10, 16)
"""AF_INET, AF_INET6 and AF_NETLINK: those that the network namespace contains."""
_CONNECTED, _TYPE_MASK = (1, 5), 0xF
"""SOCK_STREAM and SOCK_SEQPACKET: halves of a pair that stay with each other. A datagram socket that was made as one of
a pair can still be sent from to any socket that is a file, as if it had been made alone."""
_IOCTLS = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX type into a terminal."""
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Machine:
    """Numbers of one architecture (asm/unistd.h, linux/audit.h)."""

    audit: int
    socket: int
    socket_pair: int
    ioctl: int
    refused: tuple[int, ...]


# In this order: add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, io_uring_setup, _enter, _register;
# ptrace, process_vm_readv, process_vm_writev, kcmp, pidfd_getfd, process_madvise.
_MACHINES = {
    "x86_64": _Machine(
        *(0xC000003E, 41, 53, 16),
        (248, 249, 250, 298, 321, 323, 425, 426, 427, 101, 310, 311, 312, 438, 440),
    ),
    "aarch64": _Machine(
        *(0xC00000B7, 198, 199, 29),
        (217, 218, 219, 241, 280, 282, 425, 426, 427, 117, 270, 271, 272, 438, 440),
    ),
}


def system_call_filter(machine: str) -> bytes | None:
    """The compiled filter; `None` for an architecture whose numbers are not known here.

    Args:
        machine: as `platform.machine()` says it.
    """
    numbers = _MACHINES.get(machine)
    if numbers is None:
        return None
    code = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, numbers.audit),
        (_RETURN, 0, 0, _REFUSE | _ENOSYS),  # another architecture's numbers mean other calls
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _REFUSE | _ENOSYS),
    ]
    for number in numbers.refused:
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSE | _EPERM)]
    families = [(_LOAD, 0, 0, _FIRST)]
    for at, family in enumerate(_FAMILIES):
        families.append((_EQUAL, len(_FAMILIES) - at, 0, family))
    families += [(_RETURN, 0, 0, _REFUSE | _EAFNOSUPPORT), (_RETURN, 0, 0, _ALLOW)]
    code += [(_EQUAL, 0, len(families), numbers.socket), *families]
    pairs = [(_LOAD, 0, 0, _SECOND), (_AND, 0, 0, _TYPE_MASK)]
    for at, kind in enumerate(_CONNECTED):
        pairs.append((_EQUAL, len(_CONNECTED) - at, 0, kind))
    pairs += [(_RETURN, 0, 0, _REFUSE | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    code += [(_EQUAL, 0, len(pairs), numbers.socket_pair), *pairs]
    terminal = [(_LOAD, 0, 0, _SECOND)]
    for request in _IOCTLS:
        terminal += [(_EQUAL, 0, 1, request), (_RETURN, 0, 0, _REFUSE | _EPERM)]
    code += [(_EQUAL, 0, len(terminal), numbers.ioctl), *terminal, (_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *line) for line in code)
