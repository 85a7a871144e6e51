"""What code calls about agents in terminals, `await hub.call(KillAgent(agent="0002"))`, and what it gets.

Plain parameters and results, one pair for each word of `agent`; the handlers are in `commands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol

from pydantic import Field

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.fleet.agent_states import AgentState

FLEET_PARTS = frozenset({"store", "fleet"})
"""The parts of the hub that these need."""
AGENT_SYNONYMS = {"list": "ls", "rm": "remove", "delete": "remove"}
AGENT_GROUP = ShellGroup(
    "Agents: list, start, show, attach, send, wait, kill …",
    """\
Agents: list, start, show, attach, send, wait, interrupt, restart, rename, kill, recover.

Agents outlive the window. All of this works while a window is open and without one. An ID may be written without its \
leading zeros; a name does, too.""",
    tuple(AGENT_SYNONYMS.items()),
)


def _shell(*places: str, waiting: str = "Working") -> ShellForm:
    return ShellForm(("agent", *places), parts=FLEET_PARTS, waiting=waiting)


class _ForAgent(Parameters):
    """Parameters that name one agent."""

    COMMAND: ClassVar[str] = "agent"
    agent: Annotated[str, ShellOption("id", kind="agent")] = Field(description="Number or name.")


class ListedAgent(Protocol):
    """An agent as a row of a window's list."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def terminal(self) -> bool:
        """It has a terminal of its own."""
        ...

    @property
    def ended(self) -> bool: ...
    @property
    def killed_until(self) -> float:
        """Until then its kill can be undone, seconds since the epoch; 0: it is not killed."""
        ...


@dataclass(frozen=True, slots=True)
class AgentList:
    """Every agent: those of this hub, those of other windows, then those in terminals, families together."""

    agents: list[AgentState]

    @property
    def rows(self) -> list[AgentRow]:
        """Those in terminals."""
        return [agent.row for agent in self.agents if not agent.is_local]


@dataclass(frozen=True, slots=True)
class AgentReport:
    """An agent and its report; without one, what its terminal shows."""

    agent: AgentState
    report: str


@dataclass(frozen=True, slots=True)
class Attachment:
    """How to see an agent full-screen."""

    row: AgentRow
    argv: list[str]
    """The tmux command."""


@dataclass(frozen=True, slots=True)
class SentMessage:
    """A message on its way."""

    row: AgentRow
    message: str
    """Its id."""
    waits: bool
    """The agent is at work, and gets it when it rests."""


@dataclass(frozen=True, slots=True)
class AwaitedStatus:
    """An agent after waiting for its status."""

    row: AgentRow
    wanted: tuple[str, ...]
    timed_out: float | None = None
    """Seconds after which the waiting was given up; `None`: the agent rests or has ended."""


@dataclass(frozen=True, slots=True)
class UnsavedWork:
    """What would be lost with an agent, a sentence each."""

    row: AgentRow
    losses: list[str]


@dataclass(frozen=True, slots=True)
class RecoveredAgents:
    """The agents that run again, and why others don't, a sentence each."""

    rows: list[AgentRow]
    troubles: list[str]


class ListAgents(Parameters, Returns[AgentList]):
    """List this folder's agents with status, its source and its age."""

    COMMAND: ClassVar[str] = "agent"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(parts=FLEET_PARTS, waiting="Looking at the agents")
    everywhere: Annotated[bool, ShellOption("--all")] = Field(default=False, description="Of every folder.")
    windows: Annotated[bool, ShellOption(absent=True)] = True
    """Also those that live in other windows, which are read from their conversations."""


class ShowAgent(_ForAgent, Returns[AgentReport]):
    """Print an agent's report; while it has none, what its terminal shows.

    An agent of a window is found by its name or by its conversation's ID.
    """

    WORD: ClassVar[str] = "show"
    SHELL = _shell(waiting="Looking at the agent")


class AttachAgent(_ForAgent, Returns[Attachment]):
    """Show an agent full-screen in this terminal; detach with tmux's keys (ctrl+b d).

    With --json it is only said what to run.
    """

    WORD: ClassVar[str] = "attach"
    SHELL = _shell()


class SendToAgent(_ForAgent, Returns[SentMessage]):
    """Give an agent a message. TEXT - is standard input."""

    WORD: ClassVar[str] = "send"
    SHELL = _shell("text", waiting="Waiting for the agent to take the message")

    text: Annotated[str, ShellOption(required=True, words=-1, piped=True)] = Field(
        default="", description="The words to send."
    )
    now: bool = Field(default=False, description="Also while it is busy; otherwise it gets the words when it rests.")


class WaitForAgent(_ForAgent, Returns[AwaitedStatus]):
    """Wait until an agent rests or has ended. Ends with 124 when the time is up."""

    WORD: ClassVar[str] = "wait"
    SHELL = _shell(waiting="Waiting for the agent")

    statuses: Annotated[tuple[str, ...], ShellOption("--status", metavar="S")] = Field(
        default=(), description="Wait for this status, or several with commas."
    )
    timeout: float = Field(default=600.0, description="Seconds at most.", ge=0, le=1e6)


class InterruptAgent(_ForAgent, Returns[AgentRow]):
    """Stop what an agent is doing; it stays."""

    WORD: ClassVar[str] = "interrupt"
    SHELL = _shell()


class RestartAgent(_ForAgent, Returns[AgentRow]):
    """End an agent's program and start it again, with its conversation where the program can."""

    WORD: ClassVar[str] = "restart"
    SHELL = _shell(waiting="Restarting the agent")


class RenameAgent(_ForAgent, Returns[AgentRow]):
    """Give an agent another name."""

    WORD: ClassVar[str] = "rename"
    SHELL = _shell("name")

    name: Annotated[str, ShellOption(required=True)] = ""


class FindUnsaved(_ForAgent, Returns[UnsavedWork]):
    """Look for what would be lost if the agent were killed now."""

    WORD: ClassVar[str] = "unsaved"


class KillAgent(_ForAgent, Returns[AgentRow]):
    """End an agent for good. In a terminal it asks first and says what is unsaved.

    Without a terminal to ask in, an agent that has something to lose is not ended: exit code 4. In a window a kill can
    be undone for a while.
    """

    WORD: ClassVar[str] = "kill"
    SHELL = ShellForm(("agent",), parts=FLEET_PARTS, yes="Do not ask, also when something is unsaved.")

    now: Annotated[bool, ShellOption(fixed=True)] = Field(default=False, description="For good, at once.")
    yes: bool = Field(default=False, description="Also when something is unsaved.")


class UndoKill(_ForAgent, Returns[AgentRow]):
    """Let a killed agent continue."""

    WORD: ClassVar[str] = "undo"


class RecoverAgents(_ForAgent, Returns[RecoveredAgents]):
    """Bring a lost agent back with its conversation; `all` brings back every one of this folder, one at a time."""

    WORD: ClassVar[str] = "recover"
    SHELL = _shell(waiting="Recovering")


class MarkAgentRead(_ForAgent, Returns[AgentRow]):
    """Mark an agent's report as read."""

    WORD: ClassVar[str] = "seen"
    SHELL = _shell()


class RemoveAgent(_ForAgent, Returns[AgentRow]):
    """Take an agent that has ended off the list; its conversation is kept."""

    WORD: ClassVar[str] = "remove"
    SHELL = _shell()
