"""What a window that comes to a running hub must be told: the states that there are, and the turn in progress.

The messages are in the record, which a window reads by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import msgspec

from gshtui.agents.agent_snapshot import AgentSnapshot
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    IterationStarted,
    MessageAppended,
    ModelChanged,
    ProgramSessionChanged,
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import AgentModeChanged, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import MessageSubmitted
from gshtui.bus.events.hub_events import FaultReported, Noticed, SubscriberFailed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.subscription import merged

_OF_AGENTS = (
    AgentAdded,
    AgentModeChanged,
    AgentStatusChanged,
    ApprovalRequested,
    ApprovalSettled,
    IterationStarted,
    MessageAppended,
    ModelChanged,
    ProgramSessionChanged,
    SessionOpened,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
"""What snapshots of agents are made of."""
_PASSING = (FaultReported, Noticed, ProviderRetried, SubscriberFailed, ToolOutput)
_RECORDED = (ShellRecorded, ShellNoted, ShellFolderChanged)
"""What the window's panes read from the record, of which there is no end."""
_INTENTS = ("Requested", "Submitted", "Answered", "Begun")
_NO_INTENTS = (ApprovalRequested, MessageSubmitted)
_FOLDED_AT = 2_000
"""Events; then those that may be are merged."""


class WindowHistory:
    """Takes every event of a window's hub."""

    def __init__(self) -> None:
        self._agents: defaultdict[str, AgentSnapshot] = defaultdict(AgentSnapshot)
        self._others: list[Event] = []
        self._fold_at = _FOLDED_AT

    def note(self, event: Event) -> None:
        """Take an event."""
        if isinstance(event, _PASSING + _RECORDED):
            return
        if type(event).__name__.endswith(_INTENTS) and not isinstance(event, _NO_INTENTS):
            return
        match event:
            case SessionOpened():
                self._drop(lambda one: getattr(one, "agent", "") == event.agent and hasattr(one, "session"))
            case TurnStarted() | PromptWithdrawn():
                self._drop(lambda one: isinstance(one, PromptQueued) and one.prompt == event.prompt)
            case ContextAssembled():
                self._drop(lambda one: isinstance(one, ContextAssembled) and one.agent == event.agent)
            case _:
                pass
        if isinstance(event, _OF_AGENTS):
            self._agents[event.agent].note(0, event)
        elif not isinstance(event, PromptWithdrawn):
            self._others.append(event)
            if len(self._others) > self._fold_at:
                self._others = list(merged(self._others))
                self._fold_at = 2 * len(self._others) + _FOLDED_AT

    def events(self) -> Iterator[Event]:
        """What to tell, in order."""
        yield from (event for event in self._others if not (hasattr(event, "agent") or hasattr(event, "session")))
        for snapshot in self._agents.values():
            for event in snapshot.undelivered_events(0):
                if isinstance(event, SessionOpened):
                    event = msgspec.structs.replace(event, messages=max(1, event.messages), joined=True)
                yield event
        yield from (event for event in self._others if hasattr(event, "agent") or hasattr(event, "session"))

    def _drop(self, outdated: Callable[[Event], bool]) -> None:
        self._others = [one for one in self._others if not outdated(one)]
