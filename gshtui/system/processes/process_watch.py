"""Tells when processes end, without looking at them again and again. Only on Linux, by their descriptors."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable


class ProcessWatch:
    """Made inside a running loop. `close` ends it."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        """`on_end`: called when one of the processes has ended."""
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._descriptors: dict[int, int] = {}

    def watch(self, pids: Iterable[int]) -> bool:
        """Watch exactly these; returns whether the end of every one will be told."""
        wanted = set(pids)
        for pid in self._descriptors.keys() - wanted:
            self._forget(pid)
        opened = [pid in self._descriptors or self._opened(pid) for pid in wanted]  # every one, whatever the others
        return all(opened)

    def close(self) -> None:
        self.watch(())

    def _opened(self, pid: int) -> bool:
        if not sys.platform.startswith("linux"):
            return False
        try:
            descriptor = os.pidfd_open(pid)
        except OSError:
            return False  # it is gone, or there are too many open files
        self._descriptors[pid] = descriptor
        self._loop.add_reader(descriptor, self._ended, pid)
        return True

    def _ended(self, pid: int) -> None:
        self._forget(pid)
        self._on_end()

    def _forget(self, pid: int) -> None:
        descriptor = self._descriptors.pop(pid)
        self._loop.remove_reader(descriptor)
        os.close(descriptor)
