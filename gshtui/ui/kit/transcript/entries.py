"""What a conversation shows, as plain data: prompts, answers, thoughts, tool calls, notices, each with an id.

Owns the vocabulary between the conversation's reducer and the transcript; refuses to know how anything looks. Text in
here is as it came: it is sanitised where blocks are made of it. Made by `conversation_state.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from gshtui.bus.messages import ResultStatus

ToolStatus = Literal["asked", "running"] | ResultStatus
"""`asked`: the model wants it, it has not begun."""


@dataclass(frozen=True, slots=True)
class PromptEntry:
    """What a person said."""

    id: str
    text: str
    attachments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerEntry:
    """What a model said, as Markdown. `live`: more will come by `Stream`."""

    id: str
    text: str
    live: bool = False


@dataclass(frozen=True, slots=True)
class ThoughtEntry:
    """A model's reasoning; folded until it is opened."""

    id: str
    text: str
    live: bool = False
    seconds: float = 0.0
    """How long it took; 0 when that is not known."""


@dataclass(frozen=True, slots=True)
class ToolEntry:
    """A tool call and its result, or a command that the person ran here."""

    id: str
    name: str
    subject: str = ""
    """The argument to show beside the name."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: ToolStatus = "running"
    output: str = ""
    """The result, or while it runs the end of what it has printed so far."""
    diff: str = ""
    """Unified diff of what it changed."""
    duration: float = 0.0
    """Seconds."""
    bytes: int = 0
    """Size of the whole output."""
    cut: bool = False
    """`output` is a part of the whole."""
    by_person: bool = False
    """The person ran it, and wants to see what it printed without opening it."""
    word: str = ""
    """Stands for the status, where it says more."""

    @property
    def live(self) -> bool:
        return self.status in ("asked", "running")


@dataclass(frozen=True, slots=True)
class NoticeEntry:
    """Something about the conversation: a retry, an error, an interrupt, another model, the end of a turn."""

    id: str
    level: Literal["quiet", "info", "warning", "error"]
    text: str
    hint: str = ""
    """What to do about it."""


Entry = PromptEntry | AnswerEntry | ThoughtEntry | ToolEntry | NoticeEntry


@dataclass(frozen=True, slots=True)
class Put:
    """Show the entry: at the end, or in place of the one with its id."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Stream:
    """More text of a live answer or thought."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Remove:
    """Show this entry no longer."""

    id: str


@dataclass(frozen=True, slots=True)
class Prepend:
    """Show older entries, in order, before all others."""

    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Clear:
    """Show nothing: another conversation begins."""


Operation = Put | Stream | Remove | Prepend | Clear
