"""What goes into the observability log: one plain record for each event that says what an agent did.

Defines the records' names and fields, and remembers calls until their results. Long texts keep their beginning and
end. Deltas and widget events are left out.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from typing import Any, Literal

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    PromptSubmitted,
    ProviderRetried,
    SourcesDisagreed,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.events.context_events import BudgetReached, ContextCut, CutFailed, OutputTruncated
from gshtui.bus.events.hub_events import FaultReported, Noticed, PartFailed, SubscriberFailed
from gshtui.text.truncation import gap_of, shorten

RecordType = Literal[
    "truncation", "prune", "compaction", "tool_call", "bash_exec", "approval", "prompt", "usage", "error", "warning"
]
Record = dict[str, Any]
LOGGED = (
    TurnStarted,
    ToolStarted,
    ToolFinished,
    ApprovalSettled,
    OutputTruncated,
    ContextCut,
    CutFailed,
    UsageReported,
    BudgetReached,
    TurnFinished,
    ProviderRetried,
    SourcesDisagreed,
    Noticed,
    PartFailed,
    FaultReported,
    SubscriberFailed,
)
"""Events that produce a record."""
assert PromptSubmitted not in LOGGED  # a prompt counts once its turn starts

DISAGREEMENT = "disagreement"
"""The kind of a warning that two sources of a program's status have parted."""
LONGEST = 4_000
"""Bytes kept of a text: half from its beginning, half from its end."""
_EXIT = re.compile(r"\[exit code: (\d{1,3})[\],]")
_CALLS = 1_000
"""Most calls waiting for results."""


class Recorder:
    """Makes records from events. One per process; remembers the calls without a result."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, ToolStarted] = OrderedDict()

    def record(self, event: Event) -> Record | None:
        """The event's record, without its time; `None` if it produces none."""
        match event:
            case ToolStarted():
                self._calls[event.call] = event
                while len(self._calls) > _CALLS:
                    self._calls.popitem(last=False)
                return None
            case ToolFinished():
                return _called(event, self._calls.pop(event.call, None))
            case ApprovalSettled():
                return _settled(event, self._calls.get(event.call))
            case TurnStarted():
                return _of("prompt", event, turn=event.turn, text=shorten(event.text, LONGEST))
            case OutputTruncated():
                sizes = {"original_bytes": event.original_bytes, "truncated_bytes": event.kept_bytes}
                return _of("truncation", event, tool=event.tool, call=event.call, **sizes, output=event.output)
            case ContextCut():
                return _cut(event)
            case UsageReported():
                return _used(event)
            case _:
                return _error(event)


def _of(type: RecordType, event: Event, **fields: object) -> Record:
    named = {name: getattr(event, name, "") for name in ("agent", "session")}
    return {"type": type, **{k: v for k, v in named.items() if v}, **{k: v for k, v in fields.items() if v != ""}}


def _called(event: ToolFinished, started: ToolStarted | None) -> Record:
    arguments = started.arguments if started is not None else {}
    common = {"call": event.call, "status": event.status, "duration_ms": round(event.duration * 1000)}
    common |= {"bytes": event.bytes, "full": event.output} | ({"sandbox": True} if event.sandboxed else {})
    # For an output that is already cut, use the marker's numbers: they are the original's.
    output = shorten(event.content, LONGEST, gap=gap_of(event.content) if event.output else None)
    command = arguments.get("command")
    if event.tool == "bash" and isinstance(command, str):
        found = _EXIT.search(event.content[-400:])
        code = int(found[1]) if found else 0 if event.status == "ok" else None
        return _of("bash_exec", event, command=shorten(command, LONGEST), exit_code=code, **common, output=output)
    said = json.dumps(arguments, ensure_ascii=False, default=str)
    return _of(
        "tool_call",
        event,
        tool=event.tool,
        subject=started.subject if started is not None else "",
        arguments=shorten(said, LONGEST),
        **common,
        output=output,
    )


def _settled(event: ApprovalSettled, started: ToolStarted | None) -> Record:
    """What became of a call that a person, a rule, a mode or the sandbox decided on; `by` says which."""
    tool, subject = (event.tool, event.subject) if started is None else (started.tool, started.subject)
    about = {"tool": tool, "subject": shorten(subject, LONGEST)} if tool else {}
    return _of("approval", event, call=event.call, **about, decision=event.decision, by=event.by, reason=event.reason)


def _cut(event: ContextCut) -> Record:
    receipt = event.receipt
    fields: dict[str, Any] = {"cut": receipt.id, "by": receipt.by, "why": receipt.why}
    if receipt.kind in ("compact", "clear"):
        fields |= {"kind": receipt.kind, "original_tokens": receipt.tokens_before}
        summary = (len(receipt.summary.encode(errors="replace")) + 3) // 4  # the house's estimate: bytes / 4
        fields |= {"summary_tokens": summary}
        fields |= {"tokens_after": receipt.tokens_after, "messages_before": receipt.messages_before}
        fields |= {"messages_after": receipt.messages_after, "cost": receipt.cost, "seconds": round(receipt.seconds, 3)}
        return _of("compaction", event, **fields, steps=list(receipt.steps), summary=shorten(receipt.summary, LONGEST))
    if receipt.kind == "truncate":
        return _of("truncation", event, tool="", original_bytes=receipt.tokens_before, **fields)
    fields |= {"original_tokens": receipt.tokens_before, "kept_tokens": receipt.tokens_after}
    changed = [item.source for item in receipt.items if item.fate not in ("kept", "carried")]
    return _of("prune", event, kind=receipt.kind, **fields, outputs=len(changed), sources=changed[:20])


def _used(event: UsageReported) -> Record:
    usage = event.usage
    counts = {name: getattr(usage, name) for name in ("input", "output", "cache_read", "cache_write", "reasoning")}
    return _of(
        "usage",
        event,
        turn=event.turn,
        iteration=event.iteration,
        provider=event.provider,
        model=event.model,
        **counts,
        cost=event.cost,
    )


def _error(event: Event) -> Record | None:
    match event:
        case TurnFinished() if event.stop == "error":
            return _of("error", event, where="turn", kind=event.error_kind, message=event.error, hint=event.hint)
        case CutFailed():
            return _of("error", event, where=f"context {event.kind}", message=event.why, hint=event.hint)
        case ProviderRetried():
            return _of("warning", event, where=event.provider, kind="retried", message=event.why, attempt=event.attempt)
        case SourcesDisagreed():
            return _of("warning", event, where="status", kind=DISAGREEMENT, message=event.text)
        case PartFailed():
            return _of("error", event, where=event.part, message=event.why, hint=event.hint)
        case FaultReported():
            where = f"{event.part} {event.doing}".rstrip()
            return _of("error", event, where=where, kind="fault", message=event.why, file=event.file, count=event.count)
        case SubscriberFailed():
            where = f"{event.subscriber} while it handled {event.event}"
            return _of("error", event, where=where, kind="fault", message=event.why, file=event.file, count=event.count)
        case Noticed() if event.level in ("error", "warning"):
            return _of(event.level, event, where=event.about, kind=event.level, message=event.text, hint=event.hint)
        case BudgetReached():
            b = event.budget
            message = f"{b.used:g} of the budget of {b.limit:g} {b.unit} ({b.scope}) are used."
            type: RecordType = "warning" if event.level == "warning" else "error"
            return _of(type, event, where="budget", kind=event.level, message=message)
        case _:
            return None
