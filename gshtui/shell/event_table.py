"""What a hub's socket accepts: a fixed table of event types for each kind of connection.

Data only. Incoming events are hints without authority: no kind may answer an approval, or change
a setting, a grant or a mode. Kinds that ask (`asks`) say what they may in their own rooms.
Used by the listener, which rejects and counts everything else.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events import (
    agent_events,
    approval_events,
    context_events,
    fleet_events,
    hub_events,
    server_events,
    session_events,
    shell_events,
)

AGENT = "agent"
FACE = "face"
SHELL = "shell"
PROMPT = "prompt"
COMMAND = "command"
TURN = "turn"
WINDOW = "window"
PANE = "pane"
MCP = "mcp"
ACP = "acp"
SSH = "ssh"


class VisitorKind(msgspec.Struct, frozen=True):
    """One kind of connection."""

    name: str
    publishes: tuple[type[Event], ...]
    proves: bool = False
    """It must prove that it knows its secret before anything is accepted from it, and the hub must prove that to it."""
    answered: bool = True
    """It reads acknowledgements and events; if not, it is sent only errors."""
    asks: bool = False
    """Its lines are requests, not events."""
    max_line: int = 64 * 1024
    """Bytes."""

    def may_publish(self, event: Event) -> bool:
        """Whether an event of this type is accepted from it."""
        return isinstance(event, self.publishes)


KINDS: dict[str, VisitorKind] = {
    kind.name: kind
    for kind in (
        VisitorKind(
            AGENT,
            (
                agent_events.AgentAdded,
                agent_events.AgentStatusChanged,
                agent_events.ModelChanged,
                agent_events.ProgramSessionChanged,
                agent_events.PromptQueued,
                agent_events.PromptEdited,
                agent_events.PromptWithdrawn,
                agent_events.TurnStarted,
                agent_events.IterationStarted,
                agent_events.ContextAssembled,
                agent_events.TextDelta,
                agent_events.ThinkingDelta,
                agent_events.ToolStarted,
                agent_events.ToolOutput,
                agent_events.ToolFinished,
                agent_events.MessageAppended,
                agent_events.ProviderRetried,
                agent_events.UsageReported,
                agent_events.TurnFinished,
                approval_events.ApprovalRequested,
                approval_events.ApprovalSettled,
                approval_events.AgentModeChanged,
                fleet_events.AgentSpawnRequested,
                fleet_events.MessagePosted,
                agent_events.InterruptRequested,
                context_events.TasksChanged,
                context_events.OutputTruncated,
                context_events.ContextCut,
                context_events.ContextTuned,
                context_events.CutFailed,
                context_events.CutUndone,
                context_events.SummaryProposed,
                context_events.BlockPinned,
                context_events.BlockRestored,
                context_events.BudgetReached,
                hub_events.Noticed,
                hub_events.FaultReported,
                session_events.SessionOpened,
                session_events.SessionTitled,
                session_events.SessionClosed,
                server_events.ToolServerChanged,
            ),
            proves=True,
            max_line=4 * 1024 * 1024,
        ),
        VisitorKind(FACE, (agent_events.PromptSubmitted, agent_events.InterruptRequested)),
        VisitorKind(
            SHELL,
            (
                shell_events.ShellStarted,
                shell_events.ShellCommandStarted,
                shell_events.ShellCommandFinished,
                shell_events.ShellFolderChanged,
                shell_events.ShellNoted,
                shell_events.ShellEnded,
            ),
        ),
        VisitorKind(PROMPT, (), asks=True, max_line=16 * 1024),
        VisitorKind(COMMAND, (), asks=True, max_line=8 * 1024 * 1024),
        VisitorKind(TURN, (), asks=True, max_line=256 * 1024 * 1024),
        VisitorKind(WINDOW, (), asks=True, max_line=64 * 1024 * 1024),
        VisitorKind(PANE, (), asks=True, max_line=8 * 1024 * 1024),
        VisitorKind(MCP, (), asks=True, max_line=64 * 1024 * 1024),
        VisitorKind(ACP, (), asks=True, max_line=64 * 1024 * 1024),
        VisitorKind(SSH, (), asks=True, max_line=8 * 1024 * 1024),
    )
}
"""`agent`: one of ours in a terminal, about itself. `face`: a command of this user. `shell`: a shell's plugin. `hub`:
another window of this user, which hears what shells do from the one that they report to. `reader`: a process of this
user that is about to read the record; it is answered `{"synced": true}` once what stood in the spool is stored, or
`false` if not all of it could be. `prompt`: a shell in which a line is being typed; it asks `{"ask": N, "text": …,
"cwd": …, "previous": …}` and is answered `{"answer": N, "text": …}`, the command to suggest
(`shell/log/shell_log.py`); what it asks is kept nowhere. `command`: a command of this user, `gsh-tui agent ls`, which
the keeper runs for it (`hub/faces/asked_commands.py`). `turn`: a face without a window, `gsh WORDS`, for which the
keeper takes a turn (`hub/faces/asked_turns.py`); it answers the questions of that turn alone. `window`: a window, whose
hub is here (`hub/faces/asked_windows.py`). `pane`: the terminal of an agent that runs here, whose pane is drawn here,
too (`headless/agents/asked_agents.py`). `mcp`, `acp`: a program that uses our commands by MCP, or our agent by ACP,
whose messages are passed on as they are (`headless/servers/asked_programs.py`). `ssh`: a process that has the hub keep
the door for people elsewhere (`headless/servers/asked_doors.py`).

A shell's plugin is connected while its prompt waits and hangs up before a command runs (zsh cannot keep a program from
inheriting the descriptor): the end of its connection does not mean that the shell is gone, its process's end does. Its
lines carry `seq`, counted from 1 for the life of the shell, in the spool too; `{"ack": N}` says that all up to N is
kept. It writes a line into the spool before it sends it, and sends what was not acknowledged again to the next hub, so
the same line may come twice: it is told by shell, number and type, never by order. A spool file is locked by POSIX
locks (`fcntl.lockf`, not `flock`), and emptied under its lock, not removed, as long as its shell lives.
"""

TO_AGENT: tuple[type[Event], ...] = (
    agent_events.PromptSubmitted,
    agent_events.PromptEditRequested,
    agent_events.QueueReleaseRequested,
    agent_events.InterruptRequested,
    agent_events.ModelChangeRequested,
    agent_events.QuestionAnswered,
    agent_events.ProgramOptionRequested,
    context_events.CutRequested,
    context_events.SummaryAnswered,
    approval_events.ApprovalAnswered,
    approval_events.ModeChangeRequested,
    fleet_events.AgentSpawned,
    fleet_events.AgentSpawnFailed,
    fleet_events.AgentEnded,
)
"""What an agent takes from its hub."""
