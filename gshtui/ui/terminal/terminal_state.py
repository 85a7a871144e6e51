"""What a terminal tab knows of its agent: who it is, what it does, how that is known and since when.

A pure reducer over events; refuses clocks and widgets. Called by the terminal pane.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import AgentStatusChanged
from gshtui.bus.events.fleet import AgentChanged, AgentEnded, AgentKilled, AgentRestored, AgentSpawned
from gshtui.bus.fleet import AgentRow

Consumed = AgentChanged | AgentEnded | AgentKilled | AgentRestored | AgentSpawned | AgentStatusChanged
CONSUMED: tuple[type[Event], ...] = (
    AgentChanged,
    AgentEnded,
    AgentKilled,
    AgentRestored,
    AgentSpawned,
    AgentStatusChanged,
)


class TerminalState(msgspec.Struct, frozen=True):
    """One agent as the title line of its tab shows it."""

    row: AgentRow
    status: str
    source: str
    since: float
    """Seconds since the epoch."""
    doing: str = ""
    killed: bool = False


def begin(row: AgentRow) -> TerminalState:
    """The state by the roster."""
    return TerminalState(row, row.status, row.status_source, row.status_at, row.doing, row.killed)


def reduce(state: TerminalState, event: Event) -> TerminalState:
    """The state after an event; those of other agents change nothing."""
    if not isinstance(event, CONSUMED):
        return state
    assert isinstance(event, Consumed)
    if event.agent != state.row.id:
        return state
    match event:
        case AgentChanged() | AgentSpawned():
            return begin(event.row)
        case AgentStatusChanged():
            since = state.since if state.status == event.status and state.since else event.at
            return replace(state, status=event.status, source=event.source, doing=event.doing, since=since)
        case AgentEnded():
            return replace(state, status=event.status, since=event.at, doing="")
        case AgentKilled():
            return replace(state, killed=True)
        case AgentRestored():
            return replace(state, killed=False)
