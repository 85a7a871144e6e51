"""Commands about agents in terminals as code calls them, `await hub.call(KillAgent(agent="0002"))`, and their results.

One pair of parameters and result for each word of `agent`; the handlers are in `commands`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol

import msgspec
from pydantic import Field

from gshtui.bus.agent_data import AgentRow, AnswerSource, OpenQuestion, ProgramOption, QuestionChoice
from gshtui.commands.declaration import Mark, Parameters, Returns
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.fleet.core.agent_states import AgentState
from gshtui.fleet.core.ports import RecoveredAgents, RecoveryPlan, RevivedAgent

if TYPE_CHECKING:
    from gshtui.programs.status.status import KnownStatus
    from gshtui.tools.git.setup_record import SetupRecord

FLEET_PARTS = frozenset({"store", "fleet"})
"""The parts of the hub that these commands need."""
SPAWN_SYNONYMS = ("start", "new")
AGENT_GROUP = ShellGroup(
    "Agents: list, start, show, attach, send, wait, kill …",
    """\
Agents: list, start, show, attach, send, wait, interrupt, restart, rename, kill, recover.

Agents outlive the window, and these commands work with or without one. You can write an ID without its leading \
zeros, or use the agent's name.""",
    (("list", "ls"), ("rm", "remove"), ("delete", "remove"), *((word, "spawn") for word in SPAWN_SYNONYMS)),
)


def _shell(*places: str, waiting: str = "Working", own_hub: bool = False, rights: bool = False) -> ShellForm:
    return ShellForm(("agent", *places), parts=FLEET_PARTS, waiting=waiting, own_hub=own_hub, rights=rights)


class _ForAgent(Parameters):
    """Parameters that name one agent."""

    COMMAND: ClassVar[str] = "agent"
    FORMER_NAMES = {"target": "agent"}
    agent: Annotated[str, ShellOption("id", kind="agent")] = Field(description="The agent's ID or name.")


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
    def worktree(self) -> str:
        """Folder of its own git worktree; empty: none."""
        ...

    @property
    def archived(self) -> bool: ...
    @property
    def killed_until(self) -> float:
        """Until when its kill can be undone, in seconds since the epoch; 0: it is not killed."""
        ...


class AgentList(msgspec.Struct, frozen=True):
    """All agents: this hub's, other windows', then those in terminals with children below their parents."""

    agents: list[AgentState]
    elsewhere: int = 0
    """How many live in other folders, where there are none here."""

    @property
    def rows(self) -> list[AgentRow]:
        return [agent.row for agent in self.agents if not agent.is_local]


class AgentReport(msgspec.Struct, frozen=True):
    """An agent and its report or, if it has none, its terminal's content; or only its last answer."""

    agent: AgentState
    report: str
    source: AnswerSource = ""
    """Where an answer comes from."""
    is_answer: bool = False
    setup: SetupRecord | None = None
    """What became of the set-up command of its worktree; `None`: there was none."""


class Attachment(msgspec.Struct, frozen=True):
    """How to see an agent full-screen."""

    row: AgentRow
    argv: list[str]
    """The tmux command."""


class SentMessage(msgspec.Struct, frozen=True):
    """A message on its way."""

    row: AgentRow
    message: str
    """Its id."""
    waits: bool
    """The agent is busy and will get it when it is idle."""
    answer: str | None = None
    """What it said in the turn that handled the message; `None`: nobody waited for it, or it took too long."""
    source: AnswerSource = ""
    """Where the answer comes from."""
    timed_out: float | None = None
    """Seconds after which the wait for the answer ended."""
    piece: str | None = None
    """A piece of the answer, as it came; the last one of a stream has the whole `answer` and no piece."""
    told: bool = False
    """The pieces before this one were the whole answer."""


class AwaitedStatus(msgspec.Struct, frozen=True):
    """An agent after waiting for its status."""

    row: AgentRow
    wanted: tuple[str, ...]
    timed_out: float | None = None
    """Seconds after which the wait timed out; `None`: the agent is idle or has ended."""


class UnsavedWork(msgspec.Struct, frozen=True):
    """What killing an agent would lose, one sentence per item."""

    row: AgentRow
    losses: list[str]


class AnsweredQuestion(msgspec.Struct, frozen=True):
    """An agent's question: as it is, or with the answer that was given to it."""

    row: AgentRow
    question: OpenQuestion
    choice: QuestionChoice | None = None
    """The answer; `None`: none was given."""
    next: OpenQuestion | None = None
    """What it asks after that."""


class RecoveryReport(msgspec.Struct, frozen=True):
    """What became of lost agents or, of a dry run, what would."""

    done: RecoveredAgents = msgspec.field(default_factory=RecoveredAgents)
    plans: list[RecoveryPlan] | None = None
    """`None`: it was no dry run."""


class ExplainedStatus(msgspec.Struct, frozen=True):
    """An agent's status, and what every source of it says."""

    row: AgentRow
    known: KnownStatus | None
    """`None`: it has none but its own events, or does not run."""
    followed: bool = False
    """As it is followed in this process; else by one look of its own."""
    silent: tuple[tuple[str, str], ...] = ()
    """Sources that say nothing, each with the reason."""
    files: tuple[str, ...] = ()
    """What was read for it: its profile, its transcript, its record, its reports, and the sockets asked."""


