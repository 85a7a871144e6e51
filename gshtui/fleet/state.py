"""What events say about an agent's row. Pure: a row and an event in, the changed fields out.

It refuses what a stranger's status would do to a row that has ended: a dead pane is never "ready". Called by the fleet.
"""

from __future__ import annotations

from typing import Any

from gshtui.bus.event import Event
from gshtui.bus.events.agent import (
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    TurnFinished,
    UsageReported,
)
from gshtui.bus.events.approval import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context import ContextCut, CutUndone
from gshtui.bus.events.session import SessionOpened
from gshtui.bus.fleet import ENDED_STATUSES, AgentRow

HEARD = (
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


def changes(row: AgentRow, event: Event) -> dict[str, Any]:
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
