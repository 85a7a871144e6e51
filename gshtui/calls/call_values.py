"""What code calls the commands of calls with: the values of their actions, and their results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar

import msgspec
from pydantic import Field

from gshtui.bus.call_data import CallInfo, CallMessage, tool_calls_json
from gshtui.bus.letter import PERSON
from gshtui.commands.declaration import Parameters, Returns
from gshtui.text.sanitise import one_line, plain


class CallListing(msgspec.Struct, frozen=True):
    """The calls, and the one that who asks is in."""

    calls: tuple[CallInfo, ...]
    here: str
    who: str = PERSON


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
    call: str
    before: int | None = None
    limit: int = 200


class PostMessage(Parameters, Returns[CallMessage]):
    """Say something in a call."""

    COMMAND: ClassVar[str] = "calls"
    call: str
    text: str


class NoteTyping(Parameters, Returns[str]):
    """Note that the person types in the call that they are in; gives its name."""

    COMMAND: ClassVar[str] = "calls"


class NoteRun(Parameters, Returns[bool]):
    """Tell a call which command the person ran there; gives whether it was told."""

    COMMAND: ClassVar[str] = "calls"
    call: str
    line: str
    failed: bool = False


class RemoveCall(Parameters, Returns[RemovedCall]):
    """Remove a call with all that was said in it."""

    COMMAND: ClassVar[str] = "calls"
    WORD: ClassVar[str] = "rm"
    call: str = Field(default="", description="Its name.")


class JoinCall(Parameters, Returns[CallInfo]):
    """Enter a call."""

    COMMAND: ClassVar[str] = "join"
    call: str = Field(description="Its name.")


def call_json(call: CallInfo, who: str = "") -> dict[str, Any]:
    """A call as scripts and agents get it; `who`: for whom unread messages are counted."""
    data: dict[str, Any] = {
        "name": call.name,
        "topic": call.topic,
        "owner": call.owner_name,
        "created": call.created,
        "messages": call.messages,
        "members": [
            {"id": one.member, "name": one.name, "kind": "agent" if one.is_agent else "person"} for one in call.members
        ],
        "window": msgspec.to_builtins(call.window),
    }
    if call.branched_from:
        data["branch"] = {"of": call.branched_from, "at": call.branched_at}
    if who and (unread := unread_messages(call, who)) is not None:
        data["unread"] = unread
    return data


def unread_messages(call: CallInfo, who: str) -> int | None:
    """How many messages a member has not seen; `None`: it is not in the call."""
    member = next((one for one in call.members if one.member == who), None)
    return None if member is None else max(0, call.messages - 1 - member.seen)


def message_json(message: CallMessage) -> dict[str, Any]:
    """A message as scripts and agents get it."""
    data: dict[str, Any] = {
        "call": message.call,
        "seq": message.seq,
        "role": message.role,
        "agent": message.author_name or message.author,
        "at": message.at,
        "tokens": message.tokens,
        "text": message.text,
    }
    if message.role == "assistant":
        data["tool_calls"] = tool_calls_json(message)
    if message.in_reply_to >= 0:
        data["in_reply_to"] = message.in_reply_to
    if message.asks:
        data["asked"] = [
            {"member": ask.member, **({"refused": ask.refused} if ask.refused else {})} for ask in message.asks
        ]
    if message.unknown:
        data["unknown"] = list(message.unknown)
    return data


def results_json(message: CallMessage) -> list[dict[str, Any]]:
    """What these gave it, each as a message before its own."""
    return [
        {
            "call": message.call,
            "role": "tool_result",
            "agent": message.author_name or message.author,
            "at": message.at,
            "tokens": one.tokens,
            "tool_call_id": one.id,
            "name": one.name,
            "status": one.status,
            "text": one.result,
        }
        for one in message.tools
    ]


def messages_text(found: Sequence[CallMessage], *, bold: str = "**", italic: str = "*") -> str:
    """What was said, for people: author, time and number above each text."""
    blocks: list[str] = []
    for one in found:
        when = datetime.fromtimestamp(one.at).strftime("%H:%M")
        if one.role == "system":
            blocks.append(f"{italic}{when} · {plain(one.text)}{italic}")
            continue
        answered = f" · answers {one.in_reply_to}" if one.in_reply_to >= 0 else ""
        seen = " · read from its screen" if one.source == "screen" else ""
        used = ", ".join(dict.fromkeys(one_line(tool.name, 40) for tool in one.tools))
        tools = f" · used {used}" if used else ""
        head = f"{bold}{one_line(one.author_name or one.author, 40)}{bold} · {one.seq} · {when}{answered}{tools}{seen}"
        blocks.append(f"{head}\n\n{plain(one.text)}")
    return "\n\n".join(blocks)