class ListAgents(Parameters, Returns[AgentList]):
    """List this folder's agents: their states, since when, and what they are doing."""

    COMMAND: ClassVar[str] = "agent"
    WORD: ClassVar[str] = "ls"
    SHELL = ShellForm(parts=FLEET_PARTS, waiting="Looking at the agents")
    everywhere: Annotated[bool, ShellOption("--all")] = Field(
        default=False, description="List the agents of every folder."
    )
    archived: bool = Field(default=False, description="List the archived agents instead.")
    windows: Annotated[bool, Mark.CODE_ONLY] = True
    """Include the agents of other windows, read from their conversations."""


class ShowAgent(_ForAgent, Returns[AgentReport]):
    """Print an agent's report.

    Until it has a report, print what its terminal shows. For an agent of a window, ID can also be its conversation.
    """

    WORD: ClassVar[str] = "show"
    SHELL = _shell(waiting="Looking at the agent")

    answer: bool = Field(default=False, description="Print only what it said last in its last turn.")


class ExplainAgent(_ForAgent, Returns[ExplainedStatus]):
    """Explain an agent's status: what each source says, since when and on which grounds, and which one was taken.

    Also the program's version, and up to which versions the rules about its screen were seen to hold.
    """

    WORD: ClassVar[str] = "explain"
    SHELL = _shell(waiting="Looking at the agent")


class AttachAgent(_ForAgent, Returns[Attachment]):
    """Show an agent full-screen in this terminal.

    Detach with tmux's keys (ctrl+b d). With --json, only print the command that attaches.
    """

    WORD: ClassVar[str] = "attach"
    SHELL = _shell()


class SendToAgent(_ForAgent, Returns[SentMessage]):
    """Send an agent a message. If TEXT is -, read standard input.

    With --wait, print its answer when the turn that handles the message is over, with --stream as it grows; exits with
    124 if the time runs out. Interrupting either leaves the agent alone.
    """

    WORD: ClassVar[str] = "send"
    SHELL = _shell("text", waiting="Waiting for the agent to accept the message")

    text: Annotated[str, Mark.VERBATIM, Mark.PIPED, ShellOption(words=-1, piped=True, file="--message-file")] = Field(
        default="", description="The text to send."
    )
    now: bool = Field(default=False, description="Deliver it even while the agent is busy, instead of when it is idle.")
    wait: bool = Field(default=False, description="Wait for its answer, and print that.")
    stream: bool = Field(
        default=False, description="The same, but print its words as it writes them down. With --json, a line for each."
    )
    timeout: float = Field(
        default=600.0, description="With --wait and --stream: give up after this many seconds.", ge=0, le=1e6
    )


class AnswerAgent(_ForAgent, Returns[AnsweredQuestion]):
    """Answer what an agent asks, or show the question with its choices.

    The answer counts only while the same question is asked, by a program on its screen, and the question is gone \
afterwards; otherwise the command fails and says so. At a terminal you read the question and agree first, unless you \
name it with --question or give --yes. While a window of their folder is open, our own agents and \
programs over ACP are answered there.
    """

    WORD: ClassVar[str] = "answer"
    SHELL = _shell("choice", waiting="Answering", rights=True)
    FORMER_NAMES = {"target": "agent", "text": "choice"}

    choice: Annotated[str, Mark.VERBATIM, Mark.PIPED] = Field(
        default="", description="The number of a choice, or its words. Without it, show the question."
    )
    question: Annotated[str, ShellOption("--question", metavar="ID")] = Field(
        default="", description="Answer only the question with this ID, as shown with --json."
    )
    reason: Annotated[str, ShellOption(absent=True)] = Field(
        default="", description="Why a call is denied: for our own agents, Codex and OpenCode."
    )
    yes: Annotated[bool, ShellOption("--yes")] = Field(
        default=False, description="Also an answer that changes how much its program does unasked."
    )


class AgentOptions(msgspec.Struct, frozen=True):
    """What an agent's program lets a person choose, as it is now."""

    row: AgentRow
    options: tuple[ProgramOption, ...]
    changed: str = ""
    """What was set, as a sentence."""


class SetAgentOption(_ForAgent, Returns[AgentOptions]):
    """Show what an agent's program lets you choose, such as its mode or its model, or choose it.

    Programs over ACP have such options, each with its own values: `agent option 12 mode plan`.
    """

    WORD: ClassVar[str] = "option"
    SHELL = _shell("option", "value")

    option: str = Field(default="", description="The option: mode, model, or another one. Without it, show them all.")
    value: Annotated[str, Mark.VERBATIM] = Field(
        default="", description="Its new value. Without it, show the option's values."
    )


