"""What is said while a command works on a hub: its warnings, what it waits for, the agents that it starts, and which
messages would stay queued if it were interrupted now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import (
    AgentSpawned,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessageQueued,
    MessageSubmitted,
)
from gshtui.bus.events.hub_events import Noticed, WaitReported
from gshtui.hub.hub import Hub

_HEARD = (
    Noticed,
    WaitReported,
    AgentSpawned,
    MessageQueued,
    MessageSubmitted,
    MessageActed,
    MessageDropped,
    MessageHeld,
)


class CommandFace(Protocol):
    """Where the command was called."""

    def complain(self, text: str, hint: str) -> None:
        """Show a warning."""
        ...

    def wait_for(self, words: str) -> None:
        """Show what the command waits for from now on."""
        ...

    def started(self, agent: str) -> None:
        """Show an agent that runs now."""
        ...

    def queued(self, message: str, to: str) -> None:
        """Keep whom a message is for that would stay queued; empty: it would not any more."""
        ...


class CommandWatch:
    """Tells a face. Make it before the hub starts, whose start may warn, too.

    Args:
        shows_agents: the agents that it starts are shown.
    """

    def __init__(self, hub: Hub, face: CommandFace, *, shows_agents: bool = False) -> None:
        self._hub = hub
        self._face = face
        self._shows_agents = shows_agents
        self._spawned: dict[str, str] = {}
        """Id of each agent that the command starts → its name."""
        self._subscription = hub.bus.subscribe(self._listen, *_HEARD, name="progress")

    def close(self) -> None:
        """Tell no more."""
        self._subscription.unsubscribe()

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        match event:
            case Noticed(about="settings"):
                pass  # said when they were read
            case Noticed() if event.level != "info" or self._name(event.about):
                self._face.complain(event.text, event.hint)
            case WaitReported():
                self._face.wait_for(event.text)
            case AgentSpawned() if self._shows_agents:
                self._spawned[event.agent] = event.row.name
                self._face.started(event.agent)
            case MessageQueued():
                name = self._name(event.agent)
                self._face.queued(event.message, f"{name} ({event.agent})" if name else event.agent)
                if name := self._spawned.get(event.agent):
                    self._face.wait_for(f"Waiting for {name} ({event.agent}) to accept its prompt")
            case MessageSubmitted() | MessageActed() | MessageDropped() | MessageHeld():
                self._face.queued(event.message, "")
            case _:
                pass

    def _name(self, agent: str) -> str:
        """Of an agent in a terminal; empty: it is none."""
        row = self._hub.fleet.get(agent) if self._hub.fleet is not None and agent else None
        return "" if row is None else row.name
