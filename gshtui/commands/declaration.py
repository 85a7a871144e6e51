"""How a command is declared, once: name, summary, typed parameters and result, access, effect, question, rendering.

From this one declaration come the command language, slash completion, the palette, the model's tool schema,
`gsh-tui NAME …`, calls from code, the questions before it acts and the reference. People get the rendering, agents and
scripts the data, code the typed result.
"""

from __future__ import annotations

import asyncio
import enum
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, Literal, TypeVar, cast

import msgspec
from msgspec.structs import replace
from pydantic import BaseModel, BeforeValidator, ConfigDict, GetCoreSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic_core.core_schema import CoreSchema, str_schema

from gshtui.bus.context_data import Receipt
from gshtui.bus.event import Event
from gshtui.commands.line_syntax import LinePosition
from gshtui.commands.line_values import Variables
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.system.expected_error import ExpectedError
from gshtui.system.json_types import is_object
from gshtui.text.markdown_table import fenced
from gshtui.text.truncation import Gap


class Access(enum.Enum):
    """Who may run it: people can do some things that agents cannot."""

    SHARED = "shared"
    AGENT_PRIMARY = "agent-primary"
    """Meant for agents; a person may run it too."""
    HUMAN_ONLY = "human-only"


class Effect(enum.Enum):
    """The strongest thing that a run can do; decides whether it needs approval."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    NETWORK = "network"


Does = Literal["", "read", "list", "go", "search", "write", "edit", "make", "remove", "run", "recall", "show", "plan"]
"""What a tool does: with files from `read` to `remove`; `recall` finds earlier things, `show` has one again, `plan` is
for itself."""


class Parameters(BaseModel):
    """Base of every command's parameters: it refuses unknown names, and accepts text for numbers and booleans."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    SHELL: ClassVar[ShellForm | ShellGroup | None] = None
    """Its form as `gsh-tui NAME …`; `None`: it has none, and `gsh-tui run` runs it."""
    BY_FACE: ClassVar[ShellForm | None] = None
    """How the hub does it for a process whose code calls it by values."""
    FORMER_NAMES: ClassVar[Mapping[str, str]] = {}
    """Earlier names of parameters, each with the present one; lines and scripts may still use them."""

    @classmethod
    def renamed(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """These values by the present names of their parameters."""
        return {
            cls.FORMER_NAMES.get(name, name) if name not in cls.model_fields else name: values[name] for name in values
        }

    @model_validator(mode="before")
    @classmethod
    def _renamed(cls, data: object) -> object:
        return cls.renamed(data) if cls.FORMER_NAMES and is_object(data) else data


def option_of(field: FieldInfo) -> ShellOption:
    return next((one for one in field.metadata if isinstance(one, ShellOption)), ShellOption())


class Mark(enum.Enum):
    """What the command language does with a parameter: `text: Annotated[str, Mark.VERBATIM, Mark.PIPED]`."""

    VERBATIM = "verbatim"
    """In the last position, it takes the rest of the line as it stands: prose, code, a shell command."""
    PIPED = "piped"
    """It takes the result of the command before a `|`; a text that is given too stands in front of it."""
    CODE_ONLY = "code-only"
    """Only code gives it, such as what a person has seen and agreed to: no line, no shell form and no help has it."""


def is_marked(field: FieldInfo, mark: Mark) -> bool:
    return any(one is mark for one in field.metadata)


def typed_fields(parameters: type[Parameters]) -> dict[str, FieldInfo]:
    """The parameters that people can give."""
    fields = parameters.model_fields.items()
    return {name: field for name, field in fields if not is_marked(field, Mark.CODE_ONLY)}


class Offered(str):
    """A value that completion offers, with what it stands for."""

    about: str

    def __new__(cls, value: str, about: str) -> Offered:
        offered = super().__new__(cls, value)
        offered.about = about
        return offered


class Word(str):
    """Text that is one word of a line, even in the last position, where other text takes several."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return str_schema()


def synonyms(words: Mapping[str, str]) -> BeforeValidator:
    """For an `action`: other words that people type for one, such as `list` for `ls`."""
    return BeforeValidator(lambda given: words.get(given, given) if isinstance(given, str) else given)


P = TypeVar("P", bound=Parameters)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
A = TypeVar("A", bound=Parameters)
Row = TypeVar("Row")


class Returns(Generic[R_co]):
    """Mixed into the parameters that code calls a command with, `hub.call(KillAgent(agent="12"))`. Gives `R`."""

    COMMAND: ClassVar[str]
    """The command's name."""
    WORD: ClassVar[str] = ""
    """In a family such as `agent`, the word that selects this action."""
    PICKS: ClassVar[bool] = False
    """Whether the bare word opens the list of its command in a window, where one is picked."""

    def words(self) -> str:
        """The name of a run for which nobody typed a line: command, word and first value."""
        first = next(iter(vars(self).values()), "")
        return " ".join(filter(None, (self.COMMAND, self.WORD, str(first or ""))))


class CommandError(ExpectedError):
    """The command could not do it. `message` is one clear sentence, `hint` says what to do.

    `shown`: the person has already seen this where the command ran.
    """

    shown = False

    def __init__(self, message: str, *, hint: str = "", data: object = None) -> None:
        super().__init__(message, hint)
        self.data = data
        self.position: LinePosition | None = None
        """Where in the line it is, if a line was wrong."""

    @property
    def drawn(self) -> str:
        """The error with its place and a picture of it, in Markdown; what it names in a short line needs neither."""
        if self.position is None or self.position.short or (self.position.line, self.position.column) == (1, 1):
            return str(self)
        return f"{self.message} {self.hint}".rstrip() + f"\n\nAt {self.position}:\n\n```\n{self.position.picture}\n```"


class UsageError(CommandError):
    """The line does not use a command correctly: unknown name, wrong or missing parameter."""


class Incomplete(UsageError):
    """It lacks a value that it needs. A window asks for it, with those that there are."""


class UnknownCommand(UsageError):
    """There is no command of this name; its package may not have started."""


class NotAllowed(UsageError):
    """Whoever wants to run it may not, whatever they write."""


class Unconfirmed(CommandError):
    """The command does this only after a person agrees to its cost: ask, then run what the question contains."""


class Caller(msgspec.Struct, frozen=True):
    """On whose behalf a command runs."""

    name: str = "person"
    is_agent: bool = False
    is_guest: bool = False
    """A person from elsewhere who may only talk: `Command.guests`."""


def _silent(_: str) -> None:
    """The default for output as it arrives: nobody watches."""


class Invocation(msgspec.Struct, frozen=True):
    """What a handler knows about the run it is part of."""

    caller: Caller
    cwd: Path
    """Folder that relative paths start from."""
    project: Path
    """Root of the agent's own files: reads inside it need no question."""
    within: Path | None = None
    """The folder that the run's path must really be in; `None`: the path alone decides."""
    session: str = ""
    agent: str = ""
    """The agent of the face: in a window, the one of its chat."""
    front: str = ""
    """The agent of the tab in which a person types, where that is another one."""
    call: str = ""
    """Id of the tool call, when an agent runs it."""
    output: Callable[[str], None] = _silent
    """Receives output as it arrives, already sanitised."""
    cancelled: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    sandboxed: bool = False
    """It was allowed because it runs in the sandbox, so it must."""
    hosts: tuple[str, ...] = ()
    """Hosts that a person lets the conversation's commands in the sandbox reach, because of this run."""
    leaves: bool = False
    """The caller leaves with the answer: what is sent is on its way by then, as far as it can be."""
    variables: Variables = msgspec.field(default_factory=Variables)
    """The variables of the conversation or face, for the command language."""
    run_stage: RunStage | None = None
    """Runs a command of a line as a call of its own, past the same questions; `None`: nothing asks here."""
    given: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """While a line is completed: its parameters so far, by name."""
    output_bytes: int | None = None
    """Most bytes of an answer to the caller; 0: no limit, `None`: the settings decide."""

    @property
    def addressed(self) -> str:
        """The agent that the command applies to if it names none."""
        return self.front or self.agent

    def limit(self, setting: int) -> int:
        """Most bytes of its answer: the caller's limit, else the configured one. 0: no limit."""
        return setting if self.output_bytes is None else self.output_bytes


class Question(msgspec.Struct, frozen=True):
    """The question to a person before a command acts, made from its own dry run."""

    agreed: Returns[object]
    """What to run after a yes."""
    title: str = ""
    text: str = ""
    yes: str = "Yes"
    """The button that agrees."""
    losses: tuple[str, ...] = ()
    """What would be lost, a sentence each."""
    note: str = ""
    """What makes it less final, such as how long it can be undone."""
    doing: str = ""
    """Shown after the person agrees, if the command takes a while."""
    quoted: str = ""
    """Text to read before answering, line by line, such as a file."""
    otherwise: Returns[object] | None = None
    """What to run after a no; `None`: nothing."""


class AttachView(msgspec.Struct, frozen=True):
    """A window gives its whole screen to the terminal of this agent."""

    agent: str


class ToastView(msgspec.Struct, frozen=True):
    """A window shows this for a moment instead of the outcome's text."""

    text: str
    seconds: float | None = None
    """How long to show it; `None`: the usual time."""
    draft: str = ""
    """Text for the input, if the command was typed there."""


class ProgramView(msgspec.Struct, frozen=True):
    """A face runs this shell line where the person can type: in a window's shared shell, or on its own terminal."""

    command: str
    needs_screen: bool = False
    """It draws on the whole screen, so it is nothing without a terminal."""


class TalkView(msgspec.Struct, frozen=True):
    """A face lets the person talk with this agent: a window in its tab, a terminal line by line."""

    agent: str
    """Its id."""
    name: str = ""


class CutPreview(msgspec.Struct, frozen=True):
    """A window shows what a cut would do, item by item, and offers to make it."""

    receipt: Receipt
    note: str = ""


View = AttachView | CutPreview | ProgramView | TalkView | ToastView


class SandboxUse(msgspec.Struct, frozen=True):
    """What became of a run in the sandbox.

    Attributes:
        refused: what was refused to it, each as a sentence without its full stop.
        hosts: those that would have to be granted to it, if nothing else was refused.
    """

    refused: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


class Drawing(msgspec.Struct, frozen=True):
    """A picture that a command has drawn, checked: see `text/png_picture.py`."""

    title: str
    width: int
    """Pixels."""
    height: int
    png: bytes
    columns: int = 0
    """Of the small copy in `colours`."""
    colours: bytes = b""
    """A small copy: three bytes a pixel, row by row; empty: there is none."""


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of a command.

    `data` is for scripts (plain JSON data), `text` for people and models. `full` is exactly what was printed, if `text`
    differs from it: it goes to the store, and cuts for other limits are made from it. `diff` shows people the change.

    `intent` is what a window does instead of showing `text`; without a window, `text` says how to do it. `shown`: the
    person saw the output while it ran.
    """

    data: Any = None
    text: str = ""
    is_error: bool = False
    full: str = ""
    notes: str = ""
    """The last lines of `text`, which are not in `full`: how it ended. No cut removes them."""
    gap: Gap | None = None
    """The part that `full` itself lacks because it was too much to keep."""
    cut: bool = False
    """`text` leaves out some of `full`."""
    diff: str = ""
    bytes: int = 0
    """Size of the whole output in bytes; 0: that of `text`."""
    timed_out: bool = False
    is_denied: bool = False
    """A part of it needed an approval that nobody gave."""
    intent: Event | None = None
    shown: bool = False
    view: View | None = None
    """How a window shows it; `None`: its text."""
    plain: str = ""
    """The text that its shell form prints, if it differs; the same as `text`: others' words, shown as they are."""
    fits: bool = False
    """The lines of `plain` end at a terminal's edge: what is behind it can be left out."""
    aloud: str = ""
    """The text that is read aloud, if it differs: without a drawing, and with names for its columns."""
    aside: str = ""
    """The text for a person on standard error, beside `plain` or when there is nothing to print."""
    sandbox: SandboxUse | None = None
    """It ran in the sandbox; `None`: it did not."""
    is_piece: bool = False
    """`plain` is a piece of a longer text, printed without a line break behind it."""
    drawings: tuple[Drawing, ...] = ()
    """The pictures that a window shows below the text."""
    parts: tuple[Outcome, ...] = ()
    """The outcomes of a line with several commands, which a face without Markdown shows one after another."""
    is_value: bool = False
    """`text` is no words of ours: every face shows exactly it."""

    @property
    def is_ours(self) -> bool:
        """Whether `text` is ours: a command that it names is written as it is typed where it is read."""
        return bool(self.text) and self.text != self.plain and not self.is_value

    @property
    def drawn(self) -> str:
        """The text for a face that draws Markdown."""
        if self.parts:
            return "\n".join(part.drawn for part in self.parts if part.text and not part.shown)
        return fenced(self.text) if self.is_value and self.text else self.text


def as_data(outcome: Outcome) -> Outcome:
    """The outcome as an agent reads what is about things: its data in short, without what is empty."""
    return Outcome(
        outcome.data,
        short_json(_lean(outcome.data)),
        outcome.is_error,
        timed_out=outcome.timed_out,
        is_denied=outcome.is_denied,
    )


def short_json(data: object) -> str:
    """Plain data without a blank."""
    return json.dumps(data, ensure_ascii=False, default=str, separators=(",", ":"))


def _lean(data: object) -> object:
    match data:
        case dict():
            lean = {name: _lean(value) for name, value in cast("dict[str, object]", data).items()}
            return {name: one for name, one in lean.items() if one not in ("", None, [], {}) and one is not False}
        case list() | tuple():
            return [_lean(value) for value in cast("list[object]", data)]
        case _:
            return data


class JudgedPart(msgspec.Struct, frozen=True):
    """One simple command of a shell line."""

    text: str
    verdict: Literal["allow", "ask", "deny"]
    rule: str
    why: str = ""


class RuleScope(msgspec.Struct, frozen=True):
    """What the rule names that `always` would save, besides the tool: see `guard/rules/rule_book.py`."""

    program: str = ""
    flags: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    exactly: str = ""
    """Used where the program or the paths would not cover this very call."""


class Assessment(msgspec.Struct, frozen=True):
    """What one particular run would do, determined without doing it; the guard decides from this.

    `inside`: everything that it touches is inside the project. `key` identifies this exact run, for `allow this exact
    call for the session`. `pattern` is what `always` would permit, in words; empty if that must not be offered.
    """

    effect: Effect
    subject: str
    inside: bool = True
    detail: str = ""
    diff: str = ""
    key: str = ""
    pattern: str = ""
    scope: RuleScope | None = None
    """The rule that `always` would save names this; `None`: exactly `pattern`."""
    warnings: tuple[str, ...] = ()
    why: str = ""
    """Why it is not `inside`, as the end of a sentence; empty: it reaches outside the project."""
    changes: tuple[str, ...] | None = None
    """All files that it changes, if it changes no others; `None`: it may change any."""
    sandbox: bool = False
    """It can run in the sandbox, which keeps it inside. The tool says so only where the sandbox holds."""
    reach: str = ""
    """What it could reach there, in a few words."""
    parts: tuple[JudgedPart, ...] = ()
    """The simple commands of a shell line, each with its verdict; empty for anything else."""
    reads: bool = False
    """Though it executes, it only reads the project: known programs, with flags and operands that are."""
    only_person: bool = False
    """Only a person's answer counts, in every mode."""
    every: tuple[Assessment, ...] = ()
    """The same run, judged for each thing that it touches, where there are several: what rules say of each counts."""
    line: str = ""
    """The shell line that it takes the place of: a rule that asks about or denies that one holds for it, too."""
    machine: str = ""
    """The other machine of the configuration that it acts on, where no rule for this one allows anything."""
    root: str = ""
    """The project's root there."""
    drops: bool = False
    """It drops something from what the calling agent itself is sent: free, but not where an agent only reads."""
    below: str = ""
    """It searches the folder that `key` begins with, for files that match this; empty: it is no search."""


RunStage = Callable[["Command[Any]", Any, Invocation], Awaitable[Outcome]]
"""(command, validated parameters, invocation) → outcome. Raises `CommandError`."""
Handler = Callable[[Invocation, P], Awaitable[Outcome]]
"""Raises any `ExpectedError` as it comes: who runs a command makes it a `CommandError`."""
Assess = Callable[[Invocation, P], Awaitable[Assessment]]
Complete = Callable[[Invocation, str, str], Awaitable[Sequence[str]]]
"""(invocation, parameter, typed so far) → values that fit; `Offered` says what one stands for."""


class Where(msgspec.Struct, Generic[Row, A], frozen=True):
    """A pane of the window that offers an action: in a row's menu, and on a key while the row is selected."""

    key: str
    """Its row of the key table, which has keys, label and help: `agents.kill`."""
    of: Callable[[Row], A | None]
    """The parameters for a row of the pane; `None`: it does not apply to that row."""


class Action(msgspec.Struct, Generic[A, R], frozen=True):
    """One thing that a command does, with parameters and a result of its own. Code calls it by its parameters' type.

    A command of one word has one; a family such as `agent` has one for each word, and a line becomes one of them.
    """

    parameters: type[A]
    """Also `Returns[R]`: registration checks that it is `Returns`, a test that it says what `run` does."""
    run: Callable[[Invocation, A], Awaitable[R]]
    render: Callable[[Invocation, R], Outcome]
    asks: Callable[[Invocation, A], Awaitable[Question | None]] | None = None
    """Makes the question to ask before it acts; `None`: these parameters need none."""
    shows: Callable[[Invocation, R], Awaitable[View | None]] | None = None
    access: Access = Access.SHARED
    effect: Effect = Effect.READ
    where: tuple[Where[Any, A], ...] = ()
    """The panes that offer it, each with its key."""
    streams: Callable[[Invocation, A], AsyncIterator[R] | None] | None = None
    """Yields its result piece by piece until the caller stops; `None`: these parameters give the whole at once."""
    answers: Callable[[Invocation, object], object] | None = None
    """Answers one JSON value with another, at once, so that scripts can ask many times over standard input."""
    positions: tuple[str, ...] | None = None
    """Positional parameters of a word of a group; `None`: those of its shell form, or the required ones."""

    async def handle(self, invocation: Invocation, parameters: A) -> Outcome:
        """Run and render. Raises as `run` does."""
        result = await self.run(invocation, parameters)
        outcome = self.render(invocation, result)
        if self.shows is None or invocation.caller.is_agent:
            return outcome
        return replace(outcome, view=await self.shows(invocation, result))


AnyAction = Action[Any, Any]


class Command(msgspec.Struct, Generic[P], frozen=True):
    """One named operation. Declared in a package's `commands.py`, registered by the hub."""

    name: str
    summary: str
    """One line, for menus and help."""
    parameters: type[P]
    handler: Handler[P]
    access: Access = Access.SHARED
    guests: bool = False
    """People from elsewhere who may only talk may run it, too; its handler sees to what they reach."""
    effect: Effect = Effect.READ
    positions: tuple[str, ...] = ()
    """Positional parameters, in order; the last one takes several words if it is text, and see `Mark.VERBATIM`."""
    description: str = ""
    """For models and the reference, where `summary` is not enough."""
    details: str = ""
    """More of it, for the reference and `find_tool`: no request of a model has it."""
    aliases: tuple[str, ...] = ()
    elsewhere: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """First words of a line that are another command's: `agent spawn …` is `spawn …`."""
    instead: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    """Parameters that make a line or call another command's: `write to=NAME message=…` is `say to=NAME message=…`."""
    family: str = ""
    """Heading in help and palette; empty: the name itself."""
    tool: bool = False
    """Offered to agents as a tool (where access allows)."""
    gives_data: bool = False
    """Agents get its data in place of its text: it is about things, such as a list of calls, and no text itself."""
    does: Does = ""
    """What it does, in a word; not for plugins. Rules, cuts and faces go by it (`DOES` in `known_tools.py`)."""
    acts: bool = False
    """It acts where the agent works: for an agent on another machine, there. Not for plugins, whose code is here."""
    always_offered: bool = False
    """Described in every request; other tools are described once an agent has found or called them."""
    assess: Assess[P] | None = None
    """Determines what a run would do; without it, the declared effect and the arguments count."""
    complete: Complete | None = None
    actions: tuple[AnyAction, ...] = ()
    """The actions that code can call, and about which a window asks."""
    opens: str = ""
    """The list that the bare name opens in a window: `models`, `sessions` …"""
    words: Mapping[str, Command[Any]] = msgspec.field(default_factory=dict[str, "Command[Any]"])
    """In a group such as `agent`, the command of each second word, and of its synonyms: see `commands/group.py`."""
    bare: str = ""
    """The command of a group that its name alone means, where it is not the one that any other line means."""
    shell: ShellGroup | None = None
    """A group's form as `gsh-tui NAME …`."""

    @property
    def first_word(self) -> str:
        """What rules call it: in a group, the group's name."""
        return self.name.partition(" ")[0]
