"""The calls below the list of agents: each with what is unread and who is in it. Pure.

The lobby, in which everybody is, has no row of its own until somebody spoke there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from textual.content import Content

from gshtui.bus.call_data import LOBBY, CallInfo
from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallChanged, CallRemoved
from gshtui.bus.letter import PERSON

CALL_EVENTS: tuple[type[Event], ...] = (CallChanged, CallRemoved)
PREFIX = "call:"
"""Before a call's name as the owner of its line."""
_MUTED = "$foreground-muted"


def calls_after(calls: Mapping[str, CallInfo], event: Event) -> Mapping[str, CallInfo]:
    """The calls after an event."""
    match event:
        case CallChanged():
            return {**calls, event.call: event.data}
        case CallRemoved():
            return {name: call for name, call in calls.items() if name != event.call}
        case _:
            return calls


def draw_calls(calls: Iterable[CallInfo], width: int) -> tuple[list[Content], list[str]]:
    """The lines of the calls that the person can see into, and the owner of each line; none while there are none."""
    shown = [call for call in calls if call.name != LOBBY or call.messages]
    if not shown:
        return [], []
    lines = [Content(), Content.styled(" Calls", f"bold {_MUTED}")]
    owners = ["", ""]
    for call in sorted(shown, key=lambda call: (call.name != LOBBY, call.name)):
        lines.append(_line(call, width))
        owners.append(f"{PREFIX}{call.name}")
    return lines, owners


def _line(call: CallInfo, width: int) -> Content:
    from gshtui.text.sanitise import one_line  # not before the first frame

    mine = next((one for one in call.members if one.member == PERSON), None)
    unread = 0 if mine is None else max(0, call.messages - 1 - mine.seen)
    name = one_line(call.name, 24)
    new = (f"  {unread} new", "bold $primary") if unread else ""
    others = ", ".join(one_line(one.name or one.member, 16) for one in call.members if one.member != PERSON)
    line = Content.assemble((f" # {name}", "bold" if unread else ""), new, (f"  {others}" if others else "", _MUTED))
    return line.truncate(width, ellipsis=True)
