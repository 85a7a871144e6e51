"""What happens here goes to the store's journal.

A conversation that is only read along is journalled where it is written, and so are the events of an agent in a
process of its own. Made by the hub.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event

if TYPE_CHECKING:
    from gshtui.agents.sessions import Sessions
    from gshtui.store.store import Store


class Journal:
    """Subscribes to everything; `sessions` and `carries` (agent → it is in another process) are set once they are."""

    def __init__(self, bus: Bus, store: Store) -> None:
        self.sessions: Sessions | None = None
        self.carries: Callable[[str], bool] = lambda _: False
        self._store = store
        bus.subscribe(self._take, name="journal")

    @property
    def folder(self) -> Path:
        """Where the record is."""
        return self._store.path.parent

    def _take(self, batch: Sequence[Event]) -> None:
        for event in batch:
            session: str = getattr(event, "session", "")
            elsewhere = self.sessions is not None and self.sessions.reads_along(session)
            if not elsewhere and not self.carries(getattr(event, "agent", "")):
                self._store.record(event)
