"""The entries of a conversation as plain data, each with an id: prompts, answers, thoughts, calls, outcomes, notices.

The vocabulary between the conversation's reducer and the transcript; knows nothing about looks. Text in here is raw:
it is sanitised when blocks are made from it. Created by `conversation_state.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from gshtui.bus.messages import Image, Picture, ResultStatus
from gshtui.commands.known_tools import DOES

ToolStatus = Literal["asked", "running"] | ResultStatus
"""`asked`: the model requested it; it has not started."""


class PromptEntry(msgspec.Struct, frozen=True):
    """A person's prompt."""

    id: str
    text: str
    attachments: tuple[str, ...] = ()
    """Each in words."""
    pictures: tuple[Image, ...] = ()
    """Those among them that have a small copy to be shown."""


class AnswerEntry(msgspec.Struct, frozen=True):
    """A model's answer as Markdown. `live`: more will arrive with `Stream`."""

    id: str
    text: str
    live: bool = False


class ThoughtEntry(msgspec.Struct, frozen=True):
    """A model's reasoning; folded until opened."""

    id: str
    text: str
    live: bool = False
    seconds: float = 0.0
    """How long it took; 0: unknown."""


class ToolEntry(msgspec.Struct, frozen=True):
    """A tool call and its result, or a command that the person ran here."""

    id: str
    name: str
    subject: str = ""
    """The argument to show beside the name."""
    arguments: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    status: ToolStatus = "running"
    output: str = ""
    """The result, or while it runs, the end of its output so far."""
    diff: str = ""
    """Unified diff of its changes."""
    duration: float = 0.0
    """Seconds."""
    bytes: int = 0
    """Size of the whole output."""
    cut: bool = False
    """Whether `output` is only part of the whole."""
    by_person: bool = False
    """The person ran it and wants to see the output without opening it."""
    word: str = ""
    """Shown instead of the status, if it says more."""
    sandboxed: bool = False
    """It ran in the sandbox."""
    pictures: tuple[Picture, ...] = ()
    """What it has drawn."""
    reads: bool = False
    """It is a command that only reads."""

    @property
    def live(self) -> bool:
        return self.status in ("asked", "running")


_LOOKS = {"read": ("read", "reads"), "search": ("search", "searches")}
"""What tools do that only look → what one call of them is, and several. Their results are for the model."""
_QUICK = 5.0
"""Seconds; a command that took longer is a row of its own."""
_COMMAND, _CALL = ("command", "commands"), ("call", "calls")


class ToolGroup(ToolEntry, frozen=True):
    """Neighbouring calls that only look, or that are long done: one row until opened. Its id is that of the first."""

    calls: tuple[ToolEntry, ...] = ()

    @property
    def troubled(self) -> tuple[ToolEntry, ...]:
        """Those that the person should see all the same: they failed."""
        return tuple(call for call in self.calls if call.status != "ok" and not call.live)


def only_looks(entry: Entry | None) -> bool:
    """Whether its result is for the model alone."""
    return isinstance(entry, ToolEntry) and DOES.get(entry.name) in _LOOKS and not (entry.by_person or entry.pictures)


def has_looked(entry: Entry) -> bool:
    """Whether all its calls only look, or are quick commands that only read and are done."""
    return isinstance(entry, ToolEntry) and all(
        only_looks(call) or (call.reads and call.duration < _QUICK and has_passed(call)) for call in calls_of(entry)
    )


def is_asked(entry: Entry, call: str) -> bool:
    """Whether it is this call, which other messages may have, too, and the person is asked about it."""
    return isinstance(entry, ToolEntry) and entry.status == "asked" and entry.id.rpartition("/")[2] == call


def joined(before: Entry | None, entry: Entry) -> ToolGroup | None:
    """Both as one group, if both only look; a call that is in the group already is replaced."""
    if not (isinstance(before, ToolEntry) and isinstance(entry, ToolEntry)):
        return None
    if isinstance(before, ToolGroup) and any(call.id == entry.id for call in before.calls):
        return group_of(tuple(entry if call.id == entry.id else call for call in before.calls))
    if before.id == entry.id or not (isinstance(before, ToolGroup) or only_looks(before)) or not only_looks(entry):
        return None
    return group_of((*calls_of(before), entry))


def calls_of(entry: ToolEntry) -> tuple[ToolEntry, ...]:
    """The calls of a group, or the one."""
    return entry.calls if isinstance(entry, ToolGroup) else (entry,)


def has_passed(entry: Entry) -> bool:
    """Whether it is a call, or a group, whose row loses nothing by being one with others: no change, no trouble."""
    if not isinstance(entry, ToolEntry) or entry.by_person:
        return False
    return all(call.status == "ok" and not (call.diff or call.pictures or call.cut) for call in calls_of(entry))


def group_of(calls: tuple[ToolEntry, ...]) -> ToolGroup:
    """A group of these calls."""
    worst = next((call for call in calls if call.status != "ok"), calls[0])
    counts = Counter(
        _LOOKS.get(DOES.get(call.name, "")) or (_COMMAND if "command" in call.arguments else _CALL) for call in calls
    )
    words = (*_LOOKS.values(), _COMMAND, _CALL)
    name = ", ".join(f"{counts[one]} {one[counts[one] > 1]}" for one in words if counts[one])
    return ToolGroup(
        calls[0].id,
        name,
        ", ".join(dict.fromkeys(call.subject for call in calls)),
        status=worst.status,
        output="\n".join(call.output for call in calls),
        duration=sum(call.duration for call in calls),
        calls=calls,
    )


class NoticeEntry(msgspec.Struct, frozen=True):
    """Something about the conversation: a retry, an error, an interrupt, another model, the end of a turn."""

    id: str
    level: Literal["quiet", "info", "warning", "error"]
    text: str
    hint: str = ""
    """What to do about it."""


class OutcomeEntry(msgspec.Struct, frozen=True):
    """What a command that the person typed here has answered; open until folded, and not part of the record."""

    id: str
    line: str
    """What was typed."""
    text: str
    """The answer as Markdown."""
    failed: bool = False


class CutEntry(msgspec.Struct, frozen=True):
    """The line where the context was cut; opening it shows the receipt."""

    id: str
    cut: str
    """Id of the receipt."""
    text: str


Entry = PromptEntry | AnswerEntry | ThoughtEntry | ToolEntry | NoticeEntry | OutcomeEntry | CutEntry
FOLDING = (ToolEntry, ThoughtEntry, OutcomeEntry)
"""The kinds that a person opens and folds."""
OF_MESSAGES = (PromptEntry, AnswerEntry, ThoughtEntry, ToolEntry)
"""The kinds that are of a message of the record, but for what the person ran."""


class Put(msgspec.Struct, frozen=True):
    """Show the entry at the end, or replace the one with its id."""

    entry: Entry


class Stream(msgspec.Struct, frozen=True):
    """More text of a live answer or thought."""

    id: str
    text: str


class Remove(msgspec.Struct, frozen=True):
    """Remove this entry."""

    id: str


class Prepend(msgspec.Struct, frozen=True):
    """Show older entries, in order, before all others."""

    entries: tuple[Entry, ...]


class Clear(msgspec.Struct, frozen=True):
    """Remove everything: another conversation begins."""


Operation = Put | Stream | Remove | Prepend | Clear
