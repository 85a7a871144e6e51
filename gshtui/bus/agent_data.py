"""Plain data about agents that outlive a window: rows of the roster, and requests to start one."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

AgentKind = Literal["native", "cli", "acp"]
"""native: one of ours. cli: another program in its terminal. acp: another program that speaks the Agent Client Protocol
with a process of ours, which is what its terminal shows.
"""
Runtime = Literal["local", "tmux"]
GuardMode = Literal["plan", "ask", "edit", "auto", "yolo"]
"""How much an agent may do before a person is asked; strictest first. `guard/modes.py` says what each means."""
Respondent = Literal["person", "policy", "nobody"]
"""Who answers the guard's questions. person: one at a face. policy: `--yes`, so what fits in the sandbox or clearly
stays in the project is allowed, and the rest refused. nobody: whatever would be asked is refused.
"""
EffortChoice = Literal["", "low", "medium", "high"]
"""How hard a model is told to think; empty: its provider decides."""
AnswerSource = Literal["", "report", "transcript", "screen"]
"""Where the text of an answer comes from. Empty: from the agent's own events. report: its program reported it.

transcript: its program's own record of the conversation. screen: what its terminal showed, which may be more or less.
"""
ENDED_STATUSES: tuple[str, ...] = ("done", "failed", "lost")
"""Statuses in which nothing is running. `lost` can be recovered, the other two restarted."""
RESERVED_NAMES = frozenset({"person", "gsh", "all", "you", "parent", "lobby", "main"})
"""Names that mean somebody or something already: no agent and no other person gets one."""
REMOTE = "ssh://"
"""How the tmux server of an agent on another machine begins: `ssh://HOST/NAME`."""
AT_WORK: tuple[str, ...] = ("thinking", "tool", "waiting")
"""Statuses in which an agent is in a turn."""
_STOPS = {"interrupted": "interrupted", "error": "failed"}
"""How turns end that come to nothing, and what people read for that."""
_STATES = {"tool": "working", "waiting": "needs you"}


def state_word(status: str) -> str:
    """What people read for a status."""
    return _STATES.get(status, status)


def remote_socket(host: str, name: str) -> str:
    """How the tmux server of this name on another machine is recorded."""
    return f"{REMOTE}{host}/{name}"


class InboxPrompt(msgspec.Struct, frozen=True, omit_defaults=True):
    """A prompt in an agent's inbox."""

    id: str
    text: str
    attachments: tuple[str, ...] = ()
    source: str = "person"
    mode: GuardMode | Literal[""] = ""
    """The widest mode for its turn; empty: the agent's own."""
    call: str = ""
    """The call in which it is asked; empty: in none."""


class SpawnRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request to start an agent. Empty and 0 mean the default."""

    prompt: str = ""
    name: str = ""
    """A word for people; made unique by the roster."""
    persona: str = ""
    provider: str = ""
    model: str = ""
    tools: tuple[str, ...] = ()
    max_iterations: int = 0
    budget_usd: float = 0.0
    background: bool = False
    """The caller continues at once; the report arrives as a message."""
    worktree: str = ""
    """Branch that gets a git worktree of its own."""
    cli: tuple[str, ...] = ()
    """Argument vector of another program; empty: one of our own agents."""
    acp: tuple[str, ...] = ()
    """Argument vector of a program that speaks the Agent Client Protocol; empty: none."""
    profile: str = ""
    parent: str = ""
    """Id of the agent that asks; empty: a person."""
    cwd: str = ""
    depth: int = 0
    """Number of agents above it: 0 for one that a person started."""
    env: tuple[str, ...] = ()
    """`NAME=VALUE`: variables of its program beside those that it inherits. None is a secret."""
    account: str = ""
    """The account that it works under, whose secrets it is given at each start."""
    group: str = ""
    """The group that it belongs to."""
    fork: str = ""
    """Id of the agent that this one is a copy of: its program, its files and its conversation."""
    conversation: str = ""
    """The original's conversation, of which this one's is a copy."""
    anew: bool = False
    """A fork without the original's conversation."""
    here: bool = False
    """A fork that works in the original's folder, instead of a git worktree of its own."""
    host: str = ""
    """The machine of the configuration to start it on; empty: this one."""
    mode: GuardMode | Literal[""] = ""
    """How much it may do before a person is asked, at most; empty: as its starter or the settings say."""
    paths: tuple[str, ...] = ()
    """The only files and folders that its tools reach; empty: no such limit."""


