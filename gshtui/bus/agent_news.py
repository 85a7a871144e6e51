"""Which events about agents in terminals call for the person: one needs them, or has ended by itself. Each once.

Pure: a reducer that windows and the keeper share. How the person is called is up to them.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentAdded
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded, AgentKilled, AgentRemoved

EVENTS: tuple[type[Event], ...] = (AgentAdded, AgentChanged, AgentEnded, AgentKilled, AgentRemoved)
"""What `AgentNews` is told."""
_LONGEST = 200


class AgentCall(msgspec.Struct, frozen=True):
    """What to tell the person, in one line without controls."""

    text: str
    agent: str
    """The agent's name."""
    is_good: bool = False
    """Nothing has to be done about it."""
    is_need: bool = False
    """It needs the person, which each window shows for as long as it does."""
    replaces: str = ""
    """The text told before of other agents, for the same cause: this one names them, too."""


class AgentNews:
    """Knows who needs the person already."""

    def __init__(self, concerns: Callable[[AgentRow], bool] = lambda row: True) -> None:
        """`concerns`: whether to call the person about this agent; another process calls them about all others."""
        self._concerns = concerns
        self._needing: dict[str, str] = {}
        """Who needs the person → the question, where its choices are known."""
        self._rows: dict[str, AgentRow] = {}
        self._names: dict[str, str] = {}
        self._killed: set[str] = set()
        self._causes: dict[str, tuple[dict[str, str], str]] = {}
        """What agents failed of → the names of those that still are, by their ids, and what was told."""

    def has(self, agent: str) -> bool:
        """Whether this agent lives in a terminal."""
        return agent in self._names

    def name_of(self, agent: str) -> str:
        """What the person calls it."""
        return self._names.get(agent, agent)

    def called_for(self, agent: str) -> None:
        """The person was called for this agent's question, and is not called again when its row changes."""
        self._needing[agent] = ""

    def call_for(self, event: Event) -> AgentCall | None:
        match event:
            case AgentAdded(runtime="tmux"):  # a window that comes later is told its row behind its questions
                self._names.setdefault(event.agent, event.name)
            case AgentChanged():
                return self._changed(event.row)
            case AgentEnded():
                return self._ended(event)
            case AgentKilled():
                self._killed.add(event.agent)
            case AgentRemoved():
                self._needing.pop(event.agent, None)
                self._killed.discard(event.agent)
                self._rows.pop(event.agent, None)
                self._names.pop(event.agent, None)
                self._no_longer_failed(event.agent)
            case _:
                pass
        return None

    def _changed(self, row: AgentRow) -> AgentCall | None:
        self._rows[row.id], self._names[row.id] = row, row.name
        if row.status not in ENDED_STATUSES:
            self._no_longer_failed(row.id)
            if not row.killed:
                self._killed.discard(row.id)
        if not row.needs_you:
            self._needing.pop(row.id, None)
            return None
        question = row.question.on_screen if row.question is not None else ""
        if row.id in self._needing and question in ("", self._needing[row.id]):
            return None
        self._needing[row.id] = question
        return _call(_need(row), row.name, is_need=True) if self._concerns(row) else None

    def _ended(self, event: AgentEnded) -> AgentCall | None:
        row = self._rows.get(event.agent)
        if event.agent in self._killed or (row is not None and row.killed):
            return None  # by the person
        if row is not None and not self._concerns(row):
            return None
        words = {"done": "is done", "failed": "has failed", "lost": "is lost"}.get(event.status, event.status)
        said = event.report
        if event.status == "failed" or (row is not None and row.kind == "cli" and not row.model):  # of its screen
            from gshtui.text.program_words import last_lines  # not before the first letter

            said = last_lines(said)
        report = f": {said}" if said else ""
        name = event.name or self.name_of(event.agent)
        call = _call(f"{name} {words}{report}", name, is_good=event.status == "done")
        if event.status != "failed" or not said:
            return call
        names, before = self._causes.get(said, (dict[str, str](), ""))
        names.pop(event.agent, None)
        names[event.agent] = name
        if len(names) > 1:
            call = _call(f"{len(names)} agents have failed ({', '.join(names.values())}): {said}", name)
        self._causes[said] = names, call.text
        return msgspec.structs.replace(call, replaces=before)

    def _no_longer_failed(self, agent: str) -> None:
        for said, (names, _) in list(self._causes.items()):
            names.pop(agent, None)
            if not names:
                del self._causes[said]


def _need(row: AgentRow) -> str:
    """Who needs the person, and for what."""
    asked = row.question
    if asked is None:
        return f"{row.name} needs you{f': {row.doing}' if row.doing else ''}"
    from gshtui.text.program_words import change_wish  # not before the first letter

    about = " · ".join(line.strip() for line in asked.unsaid.split("\n") if line.strip())
    asks = change_wish(asked.subject, asked.diff) or f"asks: {asked.subject}"
    return f"{row.name} {asks}{f' · {about}' if about else ''}"


def _call(text: str, agent: str, *, is_good: bool = False, is_need: bool = False) -> AgentCall:
    from gshtui.text.sanitise import one_line  # not before the first letter

    return AgentCall(one_line(text, _LONGEST), agent, is_good, is_need)
