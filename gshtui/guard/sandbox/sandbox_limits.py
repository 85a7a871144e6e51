"""What one sandboxed command may use of the machine."""

from __future__ import annotations

import platform
import re

import msgspec

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
