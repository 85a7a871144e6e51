"""Agents and their turns: requests, progress and results."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import msgspec

from gshtui.bus.agent_data import AnswerSource, EffortChoice, GuardMode, OpenQuestion, ProgramCommand, ProgramOption
from gshtui.bus.event import Event
from gshtui.bus.messages import Message, Picture, ResultStatus, Usage

Status = Literal["starting", "thinking", "tool", "waiting", "idle", "quiet", "done", "failed", "lost"]
"""`quiet`: a program of another vendor that seems to rest, without evidence that its turn is over."""


class PromptBegun(Event, frozen=True, kw_only=True):
    """Someone has begun to write a prompt for an agent, so what its answer needs can be loaded meanwhile."""

    agent: str


class PromptSubmitted(Event, frozen=True, kw_only=True):
    """Intent: a prompt for an agent's inbox, queued while the agent is working."""

    prompt: str
    """Id of the prompt; becomes the id of its user message."""
    agent: str
    text: str
    attachments: tuple[str, ...] = ()
    """Paths of images and documents to send along."""
    source: str = "person"
    mode: GuardMode | Literal[""] = ""
    """The widest mode for its turn, if another agent asks for it; empty: the agent's own."""
    call: str = ""
    """The call in which it is asked; empty: in none."""


class PromptQueued(Event, frozen=True, kw_only=True):
    """The prompt waits, and the record has it. Published again when `held` changes, or its conversation is reopened."""

    prompt: str
    agent: str
    text: str
    position: int = 0
    source: str = "person"
    held: bool = False
    """It waits for a person to say that it may be sent; otherwise for the turn in progress."""


class PromptEditRequested(Event, frozen=True, kw_only=True):
    """Intent: replace the text of a queued prompt; an empty text withdraws it."""

    prompt: str
    agent: str
    text: str = ""


class QueueReleaseRequested(Event, frozen=True, kw_only=True):
    """Intent: send the prompts that are held, in their order; with `prompt` that one alone."""

    agent: str
    prompt: str = ""


class PromptEdited(Event, frozen=True, kw_only=True):
    """The text of a queued prompt has changed."""

    prompt: str
    agent: str
    text: str


class PromptWithdrawn(Event, frozen=True, kw_only=True):
    """A waiting prompt will not be sent."""

    prompt: str
    agent: str
    text: str = ""
    why: str = ""
    """Why the agent did not take it; empty: somebody withdrew it."""
    source: str = "person"


class InterruptRequested(Event, frozen=True, kw_only=True):
    """Intent: stop the turn in progress; the answer so far is kept."""

    agent: str


class ModelChangeRequested(Event, frozen=True, kw_only=True):
    """Intent: use another model, perhaps of another provider, or another effort, from the next iteration."""

    agent: str
    model: str
    """Empty, with an empty provider: the same one."""
    provider: str = ""
    effort: EffortChoice | None = None
    """How hard it should think; empty: as its provider decides; `None`: as before."""


class ModelChanged(Event, frozen=True, kw_only=True):
    """An agent uses this model from the next iteration."""

    agent: str
    provider: str
    model: str
    window: int = 0
    """The model's context window, tokens; 0 when unknown."""
    label: str = ""
    """What to show a person, e.g. `Claude Sonnet 4.5` or `offline (no model)`."""
    effort: EffortChoice = ""
    """How hard it is told to think; empty: its provider decides."""


class AgentAdded(Event, frozen=True, kw_only=True):
    """An agent joined the roster."""

    agent: str
    name: str
    kind: str = "native"
    runtime: str = "local"
    session: str = ""
    parent: str = ""
    cwd: str = ""


class AgentStatusChanged(Event, frozen=True, kw_only=True):
    """What an agent is doing now, and how that is known."""

    agent: str
    status: Status
    source: str = "event"
    doing: str = ""
    question: OpenQuestion | None = None
    """What its program asks, as its screen shows it."""

    def merge_key(self) -> Hashable | None:
        return ("AgentStatusChanged", self.agent)


class SourcesDisagreed(Event, frozen=True, kw_only=True):
    """Two sources of a program's status have parted for longer than a moment. It is only written to the log."""

    agent: str
    text: str


class QuestionAnswered(Event, frozen=True, kw_only=True):
    """Intent: a person chose one of a program's own answers. No socket of a hub accepts it."""

    agent: str
    question: str
    """Id of the `OpenQuestion` that the person saw."""
    choice: str
    """Key of one of its choices."""


class ProgramOptionRequested(Event, frozen=True, kw_only=True):
    """Intent: set an option of a program's session, such as its mode or its model. No socket of a hub accepts it."""

    agent: str
    option: str
    value: str


class ProgramSessionChanged(Event, frozen=True, kw_only=True):
    """A program over the Agent Client Protocol has opened its session, or its options have changed."""

    agent: str
    program: str
    version: str = ""
    external_id: str = ""
    """The session's id in the program."""
    options: tuple[ProgramOption, ...] = ()
    commands: tuple[ProgramCommand, ...] = ()


