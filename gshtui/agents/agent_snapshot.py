"""An agent's state and its turn in progress, sent to subscribers that join late.

An agent's process keeps its own for each hub that connects; a window keeps one for each agent, for a tab that is opened
in the middle of a turn.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
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

_Words = TextDelta | ThinkingDelta
_WORDS = (TextDelta, ThinkingDelta)
_STATES = (AgentAdded, SessionOpened, ModelChanged, AgentModeChanged, ProgramSessionChanged)


class _Told(msgspec.Struct):
    """An event of the turn. Of words it is the first piece of a run, whose texts are kept as such: an event for each
    token of all agents is what the garbage collector would walk through again and again.
    """

    number: int
    event: Event
    numbers: list[int] = []
    texts: list[str] = []
    """Of the pieces behind the first, oldest first."""

    def takes(self, event: _Words) -> bool:
        """Whether this is a piece of the same run."""
        return type(self.event) is type(event) and self.event.merge_key() == event.merge_key()

    def until(self, number: int) -> Event:
        """The event, with the pieces up to this number."""
        if not self.texts or not isinstance(self.event, _WORDS):
            return self.event
        told = self.texts[: bisect_right(self.numbers, number)]
        return msgspec.structs.replace(self.event, text="".join((self.event.text, *told)))


class AgentSnapshot:
    """The agent's state. `note` every event with its number in the outbox."""

    def __init__(self) -> None:
        self._states: dict[type[Event], Event] = {}
        self._status: AgentStatusChanged | None = None
        self._turn: list[_Told] = []
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
                self._turn = [_Told(number, event)]
            case IterationStarted():
                begun = (one for one in self._turn if isinstance(one.event, TurnStarted))
                self._turn = [*begun, _Told(number, event)]
            case MessageAppended():
                # The message is in the record now, whose reader shows it; what led to it is not told again.
                told = (TextDelta, ThinkingDelta, ToolFinished) if event.message.role == "tool" else _WORDS
                done = {result.call_id for result in event.message.results}
                self._turn = [
                    one
                    for one in self._turn
                    if not isinstance(e := one.event, told) and not (isinstance(e, ToolStarted) and e.call in done)
                ]
            case TextDelta() | ThinkingDelta() if self._turn and self._turn[-1].takes(event):
                self._turn[-1].numbers.append(number)
                self._turn[-1].texts.append(event.text)
            case ToolStarted() | ToolFinished() | TextDelta() | ThinkingDelta():
                self._turn.append(_Told(number, event))
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
        return [*merged(one.until(sys.maxsize) for one in self._turn), *asked]

    def undelivered_events(self, delivered: int) -> Iterator[Event]:
        """What to tell a hub, in order. `delivered`: the last number that an earlier hub has; what comes behind it is
        delivered anyway. -1: this hub was connected before, so only what it forgot when the link broke is told.
        """
        for kind in _STATES:
            if (state := self._states.get(kind)) is not None:
                yield msgspec.structs.replace(state, resumed=True) if isinstance(state, SessionOpened) else state
        if delivered >= 0:
            yield from merged(one.until(delivered) for one in self._turn if one.number <= delivered)
        for number, request in self._asked.values():
            if delivered < 0 or number <= delivered:
                yield request
        if self._status is not None:
            yield self._status
