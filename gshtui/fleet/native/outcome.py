"""How a native agent's work ended: as a status, an exit status and words. Pure.

The exit statuses are those of the scripting interface. Called by `run`.
"""

from __future__ import annotations

from dataclasses import dataclass

from gshtui.bus.events.agent_events import Status, TurnFinished
from gshtui.system.expected_error import ExpectedError

DONE, FAILED, UNREACHABLE, INTERRUPTED = 0, 1, 3, 130
_UNREACHABLE = frozenset(
    {"network", "timeout", "server", "overloaded", "rate_limit", "truncated", "garbage", "missing"}
)
"""Kinds of a provider's failure that are the way to it, not the question."""
_SHORT = {
    "refusal": "the model refused",
    "context": "the conversation is longer than the model's window",
    "max_tokens": "the answer reached its longest length",
    "max_iterations": "it was stopped before it was done",
}


class AgentProcessError(ExpectedError):
    """The agent cannot work; `message` is one clear sentence, `hint` says what to do, `exit` is the exit status."""

    def __init__(self, message: str, *, hint: str = "", exit: int = FAILED) -> None:
        super().__init__(message, hint)
        self.exit = exit


@dataclass(frozen=True, slots=True)
class AgentOutcome:
    """How it ended: `why` is empty for work that is done."""

    status: Status
    exit: int
    why: str = ""


def outcome_of(turn: TurnFinished) -> AgentOutcome:
    """What the last turn means for the whole."""
    if turn.stop == "end":
        return AgentOutcome("done", DONE)
    if turn.stop == "error":
        unreachable = turn.error_kind in _UNREACHABLE
        return AgentOutcome("failed", UNREACHABLE if unreachable else FAILED, f"{turn.error} {turn.hint}".strip())
    why = turn.error or _SHORT.get(turn.stop, turn.stop)
    return AgentOutcome("failed", FAILED, f"{why}. {turn.hint}".strip() if turn.hint else why)
