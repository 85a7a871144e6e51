"""Which events about agents in terminals call for the person: one needs them, or has ended by itself. Each once.

Pure: a reducer that windows and the keeper share. How the person is called is up to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded, AgentKilled, AgentRemoved
from gshtui.text.sanitise import one_line

EVENTS: tuple[type[Event], ...] = (AgentChanged, AgentEnded, AgentKilled, AgentRemoved)
"""What `AgentNews` is told."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class AgentCall:
    """What to tell the person, in one line without controls."""

    text: str
    is_good: bool = False
    """Nothing has to be done about it."""


class AgentNews:
    """Knows who needs the person already."""

    def __init__(self, concerns: Callable[[AgentRow], bool] = lambda row: True) -> None:
        """`concerns`: whether to call the person about this agent; another process calls them about all others."""
        self._concerns = concerns
        self._needing: set[str] = set()
        self._rows: dict[str, AgentRow] = {}
        self._killed: set[str] = set()

    def has(self, agent: str) -> bool:
        """Whether this agent lives in a terminal."""
        return agent in self._rows

    def called_for(self, agent: str) -> None:
        """The person was called for this agent's question, and is not called again when its row changes."""
        self._needing.add(agent)

    def call_for(self, event: Event) -> AgentCall | None:
        """What this event calls for."""
        match event:
            case AgentChanged():
                return self._changed(event.row)
            case AgentEnded():
                return self._ended(event)
            case AgentKilled():
                self._killed.add(event.agent)
            case AgentRemoved():
                self._needing.discard(event.agent)
                self._killed.discard(event.agent)
                self._rows.pop(event.agent, None)
            case _:
                pass
        return None

    def _changed(self, row: AgentRow) -> AgentCall | None:
        self._rows[row.id] = row
        if not row.needs_you:
            self._needing.discard(row.id)
            return None
        if row.id in self._needing:
            return None
        self._needing.add(row.id)
        doing = f": {row.doing}" if row.doing else ""
        return _call(f"{row.name} needs you{doing}") if self._concerns(row) else None

    def _ended(self, event: AgentEnded) -> AgentCall | None:
        """Only whoever looked after it publishes its end."""
        row = self._rows.get(event.agent)
        if event.agent in self._killed or (row is not None and row.killed):
            return None  # by the person
        words = {"done": "is done", "failed": "has failed", "lost": "is lost"}.get(event.status, event.status)
        report = f": {event.report}" if event.report else ""
        return _call(f"{event.name or event.agent} {words}{report}", is_good=event.status == "done")


def _call(text: str, *, is_good: bool = False) -> AgentCall:
    return AgentCall(one_line(text, _LONGEST), is_good)
