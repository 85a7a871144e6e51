"""Tells asyncio on Linux of a child's end by the kernel's descriptor of it, in the loop that started the child.

For Python 3.11, whose own way is a thread for each child: on a busy machine that takes longer than the child does.
Where there is no such descriptor, a thread it is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, cast


class KernelChildWatcher(asyncio.AbstractChildWatcher):
    """See the module."""

    def __init__(self) -> None:
        self._threads = asyncio.ThreadedChildWatcher()

    def add_child_handler(self, pid: int, callback: Callable[..., object], *args: Any) -> None:
        """Call this with the pid and the exit code, once the child has ended."""
        loop = asyncio.get_running_loop()
        try:
            ended = os.pidfd_open(pid)
        except (OSError, AttributeError):  # the kernel has none, or no more of them
            self._threads.add_child_handler(pid, cast("Any", callback), *args)
            return

        def reap() -> None:
            loop.remove_reader(ended)
            os.close(ended)
            try:
                code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            except ChildProcessError:  # somebody else has asked for it
                code = 255
            callback(pid, code, *args)

        loop.add_reader(ended, reap)

    def remove_child_handler(self, pid: int) -> bool:
        return False

    def attach_loop(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Each child belongs to the loop that started it."""

    def is_active(self) -> bool:
        return True

    def close(self) -> None:
        """There is nothing to close."""

    def __enter__(self) -> KernelChildWatcher:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was taken."""
