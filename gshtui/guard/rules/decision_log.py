"""What agents ran and were refused, and by which rule, mode or answer: read from the observability log.

A call's record and the decision about it are joined by the call. What only read ran without a decision, and says so.
Reads only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from gshtui.store.log import log_reader
from gshtui.store.log.log_records import Record

_ALLOWED = frozenset(("once", "session", "always"))
_MOST = 100_000
"""Records to look at."""
_APART = 86_400.0
"""Seconds between two decisions that cannot be about the same call."""


class DecisionQuery(msgspec.Struct, frozen=True):
    """Conditions on calls; empty fields match everything.

    Attributes:
        verdict: `allow` or `deny`.
        since: seconds since the epoch.
    """

    agent: str = ""
    tool: str = ""
    verdict: str = ""
    since: float | None = None
    text: str = ""


class LoggedDecision(msgspec.Struct, frozen=True):
    """One call. `at` in seconds since the epoch."""

    at: float
    agent: str
    tool: str
    subject: str
    verdict: str
    by: str
    """`person`, `rule rules.toml:3`, `edit mode`, `sandbox`, `policy` (`--yes`), `guard`, or `reads`: it only read."""
    reason: str = ""
    answer: str = ""
    """What a person chose: once, session, always, deny."""
    ran: bool = False
    status: str = ""
    sandboxed: bool = False

    @property
    def data(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in self.__struct_fields__}


def read_decisions(folder: Path, wanted: DecisionQuery, limit: int) -> list[LoggedDecision]:
    """The newest matching calls, oldest first. Blocks for a moment."""
    records: list[Record] = []
    for type in ("approval", "bash_exec", "tool_call"):
        query = log_reader.LogQuery(type=type, agent=wanted.agent, after=wanted.since)
        records += log_reader.find_records(folder, query, _MOST)
    found = [one for one in _joined(records) if _fits(one, wanted)]
    return sorted(found, key=lambda one: one.at)[-limit:] if limit else []


def _joined(records: Sequence[Record]) -> Iterator[LoggedDecision]:
    decided: dict[tuple[str, str], Record] = {}
    unwidened: dict[tuple[str, str], Record] = {}
    """What ran in the sandbox, and was not allowed to run once more with more room."""
    for record in sorted(records, key=lambda one: float(one["at"])):
        if record["type"] != "approval":
            # A call that was asked about twice, once for more room, ran by the last answer that allowed it.
            yield _decision(decided.pop(_call(record), None), record)
            if (refused := unwidened.pop(_call(record), None)) is not None:
                yield _decision(refused, None)
            continue
        # Some providers count their calls from the start in each conversation: the record that follows is the call's.
        before = decided.get(_call(record))
        if before is not None and float(record["at"]) - float(before["at"]) > _APART:
            yield _decision(before, None)
            before = None
        if before is not None and before.get("decision") in _ALLOWED and record.get("decision") not in _ALLOWED:
            unwidened[_call(record)] = record
        else:
            decided[_call(record)] = record
    for record in (*decided.values(), *unwidened.values()):
        yield _decision(record, None)


def _call(record: Record) -> tuple[str, str]:
    return str(record.get("agent", "")), str(record.get("call", ""))


def _decision(decided: Record | None, ran: Record | None) -> LoggedDecision:
    first: Mapping[str, object] = ran or decided or {}
    decision = str((decided or {}).get("decision", "once"))
    refused = ran is None or ran.get("status") == "denied"
    allowed = decision in _ALLOWED
    command = str((ran or {}).get("command") or (ran or {}).get("subject") or (decided or {}).get("subject", ""))
    by = str((decided or {}).get("by", "")) or ("guard" if refused else "reads")
    return LoggedDecision(
        at=float(str(first.get("at", 0.0))),
        agent=str(first.get("agent", "")),
        tool=str((decided or {}).get("tool") or (ran or {}).get("tool") or "bash"),
        subject=command,
        verdict="allow" if allowed and not (refused and decided is None) else "deny",
        by=by,
        reason=str((decided or {}).get("reason", "")),
        answer=decision if by == "person" else "",
        ran=ran is not None and not refused,
        status=str((ran or {}).get("status", "")),
        sandboxed=bool((ran or {}).get("sandbox", False)),
    )


def _fits(one: LoggedDecision, wanted: DecisionQuery) -> bool:
    if wanted.text.lower() not in f"{one.subject} {one.by} {one.reason}".lower():
        return False
    return (not wanted.tool or one.tool == wanted.tool) and (not wanted.verdict or one.verdict == wanted.verdict)
