"""A group of the kernel's that counts the processes of one sandbox, for root, who has no other limit of them.

Where none can be made (most containers), there is none: the watch of a sandbox counts in any case, a little later.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from gshtui.system.ids import new_id

_PREFIX = "gsh-sandbox-"
_JOIN, _OURS = '{ echo 0 >"$0"; } 2>/dev/null; exec "$@"', 3
"""Bubblewrap's own processes are in it, too. 0 is whoever writes it."""
_THREADS, _PROCESSES = "tasks", "cgroup.procs"
"""The first, of the first version, moves only the thread that asks: all that a shell has. The kernel then need not
stop every process of the machine from starting others, for which it may wait many milliseconds."""
_OWN, _MOUNTS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """One that exists, with its limit. `folder`: where it is."""

    folder: Path

    def joined(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """The command line that runs `argv` in it, with all that it starts."""
        joins = self.folder / _THREADS
        return ("/bin/sh", "-c", _JOIN, str(joins if joins.exists() else self.folder / _PROCESSES), *argv)

    def refused(self) -> bool:
        """Whether a process could not be started because of the limit."""
        try:
            return any(int(word) for word in (self.folder / "pids.events").read_text("ascii").split()[1::2])
        except (OSError, ValueError):
            return False

    def remove(self) -> None:
        """Remove it, once everything in it has ended. What is left behind is removed with a later one."""
        with contextlib.suppress(OSError):
            self.folder.rmdir()


def make_group(processes: int, own: Path = _OWN, mounts: Path = _MOUNTS) -> ControlGroup | None:
    """A new group of at most so many processes; `None` where none can be made. Blocks for a moment."""
    base = _base(own, mounts)
    if base is None:
        return None
    _sweep(base)
    folder = base / f"{_PREFIX}{os.getpid()}-{new_id()}"
    try:
        folder.mkdir()
    except OSError:
        return None
    group = ControlGroup(folder)
    try:
        (folder / "pids.max").write_text(str(processes + _OURS), "ascii")
    except OSError:
        group.remove()
        return None
    return group


def _base(own: Path, mounts: Path) -> Path | None:
    """Where a group with a limit of processes can be made, in either version of the kernel's groups."""
    try:
        lines = own.read_text("utf-8").splitlines()
    except OSError:
        return None
    for line in lines:
        _, names, path = line.split(":", 2)
        if "pids" in names.split(","):
            return _writable(mounts / "pids" / path.lstrip("/"))
        if not names and (mounts / "cgroup.controllers").exists():  # the second version, whose groups with processes
            above = (mounts / path.lstrip("/")).parent if path != "/" else mounts  # have none with limits below them
            with contextlib.suppress(OSError):
                if "pids" in (above / "cgroup.subtree_control").read_text("ascii").split():
                    return _writable(above)
    return None


def _writable(folder: Path) -> Path | None:
    return folder if folder.is_dir() and os.access(folder, os.W_OK) else None


def _sweep(base: Path) -> None:
    """Remove what processes that are gone have left. A group with processes in it cannot be removed."""
    with contextlib.suppress(OSError):
        for found in base.glob(f"{_PREFIX}*"):
            owner = found.name.removeprefix(_PREFIX).partition("-")[0]
            if owner.isdecimal() and not Path(f"/proc/{owner}").exists():
                ControlGroup(found).remove()