class WaitForAgent(_ForAgent, Returns[AwaitedStatus]):
    """Wait until an agent is idle, needs you or has ended. Exits with 124 if the time runs out.

    A program that seems to rest, without evidence that its turn is over, is `quiet`: that is waited for only if you say
    `--status quiet`.
    """

    WORD: ClassVar[str] = "wait"
    SHELL = _shell(waiting="Waiting for the agent")

    statuses: Annotated[tuple[str, ...], ShellOption("--status", metavar="S")] = Field(
        default=(), description="Wait for this status, or for one of several, separated by commas."
    )
    timeout: float = Field(default=600.0, description="Give up after this many seconds.", ge=0, le=1e6)


class InterruptAgent(_ForAgent, Returns[AgentRow]):
    """Stop what an agent is doing, but keep the agent."""

    WORD: ClassVar[str] = "interrupt"
    SHELL = _shell()


class RestartAgent(_ForAgent, Returns[RevivedAgent]):
    """Restart an agent's program.

    The agent's conversation continues if the program supports that; the result says whether it did.
    """

    WORD: ClassVar[str] = "restart"
    SHELL = _shell(waiting="Restarting the agent", own_hub=True)


class ForkAgent(_ForAgent, Returns[RevivedAgent]):
    """Start a copy of an agent: the same program, which goes on from a copy of its conversation.

    It works in a git worktree of its own, on a new branch at the same commit, with the same uncommitted and new files.
    The original is left as it is.
    """

    WORD: ClassVar[str] = "fork"
    SHELL = ShellForm(
        ("agent",),
        parts=FLEET_PARTS,
        yes="Agree to the configured set-up command in its worktree.",
        waiting="Forking the agent",
        own_hub=True,
    )

    FORMER_NAMES = {"target": "agent", "text": "message"}
    branch: Annotated[str, ShellOption(metavar="BRANCH")] = Field(
        default="", description="Name of its branch; by default the fork's name."
    )
    message: Annotated[str, Mark.VERBATIM, Mark.PIPED, ShellOption("--message -m", metavar="TEXT")] = Field(
        default="", description="What it should do; by default it waits for a prompt."
    )
    name: Annotated[str, ShellOption(metavar="N")] = Field(default="", description="A name for it; made unique.")
    here: bool = Field(default=False, description="Let it work in the original's folder, without a worktree.")
    anew: bool = Field(default=False, description="Start it without the conversation, with the same files.")
    setup: bool = Field(default=False, description="Run the configured set-up command in its worktree, unasked.")
    yes: bool = Field(default=False, description="Agree to the set-up command of its worktree.")


class RenameAgent(_ForAgent, Returns[AgentRow]):
    """Rename an agent."""

    WORD: ClassVar[str] = "rename"
    SHELL = _shell("name")
    FORMER_NAMES = {"target": "agent", "text": "name"}

    name: Annotated[str, Mark.VERBATIM, ShellOption(required=True)] = Field(default="", description="The new name.")


class FindUnsaved(_ForAgent, Returns[UnsavedWork]):
    """Find out what killing the agent now would lose."""

    WORD: ClassVar[str] = "unsaved"


class KillAgent(_ForAgent, Returns[AgentRow]):
    """Kill an agent. In a terminal it first asks, and lists unsaved work.

    Without a terminal it cannot ask, so it refuses to kill an agent with unsaved work (exit code 4). Only a kill in a
    window can be undone, and only for a while.
    """

    WORD: ClassVar[str] = "kill"
    SHELL = ShellForm(
        ("agent",),
        parts=FLEET_PARTS,
        yes="Do not ask, even if work is unsaved.",
        waiting="Killing the agent",
    )

    now: Annotated[bool, ShellOption(fixed=True)] = Field(
        default=False, description="Kill it at once, without a chance to undo."
    )
    yes: bool = Field(default=False, description="Kill it even if work is unsaved.")


class UndoKill(_ForAgent, Returns[AgentRow]):
    """Let a killed agent continue."""

    WORD: ClassVar[str] = "undo"


class RecoverAgents(_ForAgent, Returns[RecoveryReport]):
    """Restore a lost agent with its conversation.

    `all` restores every lost agent of this folder, one at a time: each has to come up before the next one is started,
    and after two that do not the rest are left. With --dry-run nothing is started. Exits with 1 if any agent is, or
    would be, left lost.
    """

    WORD: ClassVar[str] = "recover"
    SHELL = _shell(waiting="Recovering", own_hub=True)

    dry_run: Annotated[bool, ShellOption("--dry-run")] = Field(
        default=False, description="Only say what would become of each."
    )


class MarkAgentRead(_ForAgent, Returns[AgentRow]):
    """Mark an agent's report as read."""

    WORD: ClassVar[str] = "seen"
    SHELL = _shell()


class ArchiveAgent(_ForAgent, Returns[AgentRow]):
    """Put an ended agent away: it leaves the list and is kept, with its conversation, for as long as the record is."""

    WORD: ClassVar[str] = "archive"
    SHELL = _shell()


class UnarchiveAgent(_ForAgent, Returns[AgentRow]):
    """Put an archived agent back into the list. `agent ls --archived` lists them."""

    WORD: ClassVar[str] = "unarchive"
    SHELL = _shell()


class RemoveAgent(_ForAgent, Returns[AgentRow]):
    """Remove an ended agent from the list. Its conversation is kept."""

    WORD: ClassVar[str] = "remove"
    SHELL = _shell()
