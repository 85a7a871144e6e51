"""How often a sandboxed command tried to leave a network that leads nowhere, as the kernel itself counts it.

Whatever the command prints and whatever its exit code: each datagram and connection without a way out is counted. The
open files keep the count for as long as they are open, also when the command has ended.
"""

from __future__ import annotations

import os

_LONGEST = 65_536


class NetworkCount:
    """Of one network namespace."""

    def __init__(self, process: int) -> None:
        """`process`: one that is in it. Raises `OSError`: it has ended."""
        self._last = 0
        self._files: list[int] = []
        try:
            for name in ("snmp", "snmp6"):
                self._files.append(os.open(f"/proc/{process}/net/{name}", os.O_RDONLY | os.O_CLOEXEC))
            self._first = self._count()
        except BaseException:
            self._close()
            raise

    def refused(self) -> int:
        """How often, up to now or up to when it was closed."""
        if self._files:
            self._last = self._count() - self._first
        return self._last

    def close(self) -> None:
        """Keep the number, and nothing else. May be called again."""
        self.refused()
        self._close()

    def _close(self) -> None:
        for descriptor in self._files:
            os.close(descriptor)
        self._files = []

    def _count(self) -> int:
        four, six = (os.pread(descriptor, _LONGEST, 0).decode("ascii") for descriptor in self._files)
        lines = [line.split() for line in four.splitlines() if line.startswith("Ip:")]
        counts = dict(zip(*lines[:2], strict=False)) if len(lines) > 1 else {}
        counts |= dict(line.split() for line in six.splitlines())
        return int(counts.get("OutNoRoutes", 0)) + int(counts.get("Ip6OutNoRoutes", 0))
