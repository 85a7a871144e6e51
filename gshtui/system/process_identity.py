"""Which process this is, and whether another one still lives, told apart from a later one with the same number.

Owns the identity of a process: machine start, process-id space, pid, start time; refuses to guess: what cannot be
known is "alive".
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import msgspec

_PROC = Path("/proc")


class Process(msgspec.Struct, frozen=True):
    """A process, unmistakably."""

    machine: str
    pid: int
    started: str


def this_process() -> Process:
    """The one that runs this."""
    pid = os.getpid()
    return Process(_machine(), pid, start_of(pid) or "")


def is_alive(process: Process) -> bool:
    """Whether it runs still. Of an earlier start of the machine: no. Of another container: not known, so yes."""
    here = _machine()
    if process.machine.partition("/")[0] != here.partition("/")[0]:
        # The record can only be shared within one running system, so another boot means an earlier one.
        return False
    if process.machine != here:
        return True
    return start_of(process.pid) == process.started


def start_of(pid: int) -> str | None:
    """When the process began, in a unit of the system's own; `None` when there is none, or it is only a zombie."""
    if _PROC.joinpath("self/stat").exists():
        try:
            # The name, in parentheses, may hold anything; state and start time are fields 3 and 22 of the whole.
            fields = _PROC.joinpath(str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZX" else fields[19]
    import psutil

    try:
        found = psutil.Process(pid)
        return None if found.status() == psutil.STATUS_ZOMBIE else f"{found.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


@cache
def _machine() -> str:
    """This start of the system, and the space in which its process ids count; empty parts where there is no such."""
    try:
        boot = _PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{_PROC.joinpath('self/ns/pid').readlink()}"
    except OSError:
        return "/"
