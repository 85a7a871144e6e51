"""Turns messages of a call into transcript entries, and a call into the line above its tab. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from textual.content import Content

from gshtui.bus.call_data import LOBBY, CallInfo, CallMessage
from gshtui.bus.letter import PERSON
from gshtui.text.sanitise import one_line
from gshtui.ui.kit.transcript.entries import AnswerEntry, Entry, NoticeEntry, PromptEntry

_MUTED = "$foreground-muted"
_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>#|~"})


def message_entry(message: CallMessage) -> Entry:
    """One message: your own as a prompt, others' under their names, what happened as a quiet line."""
    id = f"call/{message.call}/{message.seq}"
    if message.role == "system":
        return NoticeEntry(id, "quiet", message.text)
    if message.author == PERSON:
        return PromptEntry(id, message.text)
    name = one_line(message.author_name or message.author, 40).translate(_MARKS)
    when = datetime.fromtimestamp(message.at).strftime("%H:%M")
    answered = f" · answers {message.in_reply_to}" if message.in_reply_to >= 0 else ""
    seen = " · read from its screen" if message.source == "screen" else ""
    return AnswerEntry(id, f"**{name}** · {message.seq} · {when}{answered}{seen}\n\n{message.text}")


def title_line(call: CallInfo, doing: Mapping[str, str], width: int) -> Content:
    """The line above a call's tab: its name, topic and members, each with what they are doing.

    Args:
        doing: what members are doing, by member.
    """
    members = [
        f"{one_line(one.name or one.member, 24)}{f' ({words})' if (words := doing.get(one.member)) else ''}"
        for one in call.members
    ]
    topic = f"  {one_line(call.topic, 120)}" if call.topic else ""
    who = f"  ·  {', '.join(members)}" if members else "  ·  nobody yet"
    line = Content.assemble((f" {call.name}", "bold"), topic, (who, _MUTED))
    return line.truncate(width, ellipsis=True)


def empty_words(call: str) -> str:
    """What the tab says before the first message."""
    how = "Type a message for everyone here. @name addresses one agent, @all every agent."
    bring = "" if call == LOBBY else "\n/invite agent=NAME adds an agent, /topic set=… sets the topic."
    return f"No messages in {call} yet.\n\n{how}{bring}"
