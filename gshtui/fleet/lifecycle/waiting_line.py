"""Who waits for the person, in the status line of the terminals that are attached to our own tmux server.

Each hub notes it at the sessions of the agents that it looks after; tmux itself makes the list of those notes, shows
the line while there is one, and hides it again. The person's own tmux server is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentChanged
from gshtui.fleet.core.fleet_context import FleetContext, is_away
from gshtui.tmux.server import USERS_OWN
from gshtui.tmux.tmux_errors import TmuxError


class WaitingLine:
    """Follows the agents of this hub until `stop`."""

    def __init__(self, context: FleetContext) -> None:
        self._context = context
        self._shown: dict[tuple[str, str], str] = {}
        """Server and session → the name noted there; empty: none."""
        self._subscription = context.bus.subscribe(self._handle_events, AgentChanged, name="waiting line")

    async def stop(self) -> None:
        """Stop following. What is noted stays, for the hub that takes over."""
        self._subscription.unsubscribe()

    async def _handle_events(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, AgentChanged):
                await self._note(event.row)

    async def _note(self, row: AgentRow) -> None:
        place = (row.socket, row.tmux_session)
        if row.owner != os.getpid() or not row.pane or not row.tmux_session or row.socket in ("", USERS_OWN):
            return
        if is_away(row):
            return
        waits = row.needs_you and not row.ended and not row.killed
        name = row.name if waits else ""
        if self._shown.get(place) == name:
            return
        self._shown[place] = name
        try:
            await self._context.terminals.server(row.socket).note_waiting(row.tmux_session, name)
        except TmuxError:
            self._shown.pop(place, None)  # its session is gone, and the note with it; or the next change tries again