class TurnStarted(Event, frozen=True, kw_only=True):
    """An agent took a prompt from its inbox. Its user message is recorded."""

    agent: str
    session: str
    turn: str
    prompt: str
    text: str = ""


class IterationStarted(Event, frozen=True, kw_only=True):
    """One model request begins."""

    agent: str
    session: str
    turn: str
    iteration: int
    message: str
    """Id of the message that will hold the answer."""


class SectionSize(msgspec.Struct, frozen=True):
    """One section of an assembly: its name and estimated tokens."""

    name: str
    tokens: int


class ContextAssembled(Event, frozen=True, kw_only=True):
    """What the iteration sends, by section, in order."""

    agent: str
    session: str
    turn: str
    iteration: int
    sections: tuple[SectionSize, ...] = ()
    tokens: int = 0
    """Estimate: bytes / 4, plus 4 per message."""
    expected: int = 0
    """The estimate as the provider would count it; 0: unknown."""
    window: int = 0
    trigger: int = 0
    """Tokens at which a compaction starts; 0: unknown."""
    id: str = ""
    """`Iteration.id`, by which the request can be read."""

    @property
    def size(self) -> int:
        """What is shown as the tokens of this context until the provider has counted them."""
        return self.expected or self.tokens


class TextDelta(Event, frozen=True, kw_only=True):
    """A piece of an answer."""

    agent: str
    session: str
    message: str
    text: str

    def merge_key(self) -> Hashable | None:
        return ("TextDelta", self.message)

    def merged_with(self, newer: Event) -> Event:
        assert isinstance(newer, TextDelta)
        return TextDelta(
            at=self.at, agent=self.agent, session=self.session, message=self.message, text=self.text + newer.text
        )


class ThinkingDelta(Event, frozen=True, kw_only=True):
    """A piece of a model's reasoning."""

    agent: str
    session: str
    message: str
    text: str

    def merge_key(self) -> Hashable | None:
        return ("ThinkingDelta", self.message)

    def merged_with(self, newer: Event) -> Event:
        assert isinstance(newer, ThinkingDelta)
        return ThinkingDelta(
            at=self.at, agent=self.agent, session=self.session, message=self.message, text=self.text + newer.text
        )


class ToolStarted(Event, frozen=True, kw_only=True):
    """A tool call arrived complete; it may still need approval."""

    agent: str
    session: str
    message: str
    call: str
    tool: str
    arguments: dict[str, Any] = {}
    subject: str = ""
    """The argument to show beside the name: a path, a command."""
    cwd: str = ""
    """Folder that the call's paths are relative to, if given: that of the agent's worktree."""


class ToolOutput(Event, frozen=True, kw_only=True):
    """More output of a running tool, sanitised."""

    agent: str
    session: str
    call: str
    text: str

    def merge_key(self) -> Hashable | None:
        return ("ToolOutput", self.call)

    def merged_with(self, newer: Event) -> Event:
        assert isinstance(newer, ToolOutput)
        kept = (self.text + newer.text)[-8_000:]  # a tail to display; the store gets everything
        return msgspec.structs.replace(self, text=kept)


class ToolFinished(Event, frozen=True, kw_only=True):
    """The one result of a tool call."""

    agent: str
    session: str
    call: str
    tool: str
    status: ResultStatus
    content: str = ""
    duration: float = 0.0
    bytes: int = 0
    output: str = ""
    diff: str = ""
    sandboxed: bool = False
    """It ran in the sandbox."""
    pictures: tuple[Picture, ...] = ()
    reads: bool = False
    """The guard judged that the command only reads the project."""


class MessageAppended(Event, frozen=True, kw_only=True):
    """A message is in the conversation's log, and on disk."""

    agent: str
    session: str
    message: Message


class ProviderRetried(Event, frozen=True, kw_only=True):
    """A provider could not answer; the request is sent again after `wait` seconds."""

    agent: str
    provider: str
    attempt: int
    wait: float
    why: str
    most: int = 0
    """Attempts after which it is given up; 0: unknown."""


class UsageReported(Event, frozen=True, kw_only=True):
    """What one model request used, as its provider counted it."""

    agent: str
    session: str
    turn: str
    iteration: int
    """0: a question beside the conversation, whose context it says nothing about."""
    provider: str
    model: str
    usage: Usage
    cost: float | None = None
    """US dollars at the catalog's prices; `None` if the price is unknown."""


class TurnFinished(Event, frozen=True, kw_only=True):
    """The turn is over, and all its messages are on disk."""

    agent: str
    session: str
    turn: str
    stop: str
    text: str = ""
    source: AnswerSource = ""
    usage: Usage = Usage()
    cost: float | None = None
    error: str = ""
    error_kind: str = ""
    """`ProviderError.kind` if a provider failed."""
    hint: str = ""
    duration: float = 0.0
    """Seconds from its prompt to its end."""
    waited: float = 0.0
    """Those of them in which a question about one of its calls waited."""

    @property
    def worked(self) -> float:
        return max(0.0, self.duration - self.waited)
