"""The picker for calls: their members, what is unread, the topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.bus.letter import PERSON
from gshtui.text.sanitise import one_line
from gshtui.ui.kit.widgets.dialogs import Picker, PickerChoice

if TYPE_CHECKING:
    from gshtui.bus.call_data import CallInfo
    from gshtui.calls.call_values import CallListing


class CallsScreen(Picker):
    """Choose a call; the answer is its name."""

    def __init__(self, found: CallListing) -> None:
        super().__init__(
            "Calls",
            [call_choice(call, found.here) for call in found.calls],
            empty="No calls yet. /create call=NAME makes one.",
            hint="{list.choose} to join · {list.close} to close · /create call=NAME makes one",
        )


def call_choice(call: CallInfo, here: str = "") -> PickerChoice:
    """A call as an entry."""
    member = next((one for one in call.members if one.member == PERSON), None)
    unread = 0 if member is None else max(0, call.messages - 1 - member.seen)
    parts = [
        ", ".join(one_line(one.name or one.member, 20) for one in call.members[:4]) or "nobody yet",
        one_line(call.topic, 60),
    ]
    state = f"{unread} unread" if unread else f"{call.messages} messages" if call.messages else ""
    about = " · ".join(part for part in parts if part)
    return PickerChoice(call.name, call.name, about, current=call.name == here, state=state)
