"""An agent's state and its turn in progress, sent to subscribers that join late.

An agent's process keeps its own for each hub that connects; a window keeps one for each agent, for a tab that is opened
in the middle of a turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    IterationStarted,
    MessageAppended,
    ModelChanged,
    ProgramSessionChanged,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import AgentModeChanged, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.subscription import merged

_WORDS = (TextDelta, ThinkingDelta)
_STATES = (AgentAdded, SessionOpened, ModelChanged, AgentModeChanged, ProgramSessionChanged)


class AgentSnapshot:
    """The agent's state. `note` every event with its number in the outbox."""

    def __init__(self) -> None:
        self._states: dict[type[Event], Event] = {}
        self._status: AgentStatusChanged | None = None
        self._turn: list[tuple[int, Event]] = []
        """Of the turn in progress: its start, its iteration, the calls that run, the words so far."""
        self._asked: dict[str, tuple[int, ApprovalRequested]] = {}

    def note(self, number: int, event: Event) -> None:
        match event:
            case AgentAdded() | SessionOpened() | ModelChanged() | AgentModeChanged() | ProgramSessionChanged():
                self._states[type(event)] = event
            case AgentStatusChanged():
                self._status = event
                if event.status in ENDED_STATUSES:
                    self._turn = []
                    self._asked.clear()
            case TurnStarted():
                self._turn = [(number, event)]
            case IterationStarted():
                self._turn = [*((n, e) for n, e in self._turn if isinstance(e, TurnStarted)), (number, event)]
            case MessageAppended():
                # The message is in the record now, whose reader shows it; what led to it is not told again.
                told = (TextDelta, ThinkingDelta, ToolFinished) if event.message.role == "tool" else _WORDS
                done = {result.call_id for result in event.message.results}
                self._turn = [
                    (n, e)
                    for n, e in self._turn
                    if not isinstance(e, told) and not (isinstance(e, ToolStarted) and e.call in done)
                ]
            case ToolStarted() | ToolFinished() | TextDelta() | ThinkingDelta():
                self._turn.append((number, event))
            case TurnFinished():
                self._turn = []
            case ApprovalRequested():
                self._asked[event.approval] = (number, event)
            case ApprovalSettled():
                self._asked.pop(event.approval, None)
            case _:
                pass

    def turn_events(self) -> list[Event]:
        """The turn in progress and its open questions, in order; empty: it is in none."""
        asked = [request for _, request in self._asked.values()]
        return [*merged(event for _, event in self._turn), *asked]

    def undelivered_events(self, delivered: int) -> Iterator[Event]:
        """What to tell a hub, in order. `delivered`: the last number that an earlier hub has; what comes behind it is
        delivered anyway. -1: this hub was connected before, so only what it forgot when the link broke is told.
        """
        for kind in _STATES:
            if (state := self._states.get(kind)) is not None:
                yield msgspec.structs.replace(state, resumed=True) if isinstance(state, SessionOpened) else state
        if delivered >= 0:
            yield from merged(event for number, event in self._turn if number <= delivered)
        for number, request in self._asked.values():
            if delivered < 0 or number <= delivered:
                yield request
        if self._status is not None:
            yield self._status
