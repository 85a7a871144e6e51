"""Watches what a sandboxed command uses, and ends it where it is too much.

The kernel counts no processes of root and no memory of several processes together, and a full disk stops everybody.
What is seen is the sandbox's own `/proc`. All of it ends at once with its first process.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

from gshtui.guard.sandbox.sandbox_limits import SandboxLimits

_PAUSE, _SHARE = 0.1, 20
"""Seconds between two looks at least; and so many times what the last one took."""
_RESERVE = 512 << 20
"""Bytes of the project's disk that are left to everybody else."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_IN_MEMORY = ("tmp", "run", "var/tmp", "dev/shm")

Over = tuple[str, str]
"""The setting that a command went over, and what happened."""


class SandboxWatch:
    """A thread that looks after one running sandbox, until it is closed or the sandbox has ended.

    Attributes:
        over: the limit that ended it; `None` up to now.
    """

    def __init__(self, pid: int, limits: SandboxLimits, project: Path) -> None:
        """
        Args:
            pid: bubblewrap's, a child of this process that nobody has waited for yet.
            limits: what it may use.
            project: the folder whose disk it must not fill.
        """
        self.over: Over | None = None
        self._pid = pid
        self._limits = limits
        self._project = project
        self._closed = threading.Event()
        self._floor = min(_RESERVE, _free(project) // 2)
        self._thread = threading.Thread(target=self._look_after, name="sandbox", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End it. What has been seen stays."""
        self._closed.set()

    def _look_after(self) -> None:
        first = self._first_process()
        if first is None:
            return
        descriptor, root = first
        try:
            took = 0.0
            while not self._closed.wait(max(_PAUSE, _SHARE * took)):
                began = time.monotonic()
                over = self._over(root)
                if over is not None:
                    self.over = over
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    return
                took = time.monotonic() - began
        except OSError:
            return  # it has ended
        finally:
            os.close(descriptor)

    def _first_process(self) -> tuple[int, Path] | None:
        """(descriptor of the sandbox's first process, its root); `None` if it ends before there is one."""
        children = Path(f"/proc/{self._pid}/task/{self._pid}/children")
        while not self._closed.wait(_PAUSE):
            try:
                found = children.read_text("ascii").split()
                if found and Path(f"/proc/{found[0]}/comm").read_text("utf-8", "replace") != "bwrap\n":
                    descriptor = os.pidfd_open(int(found[0]))
                    if children.read_text("ascii").split() == found:
                        return descriptor, Path(f"/proc/{found[0]}/root")
                    os.close(descriptor)
            except OSError:
                return None
        return None

    def _over(self, root: Path) -> Over | None:
        """What is too much now. Raises `OSError`: it has ended."""
        processes = [name for name in os.listdir(root / "proc") if name.isdecimal()]  # noqa: PTH208 - names, in a hurry
        limits = self._limits
        if len(processes) > limits.processes:
            return "max_processes", f"it had {len(processes)} processes, {limits.processes} may be, and was ended"
        if (used := _memory(root, processes) >> 20) > limits.memory:
            return "max_memory_mb", f"it used {used} MB of memory, {limits.memory} may be, and was ended"
        if _free(self._project) < self._floor:
            return "writable_paths", f"less than {self._floor >> 20} MB of the disk were left, so it was ended"
        return None


def _memory(root: Path, processes: list[str]) -> int:
    """Bytes that these processes have to themselves, and that the temporary files take."""
    pages = 0
    for name in processes:
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (root / "proc" / name / "statm").read_bytes().split()
            pages += max(0, int(fields[1]) - int(fields[2]))
    used = pages * _PAGE
    for name in _IN_MEMORY:
        with contextlib.suppress(OSError):
            folder = root / name
            if folder.stat().st_dev != Path("/", name).stat().st_dev:  # the sandbox's own
                found = os.statvfs(folder)
                used += (found.f_blocks - found.f_bfree) * found.f_frsize
    return used


def _free(folder: Path) -> int:
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0
    return found.f_bavail * found.f_frsize
