"""What code calls the commands of calls with: the values of their actions, and their results."""

from __future__ import annotations

from typing import ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.call_data import CallInfo, CallMessage
from gshtui.commands.declaration import Parameters, Returns


class CallListing(msgspec.Struct, frozen=True):
    """The calls, and the one that the person is in."""

    calls: tuple[CallInfo, ...]
    here: str


class CallPage(msgspec.Struct, frozen=True):
    """Some messages of a call, in order."""

    call: CallInfo
    messages: tuple[CallMessage, ...]


class RemovedCall(msgspec.Struct, frozen=True):
    """A call that is gone."""

    name: str
    messages: int


class ListCalls(Parameters, Returns[CallListing]):
    """List the calls."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "ls"


class ReadCall(Parameters, Returns[CallPage]):
    """Read messages of a call; the newest count as seen."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "read"
    call: str
    before: int | None = None
    limit: int = 200


class PostMessage(Parameters, Returns[CallMessage]):
    """Say something in a call."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "post"
    call: str
    text: str


class NoteTyping(Parameters, Returns[str]):
    """Note that the person types in the call that they are in; gives its name."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "typing"


class NoteRun(Parameters, Returns[bool]):
    """Tell a call which command the person ran there; gives whether it was told."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "ran"
    call: str
    line: str
    failed: bool = False


class RemoveCall(Parameters, Returns[RemovedCall]):
    """Remove a call with all that was said in it."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "rm"
    call: str


class JoinCall(Parameters, Returns[CallInfo]):
    """Enter a call."""

    COMMAND: ClassVar[str] = "join"
    call: str = Field(description="Its name.")
