"""What may come in over a hub's socket: a fixed table of event types by the kind of the connection's hello.

Data only. What comes in is a hint, never authority: no kind may answer an approval, change a setting or a grant. Called
by the listener, which refuses and counts the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from gshtui.bus.event import Event
from gshtui.bus.events import agent, approval, fleet, hub, session

AGENT = "agent"
FACE = "face"
SHELL = "shell"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of connection."""

    name: str
    publishes: tuple[type[Event], ...]
    proves: bool = False
    """It must prove that it knows its secret before anything is taken from it, and so must the hub to it."""
    answered: bool = True
    """It reads what is sent to it: acknowledgements and events. Where not, only errors are sent."""
    max_line: int = 64 * 1024
    """Bytes."""

    def may_publish(self, event: Event) -> bool:
        """Whether an event of this type is taken from it."""
        return isinstance(event, self.publishes)


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            AGENT,
            (
                agent.AgentAdded,
                agent.AgentStatusChanged,
                agent.ModelChanged,
                agent.PromptQueued,
                agent.PromptEdited,
                agent.PromptWithdrawn,
                agent.TurnStarted,
                agent.IterationStarted,
                agent.ContextAssembled,
                agent.TextDelta,
                agent.ThinkingDelta,
                agent.ToolStarted,
                agent.ToolOutput,
                agent.ToolFinished,
                agent.MessageAppended,
                agent.ProviderRetried,
                agent.UsageReported,
                agent.TurnFinished,
                approval.ApprovalRequested,
                approval.ApprovalSettled,
                fleet.AgentSpawnRequested,
                fleet.MessagePosted,
                agent.InterruptRequested,
                hub.Noticed,
                session.SessionOpened,
                session.SessionTitled,
                session.SessionClosed,
            ),
            proves=True,
            max_line=4 * 1024 * 1024,
        ),
        Kind(FACE, (agent.PromptSubmitted, agent.InterruptRequested)),
        Kind(SHELL, (), answered=False),
    )
}
"""`agent`: one of ours in a terminal, about itself. `face`: a command of this user. `shell`: a shell's plugin."""

TO_AGENT: tuple[type[Event], ...] = (
    agent.PromptSubmitted,
    agent.PromptEditRequested,
    agent.InterruptRequested,
    agent.ModelChangeRequested,
    approval.ApprovalAnswered,
    fleet.AgentSpawned,
    fleet.AgentSpawnFailed,
    fleet.AgentEnded,
)
"""What an agent takes from its hub."""
