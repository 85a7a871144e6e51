"""The log's place on the bus: takes events, and has their records written every moment, off the loop.

Owns the pace; refuses to delay anybody. Made by the hub and by an agent in its own process; what another process
carries is left to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.store.log.records import LOGGED, Recorder
from gshtui.store.log.writing import LogFile
from gshtui.system.tasks import keep_on

EVERY = 0.25
"""Seconds between two writes at most while there is something to write."""
_AGAIN = 5.0
"""Seconds until the next attempt when nothing can be written."""
_CLOSE_WITHIN = 3.0


class LogKeeper:
    """Subscribes when made; `close` writes the rest. `carried(agent)`: another process logs what this agent does."""

    def __init__(
        self,
        bus: Bus,
        folder: Path,
        redact: Callable[[str], str],
        *,
        carried: Callable[[str], bool] = lambda _: False,
        every: float = EVERY,
    ) -> None:
        self.carried = carried
        self._recorder = Recorder()
        self._file = LogFile(folder, redact)
        self._every = every
        self._wake = asyncio.Event()
        self._closing = False
        self._ending = asyncio.Event()
        self._subscription = bus.subscribe(self._take, *LOGGED, name="log")
        self._task = keep_on(self._serve, "the log")

    async def close(self) -> None:
        """Write what waits, and end. Never raises; waits a few seconds at most."""
        await self._subscription.drained()
        self._subscription.unsubscribe()
        self._closing = True
        self._ending.set()
        self._wake.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_WITHIN):
                await asyncio.shield(self._task)

    def _take(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if self.carried(getattr(event, "agent", "")):
                continue
            if (record := self._recorder.record(event)) is not None:
                at = event.at if event.at and math.isfinite(event.at) else time.time()
                self._file.add({"at": at, **record})
                self._wake.set()

    async def _serve(self) -> None:
        while not (self._closing and not self._file.waiting):
            await self._wake.wait()
            self._wake.clear()
            if not self._closing:
                await asyncio.sleep(self._every)
            if not await asyncio.to_thread(self._file.write):
                if self._closing:
                    break
                self._wake.set()
                await self._pause()
        await asyncio.to_thread(self._file.close)

    async def _pause(self) -> None:
        """Wait before the next attempt, unless it is the last one."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_AGAIN):
                await self._ending.wait()
