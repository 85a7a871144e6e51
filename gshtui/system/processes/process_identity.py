"""Identify this process, and tell whether another still lives, even if its pid was reused.

Identity is machine start, pid namespace, pid and start time. If something cannot be known, the process counts as
alive.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import msgspec

_PROC = Path("/proc")


class Process(msgspec.Struct, frozen=True):
    """A process, identified unambiguously."""

    machine: str
    pid: int
    started: str


def this_process() -> Process:
    return process_of(os.getpid())


def process_of(pid: int) -> Process:
    return Process(_machine(), pid, start_of(pid) or "")


def is_alive(process: Process) -> bool:
    """Whether it is still running. From an earlier boot: no. In another container: unknown, so yes."""
    here = _machine()
    if process.machine.partition("/")[0] != here.partition("/")[0]:
        # The record can only be shared within one running system, so another boot means an earlier one.
        return False
    if process.machine != here:
        return True
    return start_of(process.pid) == process.started


def is_here(process: Process) -> bool:
    """Whether its id means the same process here: one of another container must not be signalled by it."""
    return process.machine == _machine()


def start_of(pid: int) -> str | None:
    """When the process started, in a unit of the system; `None` if there is none, or only a zombie."""
    if _PROC.joinpath("self/stat").exists():
        try:
            # The name, in parentheses, may contain anything; state and start time are fields 3 and 22 of the line.
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
    """This boot of the system and the pid namespace; empty parts if there is no such thing."""
    try:
        boot = _PROC.joinpath("sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{_PROC.joinpath('self/ns/pid').readlink()}"
    except OSError:
        return "/"
