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


class FaceOutbox:
    """Made inside a running loop."""

    def __init__(self, connection: HubConnection) -> None:
        self._connection = connection
        self._waiting: list[Event | bytes] = []
        self._came = asyncio.Event()
        self._sending = start_job(self._send(), "what is sent to a face")

    def put(self, *items: Event | bytes) -> None:
        """Send events and whole lines, once the face has read what was sent before."""
        self._waiting += items
        self._came.set()
        if len(self._waiting) > QUEUE:
            self._waiting = _folded(self._waiting)
            if len(self._waiting) > _MOST:
                self._connection.close()  # it has not read for hours

    def close(self) -> None:
        """Send what waits, and no more."""
        if self._waiting:
            self._connection.send(self._lines())
        self._sending.cancel()

    async def _send(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            self._connection.send(self._lines())
            await self._connection.sent()

    def _lines(self) -> bytes:
        waiting, self._waiting = self._waiting, []
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
