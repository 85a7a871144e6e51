"""What happens here goes to the store's journal.

A conversation that is only read along is journalled where it is written. Made by the hub.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.agents.sessions import Sessions
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.store.store import Store


class Journal:
    """Subscribes to everything; `sessions` is set once there are any."""

    def __init__(self, bus: Bus, store: Store) -> None:
        self.sessions: Sessions | None = None
        self._store = store
        bus.subscribe(self._take, name="journal")

    def _take(self, batch: Sequence[Event]) -> None:
        for event in batch:
            session: str = getattr(event, "session", "")
            if self.sessions is None or not self.sessions.reads_along(session):
                self._store.record(event)
