"""The bus of a hub in another process, as a face has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.client.window_protocol import HubLost


class LinkedBus(Bus):
    """What is published goes to the hub, and what the hub publishes arrives here."""

    def __init__(self, send: Callable[[Event], bool], drain: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._send = send
        self._drain = drain

    def publish(self, event: Event) -> None:
        """Have the hub publish it; once there is none any more, publish it here."""
        if not self._send(event):
            super().publish(event)

    async def drained(self) -> None:
        """Wait until all that was published so far is handled there and here."""
        with suppress(HubLost):
            await self._drain()
        await super().drained()

    def arrive(self, event: Event) -> None:
        """Publish what the hub has published."""
        super().publish(event)
