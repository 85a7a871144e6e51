"""What is known of each agent, from events alone: one reducer for an agent's row, one for the states of a hub.
Pure but for `AgentStates`, which subscribes to the bus. Reads no record and no terminal.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    TurnFinished,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut, CutUndone
from gshtui.bus.events.session_events import SessionClosed, SessionOpened, SessionTitled
from gshtui.bus.messages import Usage

if TYPE_CHECKING:
    from gshtui.providers.model_command import ModelInUse


class AgentState(msgspec.Struct, frozen=True):
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


def apply_event(entry: AgentState, event: Event) -> AgentState:
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


class AgentStates:
    """Every agent's entry, kept by the bus."""

    def __init__(self, bus: Bus) -> None:
        self._entries: dict[str, AgentState] = {}
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

    def entries(self) -> list[AgentState]:
        """All agents, in the order in which they appeared."""
        return list(self._entries.values())

    def get(self, agent: str) -> AgentState | None:
        """One agent's entry."""
        return self._entries.get(agent)

    def in_use(self, agent: str) -> ModelInUse | None:
        """What an agent thinks with, as the `model` command tells it; `None` while that is not known."""
        entry = self._entries.get(agent)
        if entry is None or not entry.model:
            return None
        from gshtui.providers.model_command import ModelInUse  # a short call asks for no model

        return ModelInUse(entry.provider, entry.model, entry.label, entry.window)

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
            known = self._entries.get(agent) or AgentState(agent, status_since=event.at)
            self._entries[agent] = apply_event(known, event)


def state_json(entry: AgentState) -> dict[str, object]:
    """An entry as the scripting interface gives it."""
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


ROW_EVENTS = (
    AgentStatusChanged,
    ContextAssembled,
    ContextCut,
    CutUndone,
    ModelChanged,
    TurnFinished,
    UsageReported,
    ApprovalRequested,
    ApprovalSettled,
    SessionOpened,
)
"""The events that say something about a row."""
REPORT_LENGTH = 100_000
"""Characters of a report that the roster keeps; the whole is in the conversation."""


def row_changes(row: AgentRow, event: Event) -> dict[str, Any]:
    """The fields of the row that are different after this event."""
    match event:
        case AgentStatusChanged():
            return _status(row, event)
        case ModelChanged():
            return {"provider": event.provider, "model": event.model, "window": event.window}
        case ContextAssembled():
            return {"context": event.tokens, "window": event.window or row.window}
        case ContextCut():
            return {"context": event.receipt.tokens_after}
        case CutUndone():
            return {"context": event.tokens or row.context}
        case UsageReported():
            # One request of unknown price makes the sum unknown, and it stays so.
            unknown = event.cost is None or (row.cost is None and row.tokens > 0)
            cost = None if unknown else (row.cost or 0.0) + (event.cost or 0.0)
            used = event.usage
            return {"tokens": row.tokens + used.context, "context": used.context or row.context, "cost": cost}
        case TurnFinished():
            report = (event.text or event.error)[:REPORT_LENGTH]
            return {"report": report, "session": event.session or row.session} if report else {}
        case ApprovalRequested():
            return {"needs_you": True}
        case ApprovalSettled():
            return {"needs_you": False}
        case SessionOpened():
            return {"session": event.session}
        case _:
            return {}


def _status(row: AgentRow, event: AgentStatusChanged) -> dict[str, Any]:
    if row.ended or row.killed:
        return {}
    said: dict[str, Any] = {"status_source": event.source, "doing": event.doing}
    if event.status != row.status:
        said |= {"status": event.status, "status_at": event.at}
    if event.status in ENDED_STATUSES and event.status != "lost":
        return said  # what ends a row is that its process does
    if event.status == "waiting" or row.status == "waiting" or row.kind == "cli":
        said["needs_you"] = event.status == "waiting"
    return said
