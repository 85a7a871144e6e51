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
from gshtui.fleet.fleet_context import is_over
from gshtui.fleet.keeper import ensure_keeper
from gshtui.hub.hub import Hub
from gshtui.store.store import Store
from gshtui.system.tasks import end_all, start_job
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError


class KeeperWatch:
    """Starts the keeper at the first agent; a keeper that was killed is back with the next one, or at the end."""

    def __init__(self, hub: Hub, store: Store) -> None:
        self._hub = hub
        self._data = store.path.parent
        self._starting: asyncio.Task[None] | None = None
        self._subscription = hub.bus.subscribe(self._listen, AgentSpawned, name="keeper")

    async def stop(self) -> None:
        """Leave a keeper behind if anything goes on."""
        self._subscription.unsubscribe()
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._goes_on():
            await self._ensure()

    def _goes_on(self) -> bool:
        hub = self._hub
        agents = hub.fleet is not None and any(not is_over(row) for row in hub.fleet.rows())
        shells = hub.shell_log is not None and (hub.options.visiting or hub.shell_log.connected > 0)
        return agents or shells

    def _listen(self, batch: Sequence[Event]) -> None:
        if self._starting is None or self._starting.done():
            self._starting = start_job(self._ensure(), "the start of the keeper")

    async def _ensure(self) -> None:
        server = TmuxServer(self._hub.settings.tmux.socket_name)
        try:
            await ensure_keeper(self._data, server, os.environ)
        except (TmuxError, OSError) as error:
            if isinstance(error, TmuxError) and error.kind in ("missing", "old"):
                return  # there is nothing to keep it in: each call then looks after what it needs
            text = f"The keeper cannot start: {getattr(error, 'message', error)}"
            hint = "Until it does, agents and shells are looked after only while a window is open."
            with contextlib.suppress(Exception):
                self._hub.bus.publish(Noticed(level="warning", text=text, hint=hint, about="hub"))
        finally:
            await end_all("the start of the keeper", server.close)
