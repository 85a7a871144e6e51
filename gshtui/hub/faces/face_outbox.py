"""What waits to be sent to a face in another process, in its order: nobody waits for a face that does not read."""

from __future__ import annotations

import asyncio
from itertools import groupby

from gshtui.bus import wire
from gshtui.bus.bus import merged
from gshtui.bus.event import Event
from gshtui.shell.hub_listener import HubConnection
from gshtui.system.tasks import start_job

QUEUE = 5_000
"""Events that may wait for a face; then they are merged."""
_MOST = 50_000
"""Events that may wait for it in the end."""
_SLICE = 200
"""Events that are encoded before others have a turn."""


class FaceOutbox:
    """Made inside a running loop."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection
        self._waiting: list[Event | bytes] = []
        self._full_at = QUEUE
        self._came = asyncio.Event()
        self._sending = start_job(self._send(), "what is sent to a face")

    def put(self, *items: Event | bytes) -> None:
        """Send events and whole lines, once the face has read what was sent before."""
        self._waiting += items
        self._came.set()
        if len(self._waiting) > self._full_at:
            self._waiting = _folded(self._waiting)
            # What cannot be merged stays. Try again once there is half as much more, so that trying stays cheap.
            self._full_at = max(QUEUE, len(self._waiting) * 3 // 2)
            if len(self._waiting) > _MOST:
                self._connection.close()  # it has not read for hours

    def close(self) -> None:
        """Send what waits, and no more."""
        if self._waiting:
            self._connection.send(self._lines(len(self._waiting)))
        self._sending.cancel()

    async def _send(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            while self._waiting:
                self._connection.send(self._lines(_SLICE))
                await self._connection.sent()
                await asyncio.sleep(0)
            self._full_at = QUEUE

    def _lines(self, most: int) -> bytes:
        """The first `most` of what waits, as lines."""
        waiting, self._waiting = self._waiting[:most], self._waiting[most:]
        return b"".join(
            item if isinstance(item, bytes) else b'{"event":%b}\n' % wire.encode(item).rstrip(b"\n") for item in waiting
        )


def _folded(items: list[Event | bytes]) -> list[Event | bytes]:
    """The same with the events between two lines merged."""
    out: list[Event | bytes] = []
    for is_event, run in groupby(items, lambda item: isinstance(item, Event)):
        held = list(run)
        out += merged(item for item in held if isinstance(item, Event)) if is_event else held
    return out
