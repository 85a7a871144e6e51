"""Sees to it that a keeper runs while agents do: from the first one on, and when this hub ends.

Made by the fleet's part, unless `hub.keep = never`: windows then do a keeper's work while they are open.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Sequence

from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentSpawned
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core.fleet_context import is_over
from gshtui.fleet.keeper.keeper import LINGER, LOGGED_OUT, ensure_keeper
from gshtui.hub.hub import Hub
from gshtui.store.record.store import Store
from gshtui.system.tasks import start_job


class KeeperWatch:
    """Starts the keeper at the first agent; a keeper that was killed is back with the next one, or at the end."""

    def __init__(self, hub: Hub, store: Store) -> None:
        self._hub = hub
        self._data = store.path.parent
        self._starting: asyncio.Task[None] | None = None
        self._subscription = hub.bus.subscribe(self._listen, AgentSpawned, name="keeper")

    async def stop(self) -> None:
        """Start a keeper if agents or shells are still active."""
        self._subscription.unsubscribe()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._goes_on():
            await self._ensure()

    def _goes_on(self) -> bool:
        hub = self._hub
        if hub.fleet is not None and any(not is_over(row) for row in hub.fleet.rows()):
            return True
        return hub.shell_log is not None and hub.shell_log.connected > 0

    def _listen(self, batch: Sequence[Event]) -> None:
        if self._starting is None or self._starting.done():
            self._starting = start_job(self._ensure(), "the start of the hub")

    async def _ensure(self) -> None:
        try:
            start = await ensure_keeper(self._data, os.environ)
        except OSError as error:
            text = f"The hub cannot start: {error.strerror or error}."
            hint = "Until it does, agents and shells are looked after only while a window is open."
            self._publish(text, hint)
        else:
            if start.logged_out:
                self._publish(LOGGED_OUT, LINGER)

    def _publish(self, text: str, hint: str) -> None:
        with contextlib.suppress(Exception):
            self._hub.bus.publish(Noticed(level="warning", text=text, hint=hint, about="hub"))
