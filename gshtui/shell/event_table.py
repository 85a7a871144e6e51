"""What may come in over a hub's socket: a fixed table of event types by the kind of the connection's hello.

Data only. What comes in is a hint, never authority: no kind may answer an approval, change a setting or a grant. Called
by the listener, which refuses and counts the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

from gshtui.bus.event import Event
from gshtui.bus.events import agent, approval, context, fleet, hub, session, shell

AGENT = "agent"
FACE = "face"
SHELL = "shell"
HUB = "hub"


@dataclass(frozen=True, slots=True)
class VisitorKind:
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


KINDS: dict[str, VisitorKind] = {
    kind.name: kind
    for kind in (
        VisitorKind(
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
                context.TasksChanged,
                context.OutputTruncated,
                context.ContextCut,
                context.CutFailed,
                context.CutUndone,
                context.SummaryProposed,
                context.BlockPinned,
                context.BlockRestored,
                context.BudgetReached,
                hub.Noticed,
                hub.FaultReported,
                session.SessionOpened,
                session.SessionTitled,
                session.SessionClosed,
            ),
            proves=True,
            max_line=4 * 1024 * 1024,
        ),
        VisitorKind(FACE, (agent.PromptSubmitted, agent.InterruptRequested)),
        VisitorKind(
            SHELL,
            (
                shell.ShellStarted,
                shell.ShellCommandStarted,
                shell.ShellCommandFinished,
                shell.ShellFolderChanged,
                shell.ShellNoted,
                shell.ShellEnded,
            ),
        ),
        VisitorKind(
            HUB,
            (shell.ShellRecorded, shell.ShellNoted, shell.ShellFolderChanged),
            max_line=4 * 1024 * 1024,
        ),
    )
}
"""`agent`: one of ours in a terminal, about itself. `face`: a command of this user. `shell`: a shell's plugin. `hub`:
another window of this user, which hears what shells do from the one that they report to.

A shell's plugin is connected while its prompt waits and hangs up before a command runs (zsh cannot keep a program from
inheriting the descriptor): the end of its connection does not mean that the shell is gone, its process's end does. Its
lines carry `seq`, counted from 1 for the life of the shell, in the spool too; `{"ack": N}` says that all up to N is
kept. What was not acknowledged it says again, to the next hub or into the spool, so the same line may come twice: it is
told by shell, number and type, never by order. A spool file is locked by POSIX locks (`fcntl.lockf`, not `flock`), and
emptied under its lock, not removed, as long as its shell lives.
"""

TO_AGENT: tuple[type[Event], ...] = (
    agent.PromptSubmitted,
    agent.PromptEditRequested,
    agent.InterruptRequested,
    agent.ModelChangeRequested,
    context.CutRequested,
    context.SummaryAnswered,
    approval.ApprovalAnswered,
    fleet.AgentSpawned,
    fleet.AgentSpawnFailed,
    fleet.AgentEnded,
)
"""What an agent takes from its hub."""
