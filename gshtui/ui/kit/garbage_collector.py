"""Decides when Python collects cyclic garbage: a little at a time while the window works, all of it at rest.

By default, Python walks through all objects made since the start whenever their number has grown by a quarter: 40 ms
in the middle of an answer. Owns the collector's settings between `begin` and `end`. Existing objects are not
walked through again until a conversation is left. Called by the bridge.
"""

from __future__ import annotations

import asyncio
import gc

YOUNG = (2_000, 5, 1_000_000)
"""New objects before the youngest are collected; and such collections before one of all objects since a rest."""
REST = 2.0
"""Seconds without a frame that count as a rest."""
LATEST = 60.0
"""Seconds of work after which to collect without a rest."""


class GarbageCollector:
    """The collector of one window."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._timer: asyncio.TimerHandle | None = None
        self._since = self._last = 0.0
        self._thorough = False

    def begin(self) -> None:
        """Everything is loaded: collect from now on, but never the objects that exist now."""
        gc.set_threshold(*YOUNG)
        gc.enable()
        gc.freeze()

    def worked(self, *, left: bool = False) -> None:
        """A frame was shown. `left`: it ended a conversation, so its objects may now be garbage."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        self._thorough = self._thorough or left
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
        if self._thorough:
            self._thorough = False
            gc.unfreeze()
        gc.collect()
        gc.freeze()