Meaning = Literal["", "once", "more", "deny", "words", "mode"]
"""What a program's answer does: allows this once, allows more than this, denies, denies with words of the person's, or
changes how much the program does unasked. Empty: its words say nothing that is known."""


LONGEST_CHOICE = 300
"""Characters of a label, and of what is said of it, that are shown; a question with more is partial."""


class QuestionChoice(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of a program's own answers, as it is shown there."""

    key: str
    """The digit that a person presses for it: the same for the same meaning, whatever its program calls it."""
    label: str
    means: Meaning = ""
    types: bool = False
    """Its program wants words for it, which are typed in its terminal."""
    about: str = ""
    """What the program says below its label."""

    @property
    def name(self) -> str:
        """The label without the box that says whether it is chosen."""
        return self.label[len(_BOX) :].lstrip() if self.has_box else self.label

    @property
    def has_box(self) -> bool:
        """Whether it is one of several that can be chosen together."""
        return self.label[:1] + self.label[2 : len(_BOX)] == "[]"


_BOX = "[x]"


class OpenQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a program asks on its screen now."""

    id: str
    """The same as long as the same is told of what is asked; another question has another one."""
    subject: str
    """The question in one line."""
    detail: str = ""
    """What it is about, in lines."""
    choices: tuple[QuestionChoice, ...] = ()
    """Empty where they could not be read exactly: it can be answered only in its terminal."""
    partial: bool = False
    """Its screen does not show all of it."""
    changeless: bool = False
    """It is about a change of files of which its screen shows nothing; it is partial, too."""
    overflows: bool = False
    """It has more choices than are to be had here: its list of them goes on beyond its screen, or beyond the digits."""
    diff: str = ""
    """What would be changed, as a unified diff, where the program tells that."""
    beside: str = ""
    """What the program says besides what it asks: its advice, its advertising."""
    call: str = ""
    """The call of its program's transcript that it is about; empty: it was told by its screen."""
    command: str = ""
    """The whole shell line that would run, where the program or its transcript tells that."""
    warnings: tuple[str, ...] = ()
    """What a person should know before they allow it, as our guard judges it."""
    screen: str = ""
    """The id of what its screen shows of it, where more is told than that: two that begin alike may share it."""

    @property
    def on_screen(self) -> str:
        """The id of what its screen shows of it."""
        return self.screen or self.id

    @property
    def line(self) -> str:
        """What is asked about what, in one line."""
        from gshtui.text.program_words import asked_line  # not before the first letter

        return asked_line(self.subject, self.unsaid, self.diff)

    @property
    def unseen(self) -> str:
        """What of it its screen does not show, as a sentence; empty: nothing that is known."""
        if not self.partial:
            return ""
        return "Its change is not on its screen" if self.changeless else "Its screen does not show all of it"

    @property
    def uncounted(self) -> frozenset[str]:
        """The choices that count only in its terminal, since what they decide is not shown: all but those that deny."""
        return frozenset(one.key for one in self.choices if self.partial and one.means not in ("deny", "words"))

    @property
    def unsaid(self) -> str:
        """What it is about that the question does not say itself."""
        from gshtui.text.program_words import unsaid

        return unsaid(self.subject, self.detail)


def without_choices(question: OpenQuestion) -> OpenQuestion:
    """The same question, to be answered only in its program's terminal."""
    return msgspec.structs.replace(question, choices=())


class ProgramValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value that an option of a program can have. `name` is for people; empty: the value itself."""

    value: str
    name: str = ""


class ProgramOption(msgspec.Struct, frozen=True, omit_defaults=True):
    """A setting of a program's session that the program offers: its mode, its model, and others."""

    id: str
    name: str
    value: str = ""
    values: tuple[ProgramValue, ...] = ()
    category: str = ""
    """`mode`, `model`, `thought_level` or another word of the program's."""
    way: Literal["select", "boolean", "mode", "model"] = "select"
    """How it is set: as one of its options, or by the request for modes or for models."""


class ProgramCommand(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command that a program offers in its session: `/name …` in a prompt to it."""

    name: str
    """Without its slash; some have a blank in it."""
    about: str = ""
    hint: str = ""
    """What to write behind the name; empty: nothing needs to be."""


class ProgramMode(msgspec.Struct, frozen=True, omit_defaults=True):
    """The mode that another vendor's program is in: how much it does unasked."""

    name: str
    """As the program calls it."""
    like: GuardMode | Literal[""] = ""
    """Our mode that allows as much; empty: unknown."""
    approved: bool = False
    """A person let it go there, by an answer to a question of its own."""


class AgentRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One agent of the roster, as it is on disk. `id` is what every event calls it."""

    id: str
    """Four digits or more, counted over the whole data folder: `0012`. A local agent's name otherwise."""
    name: str
    kind: AgentKind = "native"
    runtime: Runtime = "tmux"
    status: str = "starting"
    status_source: str = "spawn"
    """How the status is known: event, hook, process, title, screen, spawn, reconcile."""
    status_at: float = 0.0
    doing: str = ""
    parent: str = ""
    depth: int = 0
    session: str = ""
    """Its conversation in the store."""
    cwd: str = ""
    """Where it works; its worktree, when it has one."""
    place: str = ""
    """`HOST:FOLDER` where the tools of one of our own agents act, if that is another machine; its process is here."""
    home: str = ""
    """Folder of its window."""
    socket: str = ""
    """Its tmux server: a name for `-L`, a path for `-S`, or `ssh://HOST/NAME` on another machine."""
    tmux_session: str = ""
    pane: str = ""
    pid: int = 0
    pid_started: float = 0.0
    """Start time of the process, in the unit of `system.process_identity.start_of`; with `pid` and `pane` it
    identifies the process. 0 on another machine, so that no process of this one is ever taken for it.
    """
    argv: tuple[str, ...] = ()
    profile: str = ""
    persona: str = ""
    provider: str = ""
    model: str = ""
    worktree: str = ""
    """Folder of the git worktree made for it."""
    env: tuple[str, ...] = ()
    """`NAME=VALUE`: variables that it was given."""
    account: str = ""
    """The account that it works under."""
    group: str = ""
    """The group that it belongs to."""
    fork: str = ""
    """The agent that it is a copy of."""
    archived: float = 0.0
    """When it was put away, in epoch seconds: it is in no list, and is kept; 0: it was not."""
    external_id: str = ""
    """The conversation's id in the other program, for resuming it."""
    options: tuple[ProgramOption, ...] = ()
    """What its program lets a person choose for this session (`agent option`)."""
    commands: tuple[ProgramCommand, ...] = ()
    """The commands that its program offers in prompts."""
    background: bool = False
    created: float = 0.0
    ended: float = 0.0
    exit_status: int | None = None
    report: str = ""
    stop: str = ""
    """How its last turn ended, as of `TurnFinished`."""
    reported: bool = False
    """The parent has received the report."""
    parent_session: str = ""
    """The parent's conversation that asked for it; the report goes only there."""
    unread: int = 0
    needs_you: bool = False
    retrying: bool = False
    """Its model did not answer, and is asked again after a while."""
    question: OpenQuestion | None = None
    """What it asks in its terminal; `None` for nothing, or where only its status tells that it waits."""
    tokens: int = 0
    context: int = 0
    """Tokens in its model's window now."""
    window: int = 0
    cost: float | None = None
    killed: bool = False
    killed_at: float = 0.0
    owner: int = 0
    """Process id of the hub that looks after it; 0: none does."""
    failures: int = 0
    """Failed recoveries in a row."""
    version: str = ""
    """The version of another program, as it was started; empty: unknown."""
    version_seen: str = ""
    """The nearest version with which the rules of its profile about its screen were seen to hold, where `version` is
    outside of those; empty: it is one of them."""
    held_to: GuardMode | Literal[""] = ""
    """The mode that another vendor's program was started in, or put into since; empty: it has its own."""
    program_mode: ProgramMode | None = None
    """The mode that it shows to be in; `None`: it has shown none yet."""
    unsent: OpenQuestion | None = None
    """Asked about a prompt that its program was not seen to take; part of `question` while the program asks nothing."""
    held_up: str = ""
    """What keeps the next message from being typed, as a sentence."""
    version_checked: str = ""
    """What a check found here with this version of its program, such as `8 W, 1 P, 1 N`; empty: it was not checked."""
    held_by: str = ""
    """Whose choice `held_to` is: `person`, or the file of the program's own settings, which are at least as strict as
    what it would be started in; empty: that of `[agent] mode`, or of what started it."""

    @property
    def host(self) -> str:
        """The machine of the configuration that it is on; empty: this one."""
        return self.socket.removeprefix(REMOTE).partition("/")[0] if self.socket.startswith(REMOTE) else ""

    @property
    def machine(self) -> str:
        """The machine of the configuration that it works on, wherever its process is; empty: this one."""
        return self.host or self.place.partition(":")[0]

    @property
    def finished(self) -> bool:
        """It rests, and nobody has read what it came to."""
        return self.status == "idle" and self.unread > 0 and not self.killed and self.stop not in _STOPS

    @property
    def state(self) -> str:
        """What people read for its status, the same everywhere."""
        if not self.ended and (self.killed or self.needs_you):
            return "killed" if self.killed else "needs you"
        if self.finished:
            return "done"
        if self.status == "idle" and self.stop in _STOPS:
            return _STOPS[self.stop]
        return "retrying" if self.retrying and self.status == "thinking" else state_word(self.status)

    @property
    def state_words(self) -> str:
        """That, and what else a list says of how it is."""
        if self.held_up and self.state != "needs you":
            return "prompt not sent"
        if self.status == "failed" and self.exit_status and self.kind != "native":
            return f"{self.state} · exit {self.exit_status}"
        news = self.unread and not self.finished and self.state not in ("needs you", *_STOPS.values())
        return f"{self.state} · {self.unread} new" if news else self.state

    @property
    def about(self) -> str:
        """What it does, or what its person is asked although it rests."""
        asked = self.question if self.needs_you else None
        if asked is None:  # why it is only thought to rest is nothing that it does
            return "" if self.status == "idle" and self.status_source.endswith("?") else self.doing
        return asked.line if self.unsent is None else asked.subject

    @property
    def said(self) -> str:
        """The line of its report that says most: what was wrong where it failed, else the last one."""
        from gshtui.text.markdown_table import unmarked_line
        from gshtui.text.program_words import last_line, last_lines  # not before the first letter

        failed = self.status in ("failed", "lost")
        return last_lines(self.report, 1) if failed else unmarked_line(last_line(self.report))

    @property
    def screen_is_guessed(self) -> bool:
        """Only its screen says what it does, and the rules about that were never seen to hold for its version."""
        return bool(self.version_seen) and self.status_source.removesuffix("?") not in (
            "protocol",
            "record",
            "listing",
            "hook",
        )

    def as_shown(self, mode: ProgramMode) -> ProgramMode:
        """The mode that its program shows now: approved where it was so already."""
        approved = msgspec.structs.replace(mode, approved=True)
        return approved if self.program_mode == approved else mode

    @property
    def exceeds(self) -> bool:
        """Its program shows a mode in which it does more unasked than it was started to do, or a person approved."""
        modes, shown = get_args(GuardMode), self.program_mode
        now = shown.like if shown is not None and not shown.approved else ""
        return bool(now and self.held_to) and modes.index(now) > modes.index(self.held_to)

    @property
    def mode_words(self) -> str:
        """The mode of another vendor's program, in its own words; `!` where it does more unasked than it should."""
        if self.program_mode is None:
            return f"started in {self.held_to} mode" if self.held_to else ""
        name, like = self.program_mode.name, self.program_mode.like
        own = self.held_to if not like else ""
        if self.exceeds:
            return f"{name}, not {self.held_to}!"
        by = "approved" if self.program_mode.approved else "by its own settings" if "/" in self.held_by else ""
        return ", ".join(filter(None, (name, own, by)))

    @property
    def speaks_events(self) -> bool:
        """Its process is ours and tells what it does by events: one of our agents, or a program over ACP."""
        return self.kind != "cli"
