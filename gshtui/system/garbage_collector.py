"""Decides when Python collects cyclic garbage: a little at a time while a process works, all of it at rest.

By default, Python walks through all objects made since the start whenever their number has grown by a quarter: 40 ms
in the middle of an answer, 100 ms in a hub with many agents. What was there at a rest is walked through again only at
a rest much later. Owns the collector's settings between `begin` and `end`.
"""

from __future__ import annotations

import asyncio
import gc

YOUNG = (2_000, 5, 1_000_000)
"""New objects before the youngest are collected; and such collections before one of all objects since a rest."""
REST = 2.0
"""Seconds without work that count as a rest."""
LATEST = 60.0
"""Seconds of work after which to collect without a rest."""
THOROUGH = 600.0
"""Seconds until what was there before may have become garbage, which a rest shows; after twice as long, without one."""


class GarbageCollector:
    """The collector of one process."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._timer: asyncio.TimerHandle | None = None
        self._since = self._last = 0.0
        self._thorough_at = 0.0

    def begin(self) -> None:
        """Everything is loaded: collect from now on, but never the objects that exist now."""
        gc.set_threshold(*YOUNG)
        gc.enable()
        gc.freeze()
        self._thorough_at = asyncio.get_running_loop().time() + THOROUGH

    def worked(self) -> None:
        """Something was done."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        if self._timer is None:
            self._since = self._last
            self._timer = loop.call_at(self._last + REST, self._look)

    def end(self) -> None:
        """Restore the collector's settings."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gc.set_threshold(*self._before)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now, due = loop.time(), self._last + REST
        if now < due and now - self._since < LATEST:
            self._timer = loop.call_at(due, self._look)
            return
        self._timer = None
        if now >= self._thorough_at + (0.0 if now >= due else THOROUGH):
            self._thorough_at = now + THOROUGH
            gc.unfreeze()
        gc.collect()
        gc.freeze()
