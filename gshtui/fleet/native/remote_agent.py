"""One agent in a terminal as the hub knows it: its connection, the last event received, and the waiting intents.

It rejects events in another agent's name or conversation. Held by the relay.
"""

from __future__ import annotations

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    InterruptRequested,
)
from gshtui.bus.events.fleet_events import AgentSpawnRequested
from gshtui.bus.events.hub_events import FaultReported, Noticed
from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.fleet.native.spec import Spec
from gshtui.shell.hub_link import LineOutbox
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.line_stream import BadLine

_WAITING = 8 * 1024 * 1024
"""Bytes of intents that wait for an agent whose link is broken."""


class RemoteAgent:
    """See the module's text."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.spec: Spec | None = None
        self.connection: HubConnection | None = None
        self.session = ""
        self.have = 0
        """The number of its last handled event."""
        self.told = 0
        """The last number acknowledged to it."""
        self.outbox = LineOutbox(in_memory=_WAITING)
        self._run: str = ""
        self._sent = 0

    def welcome(self, connection: HubConnection, run: str, heard: int) -> int:
        """Take over a connection; return the last event number received.

        `run`: id of the agent's process. `heard`: the last number of ours that it has.
        """
        if run != self._run:
            self._run, self.have = run, 0
            if not heard:
                # A new process: it gets everything that waits, but nothing that the old one had already received.
                heard = self.outbox.acked
        self.outbox.ack(heard)
        self.connection, self.told, self._sent = connection, self.have, self.outbox.acked
        return self.have

    def is_new(self, number: int) -> bool:
        """Whether an event with this number is new; remember it. 0 is sent again on each connection."""
        if not number:
            return True
        if number <= self.have:
            return False
        self.have = number
        return True

    def send(self, event: Event) -> None:
        """Deliver it, now or once the agent is back."""
        self.outbox.append(wire.encode(event))
        self.flush()

    def flush(self) -> None:
        """Send everything not yet sent over this connection."""
        while self.connection is not None and (lines := self.outbox.after(self._sent)):
            self._sent = lines[-1][0]
            self.connection.send(b"".join(line for _, line in lines))

    def checked(self, event: Event, others: set[str]) -> Event:
        """The event as it may be published. Raises `BadLine`: it is in another agent's name, or about another one's
        conversation.
        """
        if isinstance(event, Noticed):
            return msgspec.structs.replace(event, about=self.agent)
        if isinstance(event, FaultReported | ToolServerChanged):
            return msgspec.structs.replace(event, agent=self.agent)
        if isinstance(event, InterruptRequested | AgentSpawnRequested):
            return event
        named = getattr(event, "agent", self.agent)
        if named != self.agent:
            raise BadLine(f"you are {self.agent} and cannot speak for {str(named)[:80]}")
        session: str = getattr(event, "session", "")
        if isinstance(event, SessionOpened):
            self._open(session, others)
        elif session and session != self.session and not isinstance(event, AgentAdded):
            raise BadLine(f"your conversation is {self.session or 'not open'}, not {session[:80]}")
        if isinstance(event, AgentAdded):
            spec = self.spec
            return AgentAdded(
                at=event.at,
                agent=self.agent,
                name=spec.name if spec and spec.name else self.agent,
                kind="acp" if spec and spec.request.acp else "native",
                runtime="tmux",
                session=self.session,
                parent=spec.request.parent if spec else "",
                cwd=spec.cwd if spec else "",
            )
        if isinstance(event, AgentStatusChanged) and event.source not in ("event", "agent"):
            return msgspec.structs.replace(event, source="event")
        return event

    def _open(self, session: str, others: set[str]) -> None:
        if session in others:
            raise BadLine(f"the conversation {session[:80]} is not yours")
        self.session = session
