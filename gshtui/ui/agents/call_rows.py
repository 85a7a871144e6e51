"""The calls below the list of agents: each with what is unread, who does what there, and what is pinned. Pure.

The lobby, in which everybody is who is in no other, comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.content import Content

from gshtui.bus.call_data import LOBBY, TYPES_FOR, TYPING, CallInfo
from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallChanged, CallRemoved
from gshtui.bus.letter import PERSON

CALL_EVENTS: tuple[type[Event], ...] = (CallChanged, CallRemoved)
PREFIX = "call:"
"""Before a call's name as the owner of its line."""
_MUTED = "$foreground-muted"
_DETAILED = 4
"""Most calls of which the members and documents are listed, too."""
_IDLE = 60.0
"""Seconds after which somebody is shown as idle."""


def calls_after(calls: Mapping[str, CallInfo], event: Event) -> Mapping[str, CallInfo]:
    """The calls after an event."""
    match event:
        case CallChanged():
            return {**calls, event.call: event.data}
        case CallRemoved():
            return {name: call for name, call in calls.items() if name != event.call}
        case _:
            return calls


def say_nothing(calls: Iterable[CallInfo]) -> bool:
    """Whether nobody has anything to say to another."""
    return all(call.name == LOBBY and len(call.members) <= 2 and not call.messages for call in calls)


def draw_calls(calls: Iterable[CallInfo], width: int, now: float) -> tuple[list[Content], list[str]]:
    """The lines of the calls that the person can see into, and the owner of each line; none while they say nothing.
    `now`: seconds since the epoch.
    """
    shown = sorted(calls, key=lambda call: (call.name != LOBBY, call.name))
    if say_nothing(shown):
        return [], []
    lines = [Content(), Content.styled(" Calls", f"bold {_MUTED}")]
    owners = ["", ""]
    detailed = len(shown) <= _DETAILED
    for call in shown:
        drawn = [_line(call, width), *(_details(call, width, now) if detailed else ())]
        lines += drawn
        owners += [f"{PREFIX}{call.name}"] * len(drawn)
    return lines, owners


def _details(call: CallInfo, width: int, now: float) -> list[Content]:
    """Which people do something there or were there a while ago, and what is pinned; agents have rows of their own."""
    from gshtui.text.sanitise import one_line  # not before the first frame
    from gshtui.ui.kit.drawing.figures import age

    lines: list[Content] = []
    for member in call.members:
        if member.member == PERSON or member.is_agent:
            continue
        typed = member.doing == TYPING and now - member.at > TYPES_FOR
        doing = "" if typed else one_line(member.doing, 40)
        if not doing and member.at and now - member.at >= _IDLE:
            doing = f"idle {age(now - member.at)}"
        if doing:
            lines.append(Content.assemble(f"   {one_line(member.name or member.member, 16)}", (f" {doing}", _MUTED)))
    if call.pinned:
        lines.append(Content.styled(f"   pinned: {', '.join(one_line(name, 24) for name in call.pinned)}", _MUTED))
    return [line.truncate(width, ellipsis=True) for line in lines]


def _line(call: CallInfo, width: int) -> Content:
    from gshtui.text.sanitise import one_line  # not before the first frame

    mine = next((one for one in call.members if one.member == PERSON), None)
    unread = 0 if mine is None else max(0, call.messages - 1 - mine.seen)
    name = one_line(call.name, 24)
    new = (f"  {unread} new", "bold $primary") if unread else ""
    others = ", ".join(one_line(one.name or one.member, 16) for one in call.members if one.member != PERSON)
    line = Content.assemble((f" # {name}", "bold" if unread else ""), new, (f"  {others}" if others else "", _MUTED))
    return line.truncate(width, ellipsis=True)
