"""Names what keeps an event loop from everything else: one conversation's fault must not look like all others'.

A thread looks once a second while the loop works, and sleeps with it. On a machine that is too busy everything is slow:
only a function that is seen at two looks is named.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType

BLOCKED_FOR = 2.0
"""Seconds after which the loop counts as blocked."""
LOOK_EVERY = 1.0
"""Seconds."""


class WatchedSelector(selectors.DefaultSelector):
    """Says since when its loop has been working, and that it has work. A loop is made with it:
    `asyncio.SelectorEventLoop(selector)`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.working_since = 0.0
        """By `time.monotonic`; 0: it waits for something to do."""
        self.works = threading.Event()
        self.worked: Callable[[], None] = lambda: None
        """Called in the loop's thread whenever something has come from outside."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for something to do."""
        self.working_since = 0.0
        try:
            came = super().select(timeout)
        finally:
            self.working_since = time.monotonic()
            if not self.works.is_set():
                self.works.set()
        if came:
            self.worked()
        return came


class LoopBlocked(Exception):
    """The function `name` kept the loop from its other work, for so many seconds. A note has the stack."""

    def __init__(self, name: str, seconds: float, stack: str) -> None:
        super().__init__(f"{name} blocked everything else for {seconds:.0f} s")
        self.name = name
        self.add_note(stack)


class LoopWatchdog:
    """Made in the loop's thread. `stop` ends it."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, selector: WatchedSelector, tell: Callable[[LoopBlocked], None]
    ) -> None:
        """`tell`: called in the loop, once it works again, with what it did."""
        self._loop = loop
        self._selector = selector
        self._tell = tell
        self._thread = threading.get_ident()
        self._ended = threading.Event()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._ended.set()
        self._selector.works.set()

    def _watch(self) -> None:
        while not self._ended.is_set():
            self._selector.works.wait()
            self._selector.works.clear()
            if self._ended.wait(LOOK_EVERY):
                return
            since = self._selector.working_since
            if since:
                self._selector.works.set()  # it may be at the same thing for longer
                if time.monotonic() - since >= BLOCKED_FOR:
                    self._look_at(since)

    def _look_at(self, since: float) -> None:
        """See what it does, until it does something else."""
        name, stack = "", ""
        while self._selector.working_since == since:
            frames = sys._current_frames()  # pyright: ignore[reportPrivateUsage]  # a documented function
            if not stack and (frame := frames.get(self._thread)) is not None:
                name, before = _name(frame), name
                if name == before:
                    stack = "".join(traceback.format_stack(frame))
                del frame
            del frames
            if self._ended.wait(LOOK_EVERY):
                return
        if stack:
            blocked = LoopBlocked(name, time.monotonic() - since, stack)
            self._loop.call_soon_threadsafe(self._tell, blocked)


def _name(innermost: FrameType) -> str:
    """The function, or the one that has called the standard library."""
    frame = innermost
    while frame.f_back is not None and _is_library(frame.f_code.co_filename):
        frame = frame.f_back
    code = frame.f_code
    return f"{code.co_qualname} ({code.co_filename}:{code.co_firstlineno})"


def _is_library(file: str) -> bool:
    return file.startswith((sysconfig.get_path("stdlib"), "<frozen ")) and "-packages" not in file
