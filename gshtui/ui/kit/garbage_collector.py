"""When Python looks for garbage that refers to itself: a little at a time while the window works, all of it at rest.

Left to itself, Python walks through everything that was made since the start whenever that has grown by a quarter:
40 ms in the middle of an answer. Owns the collector's settings between `begin` and `end`; refuses to be noticed: what
is there already is not walked through again until a conversation is left. Called by the bridge.
"""

from __future__ import annotations

import asyncio
import gc

YOUNG = (2_000, 5, 1_000_000)
"""Objects that may come before the youngest are looked at; how often that, before all since the last rest are."""
REST = 2.0
"""Seconds without a frame that are a rest."""
LATEST = 60.0
"""Seconds of work after which there is no more waiting for a rest."""


class GarbageCollector:
    """One window's collector."""

    def __init__(self) -> None:
        self._before = gc.get_threshold()
        self._timer: asyncio.TimerHandle | None = None
        self._since = self._last = 0.0
        self._thorough = False

    def begin(self) -> None:
        """All is loaded: collect from now on, but never what is there now."""
        gc.set_threshold(*YOUNG)
        gc.enable()
        gc.freeze()

    def worked(self, *, left: bool = False) -> None:
        """A frame was shown. `left`: it ended a conversation, and what was kept for that one may be garbage now."""
        loop = asyncio.get_running_loop()
        self._last = loop.time()
        self._thorough = self._thorough or left
        if self._timer is None:
            self._since = self._last
            self._timer = loop.call_at(self._last + REST, self._look)

    def end(self) -> None:
        """Leave the collector as it was found."""
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
