"""What the line under the input says: what the agent does, since when, what waits.

Pure: `(state, event) → state`, and the words for it. Fed by `PromptStatus`, and tested without a terminal.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import (
    AgentStatusChanged,
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.shell import InputCommandFinished, InputCommandStarted

CONSUMED: tuple[type[Event], ...] = (
    AgentStatusChanged,
    TurnStarted,
    TurnFinished,
    ProviderRetried,
    PromptQueued,
    PromptWithdrawn,
    ApprovalRequested,
    ApprovalSettled,
    InputCommandStarted,
    InputCommandFinished,
)
WORDS = {"starting": "Starting", "thinking": "Thinking", "tool": "Working", "waiting": "Waiting for you"}


class Running(msgspec.Struct, frozen=True):
    """A command of the input line that goes on."""

    run: str
    command: str
    since: float


class StatusState(msgspec.Struct, frozen=True):
    """One agent's doings."""

    agent: str
    status: str = "idle"
    doing: str = ""
    since: float = 0.0
    """When the turn began, seconds since the epoch; 0: none is on."""
    retry: str = ""
    queued: frozenset[str] = frozenset()
    asking: frozenset[str] = frozenset()
    ended: str = ""
    """How the last turn ended, where that was not well."""
    running: tuple[Running, ...] = ()

    @property
    def busy(self) -> bool:
        """Whether a turn is on."""
        return bool(self.since)


def reduce(state: StatusState, event: Event) -> StatusState:
    """The state after the event; the same object when nothing changed."""
    match event:
        case ApprovalRequested():
            return replace(state, asking=state.asking | {event.approval})
        case ApprovalSettled():
            return replace(state, asking=state.asking - {event.approval})
        case TurnStarted() if event.agent == state.agent:
            queued = state.queued - {event.prompt}
            return StatusState(
                state.agent, "thinking", since=event.at, queued=queued, asking=state.asking, running=state.running
            )
        case TurnFinished() if event.agent == state.agent:
            ended = {"interrupted": "interrupted", "max_iterations": "stopped at its limit"}.get(event.stop, "")
            ended = event.error or ended
            return replace(state, status="idle", doing="", since=0.0, retry="", ended=ended)
        case AgentStatusChanged() if event.agent == state.agent:
            return replace(state, status=event.status, doing=event.doing, retry="")
        case ProviderRetried() if event.agent == state.agent:
            return replace(state, retry=f"{event.why} · again in {event.wait:.0f} s (try {event.attempt + 1})")
        case PromptQueued() if event.agent == state.agent:
            return replace(state, queued=state.queued | {event.prompt})
        case PromptWithdrawn() if event.agent == state.agent:
            return replace(state, queued=state.queued - {event.prompt})
        case InputCommandStarted():
            return replace(state, running=(*state.running, Running(event.run, event.command, event.at)))
        case InputCommandFinished():
            return replace(state, running=tuple(one for one in state.running if one.run != event.run))
        case _:
            return state


def elapsed(seconds: float) -> str:
    """A duration for people: `7s`, `2m 05s`, `1h 02m`."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m {rest:02}s" if minutes < 60 else f"{minutes // 60}h {minutes % 60:02}m"


def doing(state: StatusState) -> str:
    """What the agent does, in words."""
    if state.retry:
        return state.retry
    word = WORDS.get(state.status, state.status.capitalize())
    return f"{word}: {state.doing}" if state.doing else word


def waits(state: StatusState, answer_key: str) -> list[str]:
    """What waits for the person or for the agent, in words."""
    found: list[str] = []
    if state.asking:
        many = len(state.asking)
        found.append(f"{answer_key} to answer {many} question{'s' * (many > 1)}")
    if state.queued:
        found.append(f"{len(state.queued)} queued")
    return found
