"""What agents of ours did while nobody was linked to them: read from the journal that they write themselves.

It refuses to overrule what is newer, and says `journal` as the source of a status. Called at each look, for the agents
whose own process does not talk to this hub.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gshtui.bus.fleet import AgentRow
from gshtui.fleet import state
from gshtui.fleet.ground import Ground

_PAGE = 1_000
"""Events that are read at once."""
_FIGURES = ("provider", "model", "window", "context", "tokens", "cost", "report", "needs_you")


class CatchUp:
    """Remembers how far each journal was read."""

    def __init__(self, ground: Ground, connected: Callable[[str], bool]) -> None:
        """`connected`: whether an agent's own process talks to this hub now."""
        self._ground = ground
        self._connected = connected
        self._read: dict[str, tuple[int, AgentRow]] = {}

    async def of(self, row: AgentRow) -> None:
        """Bring the row up to what its journal says. Raises `StoreError`."""
        if row.kind != "native" or not row.session or self._connected(row.id):
            self._read.pop(row.id, None)
            return
        blank = msgspec.structs.replace(row, tokens=0, cost=None, context=0, needs_you=False)
        after, told = self._read.get(row.id, (0, blank))
        while page := await self._ground.store.events(row.session, after=after, limit=_PAGE):
            for place, event in page:
                after = place
                if getattr(event, "agent", "") == row.id:
                    told = msgspec.structs.replace(told, **state.changes(told, event))
        self._read[row.id] = (after, told)
        now = self._ground.rows.get(row.id)
        if now is not None and after:
            self._ground.rows.change_soon(row.id, _news(now, told))


def _news(row: AgentRow, told: AgentRow) -> dict[str, Any]:
    fields = {name: getattr(told, name) for name in _FIGURES if getattr(told, name) != getattr(row, name)}
    if told.status_at > row.status_at:
        fields |= {"status": told.status, "status_at": told.status_at, "doing": told.doing, "status_source": "journal"}
    return fields
