"""Approvals: a question and its answer, two events joined by an id. The asking side handles the time-out."""

from __future__ import annotations

from typing import Any, Literal

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.event import Event

Decision = Literal["once", "session", "always", "deny"]
DENIED = "The person denied this call."
"""What a model is told of a call that a person did not allow. Their reason follows `REASON`."""
REASON = " They say: "


def denied_by_you(told: str) -> str:
    """What a model is told of a call, as the person reads it who did not allow it."""
    if not told.startswith(DENIED):
        return told
    return told.replace(DENIED, "You denied this call.", 1).replace(REASON, " Your reason: ", 1)


class ApprovalRequested(Event, frozen=True, kw_only=True):
    """An agent wants to write, execute or access something, and needs a person's approval."""

    approval: str
    agent: str
    session: str
    call: str
    tool: str
    effect: str
    subject: str
    """One line: the command, or the real path that it touches, with escapes visible."""
    detail: str = ""
    """The whole command or argument list, with escapes visible."""
    diff: str = ""
    pattern: str = ""
    """What `always` would allow from now on, in words a person can judge; empty: `always` is not offered."""
    rule: str = ""
    """The rule that `always` would save, as TOML."""
    repeatable: bool = True
    """Whether the guard can know this exact call again, so that `session` is offered."""
    warnings: tuple[str, ...] = ()
    arguments: dict[str, Any] = {}
    beside: str = ""
    """What the program that asks says besides: its advice, its advertising."""


class ApprovalAnswered(Event, frozen=True, kw_only=True):
    """Intent: a person's answer to a question."""

    approval: str
    decision: Decision
    reason: str = ""
    rule: str = ""
    """With `always`: the rule to save, as the person left it; empty: the one that the question has."""
    values: dict[str, Any] = {}
    """What the person filled in, where the question has `fields` among its arguments."""


class ApprovalSettled(Event, frozen=True, kw_only=True):
    """The question is closed: answered, timed out, withdrawn with its turn, or answered by policy."""

    approval: str
    agent: str
    call: str
    decision: Literal["once", "session", "always", "deny", "withdrawn", "timeout", "nobody"]
    reason: str = ""
    by: str = "person"
    tool: str = ""
    """What was decided on, and in one line its subject: also of calls that no agent makes, such as a workflow's."""
    subject: str = ""


class ModeChangeRequested(Event, frozen=True, kw_only=True):
    """Intent: a person gives an agent another mode. Of those who connect to a hub, only a window may."""

    agent: str
    mode: GuardMode


class AgentModeChanged(Event, frozen=True, kw_only=True):
    """How much an agent may do before a person is asked, from its next call on."""

    agent: str
    mode: GuardMode
