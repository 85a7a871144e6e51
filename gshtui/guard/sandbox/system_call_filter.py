"""The system calls that a sandboxed command must not make, as a seccomp filter for bubblewrap.

What mounts and namespaces leave open: sockets of the host that are files, keys pushed into the terminal, the kernel's
keyrings, calls that go around the others (io_uring opens sockets, too), and those that reach into another process:
the one that watches over a sandbox may be in it. Space that is taken without being written, faster than anybody can
see it: programs then write. And files that give whoever runs them their owner's rights, and
devices, which would stay behind in the project. Pure.
"""

from __future__ import annotations

import struct

import msgspec

_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EOPNOTSUPP, _EAFNOSUPPORT = 1, 38, 95, 97
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
_CREATES = 0o100 | 0o20000000
"""O_CREAT and O_TMPFILE: only with these does an open have a mode."""
_FREES = 0x2 | 0x8
"""FALLOC_FL_PUNCH_HOLE and FALLOC_FL_COLLAPSE_RANGE, which give space back."""
_SET_USER, _SET_GROUP = 0o4000, 0o2000
_TYPE, _DEVICES = 0o170000, (0o020000, 0o060000)
_Code = list[tuple[int, int, int, int]]


class _Machine(msgspec.Struct, frozen=True):
    """Numbers of one architecture (asm/unistd.h, linux/audit.h)."""

    audit: int
    socket: int
    socket_pair: int
    ioctl: int
    open_as: int
    """openat2, which takes its mode from memory, out of the filter's sight; who lacks it uses openat."""
    allocate: int
    """fallocate."""
    modes: tuple[tuple[int, int], ...]
    """(call, argument) of those that set a file's mode: fchmod, fchmodat, fchmodat2; chmod, creat."""
    opens: tuple[tuple[int, int], ...]
    """(call, argument with the flags, which the mode follows): openat; open."""
    nodes: tuple[tuple[int, int], ...]
    """(call, argument with type and mode): mknodat; mknod."""
    refused: tuple[int, ...]


# In this order: add_key, request_key, keyctl, perf_event_open, bpf, userfaultfd, io_uring_setup, _enter, _register;
# ptrace, process_vm_readv, process_vm_writev, kcmp, pidfd_getfd, process_madvise.
_MACHINES = {
    "x86_64": _Machine(
        *(0xC000003E, 41, 53, 16, 437, 285),
        ((91, 1), (268, 2), (452, 2), (90, 1), (85, 1)),
        ((257, 2), (2, 1)),
        ((259, 2), (133, 1)),
        (248, 249, 250, 298, 321, 323, 425, 426, 427, 101, 310, 311, 312, 438, 440),
    ),
    "aarch64": _Machine(
        *(0xC00000B7, 198, 199, 29, 437, 47),
        ((52, 1), (53, 2), (452, 2)),
        ((56, 2),),
        ((33, 2),),
        (217, 218, 219, 241, 280, 282, 425, 426, 427, 117, 270, 271, 272, 438, 440),
    ),
}


def system_call_filter(machine: str, *, group_files: bool = False) -> bytes | None:
    """The compiled filter; `None` for an architecture whose numbers are not known here.

    Args:
        machine: as `platform.machine()` says it.
        group_files: files may be made that lend their group's rights: where folders hand down their group, programs
            that keep a folder's mode set that bit, too.
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
    code += [(_EQUAL, 0, 1, numbers.open_as), (_RETURN, 0, 0, _REFUSE | _ENOSYS)]
    takes = [_argument(1), (_ANY_OF, 1, 0, _FREES), (_RETURN, 0, 0, _REFUSE | _EOPNOTSUPP), (_RETURN, 0, 0, _ALLOW)]
    code += _of_call(numbers.allocate, takes)
    code += _modes(numbers, _SET_USER if group_files else _SET_USER | _SET_GROUP)
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


def _modes(numbers: _Machine, lent: int) -> _Code:
    """Refuse files with these bits of the mode, and devices."""
    last: _Code = [(_ANY_OF, 0, 1, lent), (_RETURN, 0, 0, _REFUSE | _EPERM), (_RETURN, 0, 0, _ALLOW)]
    code: _Code = []
    for number, argument in numbers.modes:
        code += _of_call(number, [_argument(argument), *last])
    for number, argument in numbers.opens:
        flags = [_argument(argument), (_ANY_OF, 1, 0, _CREATES), (_RETURN, 0, 0, _ALLOW)]
        code += _of_call(number, [*flags, _argument(argument + 1), *last])
    for number, argument in numbers.nodes:
        kinds = [_argument(argument), (_AND, 0, 0, _TYPE)]
        for kind in _DEVICES:
            kinds += [(_EQUAL, 0, 1, kind), (_RETURN, 0, 0, _REFUSE | _EPERM)]
        code += _of_call(number, [*kinds, _argument(argument), *last])
    return code


def _of_call(number: int, code: _Code) -> _Code:
    """The number of the call is loaded before and, unless it is this one, after it."""
    return [(_EQUAL, 0, len(code), number), *code]


def _argument(number: int) -> tuple[int, int, int, int]:
    return (_LOAD, 0, 0, 16 + 8 * number)
