"""How an event changes an agent's row: the one reducer that the record, the hub, the headless commands and the window
share. Pure; keeps no state and reads no clock.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from gshtui.bus.agent_data import ENDED_STATUSES, AgentKind, AgentRow, OpenQuestion, Runtime
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    ProgramSessionChanged,
    ProviderRetried,
    TurnFinished,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut, CutUndone
from gshtui.bus.events.fleet_events import MessagesHeldUp, PromptUnsent
from gshtui.bus.events.session_events import SessionOpened

ROW_EVENTS: tuple[type[Event], ...] = (
    AgentAdded,
    AgentStatusChanged,
    ApprovalRequested,
    ApprovalSettled,
    ContextAssembled,
    ContextCut,
    CutUndone,
    MessagesHeldUp,
    ModelChanged,
    ProgramSessionChanged,
    PromptUnsent,
    ProviderRetried,
    SessionOpened,
    TurnFinished,
    UsageReported,
)
"""The events that change a row."""
REPORT_LENGTH = 100_000
"""Characters of a report that a row keeps; the whole is in the conversation."""
_WITHOUT_WORDS = {"interrupted": "Interrupted.", "error": "Failed."}
"""The report of a turn without any words, by how it stopped: an earlier turn's is not its own."""


def local_row(agent: str, at: float) -> AgentRow:
    """The row of an agent that lives in a window or a command, not in a terminal. `at`: when it was first heard of."""
    return AgentRow(id=agent, name=agent, runtime="local", status_source="event", status_at=at, cost=0.0)


def apply_event(row: AgentRow, event: Event) -> AgentRow:
    """The row after an event about its agent; the same object when the event says nothing about it."""
    match event:
        case AgentAdded():
            kind: AgentKind = event.kind if event.kind in ("cli", "acp") else "native"  # type: ignore[assignment]
            runtime: Runtime = "tmux" if event.runtime == "tmux" else "local"
            return replace(row, name=event.name, kind=kind, runtime=runtime, parent=event.parent, cwd=event.cwd)
        case AgentStatusChanged():
            return _with_status(row, event)
        case ModelChanged():
            return replace(row, provider=event.provider, model=event.model, window=event.window or row.window)
        case ProgramSessionChanged():
            known = event.external_id or row.external_id
            return replace(
                row,
                profile=row.profile or event.program,
                version=event.version or row.version,
                external_id=known,
                options=event.options,
                commands=event.commands,
            )
        case ContextAssembled():
            return replace(row, context=event.size, window=event.window or row.window)
        case ContextCut():
            return replace(row, context=event.size)
        case CutUndone():
            return replace(row, context=event.size or row.context)
        case UsageReported():
            return _with_usage(row, event)
        case ProviderRetried():
            return replace(row, retrying=True, doing=event.why)
        case TurnFinished():
            report = (event.text or event.error or _WITHOUT_WORDS.get(event.stop, row.report))[:REPORT_LENGTH]
            return replace(row, report=report, stop=event.stop, session=event.session or row.session)
        case PromptUnsent():
            return _asked_about(row, event.question)
        case MessagesHeldUp():
            return replace(row, held_up=event.why)
        case ApprovalRequested():
            return replace(row, needs_you=not row.killed)
        case ApprovalSettled():
            return replace(row, needs_you=False)
        case SessionOpened() if event.session != row.session:
            return _in_conversation(row, event.session)
        case _:
            return row


def differences(before: AgentRow, after: AgentRow) -> dict[str, Any]:
    """The fields of `after` that differ, with their values."""
    if before is after:
        return {}
    new = {name: getattr(after, name) for name in AgentRow.__struct_fields__}
    return {name: value for name, value in new.items() if value != getattr(before, name)}


def needs_person(row: AgentRow) -> bool:
    """Whether it waits for a person, by what is known of it; one that was killed needs nobody."""
    return (row.status == "waiting" or row.unsent is not None) and not row.killed


def _with_status(row: AgentRow, event: AgentStatusChanged) -> AgentRow:
    if row.ended:
        return row
    asked = event.question if event.status == "waiting" else event.question or row.unsent
    doing = row.doing if row.killed else event.doing  # its kill may be undone: the rest is known then
    said = replace(row, status_source=event.source, doing=doing, question=asked, retrying=False)
    if event.status != row.status or not row.status_at:
        said = replace(said, status=event.status, status_at=event.at)
    if row.runtime == "tmux" and event.status in ENDED_STATUSES and event.status != "lost":
        # An agent in a terminal ends when its process does, and the check of its terminal reports that.
        if event.status == "failed":  # only its turn has: it takes the next one
            return replace(said, status="idle", status_at=event.at)
        return replace(said, status=row.status, status_at=row.status_at)
    if event.status == "waiting" or row.status == "waiting" or row.kind == "cli":
        return replace(said, needs_you=needs_person(said))
    return said


def _asked_about(row: AgentRow, unsent: OpenQuestion | None) -> AgentRow:
    """With what is asked about a prompt that was not taken; what the program itself asks comes first."""
    if row.ended:
        return replace(row, unsent=None)
    asked = replace(row, unsent=unsent, question=row.question if row.status == "waiting" else unsent)
    return replace(asked, needs_you=needs_person(asked))


def _with_usage(row: AgentRow, event: UsageReported) -> AgentRow:
    # One request of unknown price makes the sum unknown, and it stays so.
    unknown = event.cost is None or (row.cost is None and row.tokens > 0)
    return replace(
        row,
        tokens=row.tokens + event.usage.context,
        context=row.context if event.iteration == 0 else event.usage.context or row.context,
        cost=None if unknown else (row.cost or 0.0) + (event.cost or 0.0),
    )


def _in_conversation(row: AgentRow, session: str) -> AgentRow:
    """In a new conversation the figures start from zero; an agent in a terminal keeps its own."""
    if row.runtime == "tmux":
        return replace(row, session=session)
    return replace(row, session=session, context=0, tokens=0, cost=0.0, report="", stop="")
