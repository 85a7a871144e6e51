"""What is known of every agent at a glance, from events alone: status with source and age, model, tokens, cost.

A pure reducer: `noted` takes an entry and an event. The ledger that the commands read is this, fed by the bus.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    UsageReported,
)
from gshtui.bus.events.context import ContextCut, CutUndone
from gshtui.bus.events.session import SessionClosed, SessionOpened, SessionTitled
from gshtui.bus.messages import Usage

if TYPE_CHECKING:
    from gshtui.providers.commands import InUse


class Entry(msgspec.Struct, frozen=True):
    """One agent's line. Times in seconds since the epoch, sizes in tokens, cost in US dollars (`None`: unknown)."""

    agent: str
    kind: str = "native"
    runtime: str = "local"
    parent: str = ""
    cwd: str = ""
    status: str = "starting"
    status_source: str = "event"
    status_since: float = 0.0
    doing: str = ""
    provider: str = ""
    model: str = ""
    label: str = ""
    window: int = 0
    context: int = 0
    usage: Usage = Usage()
    cost: float | None = 0.0
    requests: int = 0
    session: str = ""
    title: str = ""
    writable: bool = True


def noted(entry: Entry, event: Event) -> Entry:
    """The entry after one event about its agent."""
    match event:
        case AgentAdded():
            return msgspec.structs.replace(
                entry, kind=event.kind, runtime=event.runtime, parent=event.parent, cwd=event.cwd
            )
        case AgentStatusChanged():
            since = entry.status_since if event.status == entry.status else event.at
            return msgspec.structs.replace(
                entry, status=event.status, status_source=event.source, status_since=since, doing=event.doing
            )
        case ModelChanged():
            return msgspec.structs.replace(
                entry, provider=event.provider, model=event.model, label=event.label, window=event.window
            )
        case ContextAssembled():
            return msgspec.structs.replace(entry, context=event.tokens, window=event.window or entry.window)
        case ContextCut():
            return msgspec.structs.replace(entry, context=event.receipt.tokens_after)
        case CutUndone():
            return msgspec.structs.replace(entry, context=event.tokens or entry.context)
        case UsageReported():
            cost = None if entry.cost is None or event.cost is None else entry.cost + event.cost
            return msgspec.structs.replace(
                entry,
                usage=entry.usage + event.usage,
                context=event.usage.context or entry.context,
                cost=cost,
                requests=entry.requests + 1,
            )
        case SessionOpened():
            return msgspec.structs.replace(
                entry, session=event.session, title=event.title, writable=event.writable, context=0
            )
        case SessionClosed():
            return msgspec.structs.replace(entry, session="", title="")
        case _:
            return entry


class Ledger:
    """Every agent's entry, kept by the bus."""

    def __init__(self, bus: Bus) -> None:
        self._entries: dict[str, Entry] = {}
        self._subscription = bus.subscribe(
            self._take,
            AgentAdded,
            AgentStatusChanged,
            ModelChanged,
            ContextAssembled,
            ContextCut,
            CutUndone,
            UsageReported,
            SessionOpened,
            SessionClosed,
            SessionTitled,
            name="ledger",
        )

    def entries(self) -> list[Entry]:
        """All agents, in the order in which they appeared."""
        return list(self._entries.values())

    def get(self, agent: str) -> Entry | None:
        """One agent's entry."""
        return self._entries.get(agent)

    def in_use(self, agent: str) -> InUse | None:
        """What an agent thinks with, as the `model` command tells it; `None` while that is not known."""
        entry = self._entries.get(agent)
        if entry is None or not entry.model:
            return None
        from gshtui.providers.commands import InUse  # a short call asks for no model

        return InUse(entry.provider, entry.model, entry.label, entry.window)

    async def close(self) -> None:
        """Stop listening."""
        self._subscription.unsubscribe()

    def _take(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, SessionTitled):
                for name, entry in self._entries.items():
                    if entry.session == event.session:
                        self._entries[name] = msgspec.structs.replace(entry, title=event.title)
                continue
            agent: str = getattr(event, "agent", "")
            known = self._entries.get(agent) or Entry(agent, status_since=event.at)
            self._entries[agent] = noted(known, event)


def plain(entry: Entry) -> dict[str, object]:
    """An entry as the scripting interface gives it (DESIGN §13)."""
    return {
        "id": entry.agent,
        "name": entry.agent,
        "kind": entry.kind,
        "runtime": entry.runtime,
        "status": entry.status,
        "status_source": entry.status_source,
        "status_age_s": round(max(0.0, time.time() - entry.status_since), 1),
        "doing": entry.doing,
        "session_name": "",
        "pane": "",
        "parent": entry.parent,
        "cwd": entry.cwd,
        "provider": entry.provider,
        "model": entry.model,
        "session": entry.session,
        "window": entry.window,
        "context": entry.context,
        "tokens": entry.usage.context,
        "cost": entry.cost,
    }
