"""How a native agent's work ended, as a status, an exit status and a reason. Pure.

The exit statuses are those of the scripting interface. Called by `native_run`.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.events.agent_events import Status, TurnFinished
from gshtui.bus.events.hub_events import PartFailed

DONE, FAILED, UNREACHABLE, INTERRUPTED = 0, 1, 3, 130
_UNREACHABLE = frozenset(
    {"network", "timeout", "server", "overloaded", "rate_limit", "truncated", "garbage", "missing"}
)
"""Kinds of failure that lie in reaching the provider, not in the request."""
_SHORT = {
    "refusal": "the model refused",
    "context": "the conversation is longer than the model's window",
    "max_tokens": "the answer reached its maximum length",
    "max_iterations": "it was stopped before it finished",
}


class AgentOutcome(msgspec.Struct, frozen=True):
    """How it ended: `why` is empty for finished work."""

    status: Status
    exit: int
    why: str = ""


def outcome_of(turn: TurnFinished) -> AgentOutcome:
    """The outcome of the whole, from the last turn."""
    if turn.stop == "end":
        return AgentOutcome("done", DONE)
    if turn.stop == "error":
        unreachable = turn.error_kind in _UNREACHABLE
        return AgentOutcome("failed", UNREACHABLE if unreachable else FAILED, f"{turn.error} {turn.hint}".strip())
    why = turn.error or _SHORT.get(turn.stop, turn.stop)
    return AgentOutcome("failed", FAILED, f"{why}. {turn.hint}".strip() if turn.hint else why)


def outcome_of_failure(failed: PartFailed) -> AgentOutcome:
    """The outcome if a part of the agent's hub did not start."""
    exit = UNREACHABLE if failed.part == "providers" else FAILED
    return AgentOutcome("failed", exit, f"{failed.why} {failed.hint}".strip())
