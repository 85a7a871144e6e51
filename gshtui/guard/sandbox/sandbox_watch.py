"""What one sandboxed command may use of the machine; watches that, and ends it where it is too much.

The kernel counts no processes of root and no memory of several processes together, and a full disk stops everybody.
What is seen is the sandbox's own `/proc`. All of it ends at once with its first process.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import signal
import stat
import sys
import threading
import time
from pathlib import Path

import msgspec

from gshtui.text.sanitise import literal, one_line

_MEGABYTE = 1 << 20


class SandboxLimits(msgspec.Struct, frozen=True):
    """What one command, with everything that it starts, may use.

    Args:
        processes: most processes at a time.
        memory: megabytes of memory of all of them together, temporary files included.
        file: megabytes of one file.
    """

    processes: int = 1024
    memory: int = 8192
    file: int = 4096

    @property
    def temporary(self) -> int:
        """Bytes that each temporary folder takes at most: they are in memory."""
        return min(1 << 30, self.memory * _MEGABYTE // 4)

    def shell_words(self, room: int | None = None) -> str:
        """What sets, in a POSIX shell, those that the kernel keeps for each process.

        It counts no processes of root: those, and the memory of several together, are watched from outside. Before
        Linux 5.14 it counted all processes of a user, in every namespace, so there it is told nothing about them.
        `room`: bytes that may be written to the disk altogether, which no file may be larger than.
        """
        largest = self.file * _MEGABYTE if room is None else min(self.file * _MEGABYTE, max(room, _MEGABYTE))
        blocks, kilobytes = largest // 512, self.memory * 1024
        words = f"ulimit -c 0; ulimit -f {blocks}; ulimit -d {kilobytes}"
        if not _counts_by_namespace(platform.release()):
            return words
        # -p in dash, -u in bash
        return (
            f"{words}; ulimit -p {self.processes} 2>/dev/null || ulimit -u {self.processes} 2>/dev/null"  # dash, bash
        )


def _counts_by_namespace(release: str) -> bool:
    numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", release)
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= (5, 14)


_PAUSE, _SHARE = 0.1, 20
"""Seconds between two looks at least; and so many times what the last one took."""
_RESERVE, _RESERVED_FILES = 512 << 20, 10_000
"""Bytes and files of the project's disk that are left to everybody else; of a disk with less, half of what there is."""
_FASTEST, _SLOWEST = 0.01, 1.0
_FILLS, _CREATES = 8 << 30, 500_000
"""Bytes and files that are written in a second at most: so often the disk is looked at."""
_JOINED_WITHIN = 5.0
_NAMED, _LOOKED_AT = 5, 200_000
"""New files that are named, and files among which they are looked for."""
_PAGE = os.sysconf("SC_PAGE_SIZE")
_IN_MEMORY = ("tmp", "run", "var/tmp", "dev/shm")

Over = tuple[str, str]
"""The setting that a command went over, and what happened."""


class SandboxWatch:
    """A thread that looks after one running sandbox, until it is closed or the sandbox has ended.

    Attributes:
        over: the limit that ended it; `None` up to now.
    """

    def __init__(self, pid: int, limits: SandboxLimits, project: Path, *, only_disk: bool = False) -> None:
        """
        Args:
            pid: bubblewrap's, a child of this process that nobody has waited for yet.
            limits: what it may use.
            project: the folder whose disk it must not fill.
            only_disk: processes and memory are watched by what was started.
        """
        self.over: Over | None = None
        self._pid = pid
        self._limits = limits
        self._project = project
        self._only_disk = only_disk
        self._closed = threading.Event()
        self._began = time.time_ns()
        self._floor = floor_of(free_space(project))
        self._thread = threading.Thread(target=self._look_after, name="sandbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End it. What has been seen stays. Blocks for a moment where it has ended the sandbox."""
        self._closed.set()
        if self.over is not None:
            self._thread.join(_JOINED_WITHIN)

    def _look_after(self) -> None:
        first = self._first_process()
        if first is None:
            return
        descriptor, root = first
        try:
            next_look = 0.0
            pause = 0.0
            while not self._closed.wait(pause):
                over = self._over_disk()
                if over is None and not self._only_disk and time.monotonic() >= next_look:
                    began = time.monotonic()
                    over = self._over(root)
                    next_look = began + max(_PAUSE, _SHARE * (time.monotonic() - began))
                if over is not None:
                    self.over = over
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    if over[0] == "writable_paths":
                        self.over = over[0], f"{over[1]}; {_left(self._project, self._began)}"
                    return
                pause = self._pause()
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
        return None

    def _over_disk(self) -> Over | None:
        size, files = free_space(self._project)
        if size < self._floor[0]:
            return "writable_paths", f"less than {self._floor[0] >> 20} MB of the disk were left, so it was ended"
        if files < self._floor[1]:
            return "writable_paths", f"room for less than {self._floor[1]} files was left on the disk, so it was ended"
        return None

    def _pause(self) -> float:
        """Seconds that it takes at least to fill the disk from here; without more to watch, a second."""
        size, files = free_space(self._project)
        soonest = min((size - self._floor[0]) / _FILLS, (files - self._floor[1]) / _CREATES)
        return min(_SLOWEST if self._only_disk else _PAUSE, max(_FASTEST, soonest))


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


def free_space(folder: Path) -> tuple[int, int]:
    """Bytes and files for which there is room on the disk of a folder; a disk that counts no files has room for any."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return 0, 0
    return found.f_bavail * found.f_frsize, found.f_favail if found.f_files else sys.maxsize


def floor_of(free: tuple[int, int]) -> tuple[int, int]:
    """What must stay free of it."""
    return min(_RESERVE, free[0] // 2), min(_RESERVED_FILES, free[1] // 2)


def _left(project: Path, since: int) -> str:
    """The files that were made or written since then, as the end of a sentence."""
    found: list[tuple[int, str]] = []
    seen = 0
    for folder, names, files in os.walk(project):
        names[:] = [name for name in names if name != ".git"]
        for name in files:
            seen += 1
            with contextlib.suppress(OSError):
                path = os.path.join(folder, name)  # noqa: PTH118 - of each file
                info = os.lstat(path)
                if info.st_ctime_ns >= since and stat.S_ISREG(info.st_mode):
                    found.append((info.st_blocks * 512, os.path.relpath(path, project)))
        if seen > _LOOKED_AT:
            break
    if not found:
        return "it left no new files"
    found.sort(reverse=True)
    named = ", ".join(one_line(literal(name), 100) for _, name in found[:_NAMED])
    more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
    size = sum(size for size, _ in found) >> 20
    return f"what it wrote stays, {size:,} MB: {named}{more}; remove what is not wanted"
