"""The mark of a face: a process of ours that takes answers from its terminal, where nobody but a person may type.

A marked process holds an anonymous file of a known name, which the kernel lists among its open files for as long as it
lives, and which no child inherits. So a face is known by the process itself, whatever its session, its title or its
command line say. Where the system has no such files (macOS), no process is marked and none is found.
"""

from __future__ import annotations

import os
from functools import cache

_NAME = "gsh-tui-face"
_PROC = "/proc"


@cache
def mark_face() -> int:
    """Mark this process until it ends; its open file, or -1 where the system has none."""
    create = getattr(os, "memfd_create", None)
    if create is None:
        return -1
    try:
        return int(create(_NAME, os.MFD_CLOEXEC))
    except OSError:
        return -1


def can_mark() -> bool:
    """Whether the system has such files, so that a face can be known."""
    return hasattr(os, "memfd_create")


def face_in_terminal(pid: int) -> int:
    """The marked process that has the terminal of this process, or was started below it; 0: there is none.

    A face in a terminal within the terminal (`script`, a debugger) is one below it. Blocks for some milliseconds.
    `pid`: a process, such as a pane's.
    """
    parents: dict[int, int] = {}
    terminals: dict[int, int] = {}
    for name in _listed(_PROC):
        if name.isdecimal() and (fields := _fields(name)):
            parents[int(name)], terminals[int(name)] = int(fields[1]), int(fields[4])
    terminal = terminals.get(pid, 0)
    for other in parents:
        same = terminal != 0 and terminals[other] == terminal
        if (same or _is_below(other, pid, parents)) and _is_marked(other):
            return other
    return 0


def _is_below(process: int, above: int, parents: dict[int, int]) -> bool:
    for _ in range(len(parents)):
        if process == above:
            return True
        process = parents.get(process, 0)
        if process <= 1:
            return False
    return False


def _is_marked(pid: int) -> bool:
    folder = f"{_PROC}/{pid}/fd"
    for name in _listed(folder):
        try:
            if os.readlink(f"{folder}/{name}").startswith(f"/memfd:{_NAME} "):  # noqa: PTH115
                return True
        except OSError:
            continue  # it was closed just now
    return False


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208  # pathlib takes longer to import than a first frame has
    except OSError:  # it has ended, it is another user's, or the system has no such folder
        return []


def _fields(pid: str) -> list[str]:
    """State, parent, group, session and terminal of a process; empty if it has ended."""
    try:
        with open(f"{_PROC}/{pid}/stat", "rb") as file:  # noqa: PTH123
            text = file.read()
    except OSError:
        return []
    return text.rpartition(b")")[2].decode("ascii", "replace").split()[:5]
