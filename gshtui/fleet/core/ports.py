"""What the fleet needs from others, as small protocols, and the one error it raises.

Contains no behaviour. The hub supplies the adapters that make command lines and worktrees, and that type messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from gshtui.bus.agent_data import AgentRow, GuardMode, ProgramMode, SpawnRequest
from gshtui.system.expected_error import ExpectedError

if TYPE_CHECKING:
    from gshtui.bus.agent_data import Respondent
    from gshtui.guard.sandbox.sandboxes import Sandboxes

Kind = Literal["unknown", "invalid", "limit", "tmux", "store", "lost", "ended", "busy", "blank", "unsaved", "failed"]


class FleetError(ExpectedError):
    """The fleet could not do it. `message` is one clear sentence, `hint` says what to do."""

    def __init__(self, kind: Kind, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: Kind = kind


class LaunchTerms(msgspec.Struct, frozen=True):
    """On what terms this hub's agents work; what they start is held to the same."""

    respondent: Respondent = "person"
    mode_of: Callable[[str], GuardMode] = lambda _: "ask"
    """The mode of an agent that starts another one; of the person, whose id is empty, the one in which agents begin."""
    auto_approve: tuple[str, ...] | None = None
    """Tools that need no question; `None`: as the configuration says."""
    max_steps: int = 0
    """Tool calls a turn; 0: as the configuration says."""
    runtime: Path = Path()
    """Folder of the hubs' sockets."""
    worktrees_inside: bool = False
    notice: str = ""
    """File for words to the shell in which this is a command; empty: there is none."""
    setup: tuple[str, ...] = ()
    """Command for new worktrees, run only once somebody has agreed."""
    sandboxes: Callable[[], Sandboxes | None] = lambda: None
    """Gives the sandboxes in which that command runs; asked only when there is one to run."""


class FleetOptions(msgspec.Struct, frozen=True):
    """Where a fleet lives: the window's folder, the tmux server for new agents, and how it behaves."""

    home: Path
    data: Path
    """Data folder; specs are written below it."""
    socket: str = "gsh"
    """Name for `-L`, or an absolute path for `-S`, of the server on which new agents are started."""
    prefix: str = "gsh"
    """Start of tmux session names."""
    everywhere: bool = False
    """It looks after the agents of every folder, until a window of their folder takes them over."""
    visiting: bool = False
    """A command that looks in and leaves: it looks after no agent, and changes only what nobody looks after."""
    brief: bool = False
    """A command with agents of its own that ends soon: while a keeper runs, it takes over nobody."""
    hosted: bool = False
    """It shares its process with the fleet that looks after all agents, and looks only after those that it started."""
    grace: float = 60.0
    """Seconds in which a kill can be undone."""


class AgentStart(msgspec.Struct, frozen=True):
    """What to run for an agent. `prompt`: words still to be typed once it is ready; `blank`: it remembers nothing."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    prompt: str = ""
    blank: bool = False
    external_id: str = ""
    profile: str = ""
    """Name of the program's profile."""
    how: str = ""
    """What a restart makes of its conversation, as words about the agent: `resumed its conversation`."""
    mode: GuardMode | Literal[""] = ""
    """The mode that another vendor's program is started in; empty: its own."""
    program_mode: ProgramMode | None = None
    """The mode that it is in then, where its screen does not show it."""
    command: tuple[str, ...] = ()
    """What its terminal runs, where that is more than `argv`."""
    held_by: str = ""
    """Whose choice its mode is (`AgentRow.held_by`)."""


class RevivedAgent(msgspec.Struct, frozen=True):
    """An agent that runs again. `how`: what became of its conversation (`AgentStart.how`)."""

    row: AgentRow
    how: str = ""


class FailedRecovery(msgspec.Struct, frozen=True):
    """An agent that is still lost."""

    row: AgentRow
    why: str
    """A sentence, and what to do."""
    tried: bool = True


class RecoveredAgents(msgspec.Struct, frozen=True):
    """The agents that run again, and those that do not."""

    back: list[RevivedAgent] = msgspec.field(default_factory=list[RevivedAgent])
    lost: list[FailedRecovery] = msgspec.field(default_factory=list[FailedRecovery])


class RecoveryPlan(msgspec.Struct, frozen=True):
    """What recovering an agent would do. `how` and `conversation` are empty where it would refuse."""

    row: AgentRow
    how: str = ""
    """What would become of its conversation (`AgentStart.how`)."""
    conversation: str = ""
    """The id of the conversation that would go on."""
    why: str = ""
    """Why it would refuse: a sentence, and what to do."""


class OwnWorktree(msgspec.Struct, frozen=True):
    """The git worktree of an agent that is being started."""

    path: Path
    is_new: bool = False
    new_branch: str = ""
    """The branch, if it was made with it."""


class SetupPlan(msgspec.Struct, frozen=True):
    """The set-up command of a worktree that is not made yet."""

    command: str
    """As a shell line."""
    where: str
    """Whether it would run in the sandbox, as a sentence; empty: unknown."""


class Launcher(Protocol):
    """Makes the command line of an agent."""

    async def agreed(self, request: SpawnRequest, above: Mapping[str, AgentRow | None]) -> SpawnRequest:
        """The request with the mode that it comes to, before anything is made.

        `above`: the agents that it may not exceed, by id: its starter, and the one that it is a copy of. Raises
        `FleetError` where it cannot be held to that.
        """
        ...

    async def start(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """For a new agent. Raises `FleetError`."""
        ...

    async def restart(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """For one that was there before, with its conversation where that can be. Raises `FleetError`."""
        ...

    async def plan(self, row: AgentRow, request: SpawnRequest) -> AgentStart:
        """What `restart` would make of its conversation, with nothing to run; the id is of one that would go on.
        Raises `FleetError`: it could not be started.
        """
        ...

    async def worktree(self, row: AgentRow, branch: str, *, setup: bool = False) -> OwnWorktree:
        """Make its git worktree, unless its branch has one. Raises `FleetError`.

        `setup`: a person agreed to the set-up command.
        """
        ...

    async def fork_worktree(self, row: AgentRow, branch: str, *, setup: bool = False) -> tuple[Path, Path]:
        """Make it a git worktree equal to the one that its folder is in; that, and its folder there.

        `setup`: a person agreed to the set-up command. Raises `FleetError`.
        """
        ...

    async def unasked_setup(self, cwd: Path, branch: str) -> SetupPlan | None:
        """The set-up command that would run in a new worktree for this branch, and about which nobody here is asked
        once it is made; `None`: there is none. Empty `branch`: one that is free.
        """
        ...

    async def discard_worktree(self, worktree: Path, branch: str) -> None:
        """Take that back. Never raises `FleetError`. `branch`: empty: it was there before, and stays."""
        ...

    async def unsaved(self, row: AgentRow) -> list[str]:
        """What would be left lying about in its worktree, a sentence each."""
        ...


class MessageTransport(Protocol):
    """Delivers messages to agents."""

    async def send(self, row: AgentRow, text: str, *, sender: str, defer_if_busy: bool) -> str:
        """Give the agent a message; the message's id. Raises `FleetError`."""
        ...

    async def interrupt(self, row: AgentRow) -> None:
        """Stop what it is doing, as a person would. Raises `FleetError`."""
        ...
