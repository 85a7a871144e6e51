"""What code calls about agents in terminals, `await hub.call(KillAgent(agent="0002"))`, and what it gets.

Plain parameters and results, one pair for each word of `agent`; the handlers are in `commands`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Parameters, Returns
from gshtui.fleet.agent_states import AgentState


class _ForAgent(Parameters):
    """Parameters that name one agent."""

    COMMAND: ClassVar[str] = "agent"
    agent: str
    """Number or name."""


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
    """The agents of this folder."""

    COMMAND: ClassVar[str] = "agent"
    WORD: ClassVar[str] = "ls"
    everywhere: bool = False
    """Those of every folder."""
    windows: bool = True
    """Also those that live in other windows, which are read from their conversations."""


class ShowAgent(_ForAgent, Returns[AgentReport]):
    """The agent's report."""

    WORD: ClassVar[str] = "show"


class AttachAgent(_ForAgent, Returns[Attachment]):
    """The way into the agent's terminal."""

    WORD: ClassVar[str] = "attach"


class SendToAgent(_ForAgent, Returns[SentMessage]):
    """Words for an agent, told when it rests."""

    WORD: ClassVar[str] = "send"

    text: str = ""
    now: bool = False
    """Also while it is busy."""


class WaitForAgent(_ForAgent, Returns[AwaitedStatus]):
    """Wait until an agent has one of these statuses; empty: until it rests or ends."""

    WORD: ClassVar[str] = "wait"

    statuses: tuple[str, ...] = ()
    timeout: float = 600.0
    """Seconds at most."""


class InterruptAgent(_ForAgent, Returns[AgentRow]):
    """Ask an agent to stop what it does."""

    WORD: ClassVar[str] = "interrupt"


class RestartAgent(_ForAgent, Returns[AgentRow]):
    """End what runs of an agent and start it again."""

    WORD: ClassVar[str] = "restart"


class RenameAgent(_ForAgent, Returns[AgentRow]):
    """Another name for an agent."""

    WORD: ClassVar[str] = "rename"

    name: str = ""


class FindUnsaved(_ForAgent, Returns[UnsavedWork]):
    """Look for what would be lost if the agent were killed now."""

    WORD: ClassVar[str] = "unsaved"


class KillAgent(_ForAgent, Returns[AgentRow]):
    """Kill an agent; for a while it can be undone."""

    WORD: ClassVar[str] = "kill"

    now: bool = False
    """For good, at once."""
    yes: bool = False
    """Also when something is unsaved."""


class UndoKill(_ForAgent, Returns[AgentRow]):
    """Let a killed agent continue."""

    WORD: ClassVar[str] = "undo"


class RecoverAgents(_ForAgent, Returns[RecoveredAgents]):
    """Bring a lost agent back, or `all` of them."""

    WORD: ClassVar[str] = "recover"


class MarkAgentRead(_ForAgent, Returns[AgentRow]):
    """Mark what an agent reported as read."""

    WORD: ClassVar[str] = "seen"


class RemoveAgent(_ForAgent, Returns[AgentRow]):
    """Take an agent that has ended off the roster."""

    WORD: ClassVar[str] = "remove"
