"""Calls: what changed in a shared room, and who does what there.

Published by the hub that follows the record, for messages of this process and of all others alike.
"""

from __future__ import annotations

from collections.abc import Hashable

from gshtui.bus.call_data import CallInfo, CallMessage
from gshtui.bus.event import Event


class CallMessageAdded(Event, frozen=True, kw_only=True):
    """Somebody said something in a call."""

    call: str
    message: CallMessage


class CallChanged(Event, frozen=True, kw_only=True):
    """A call's topic, members, documents or settings changed; `data` is the whole of it."""

    call: str
    data: CallInfo

    def merge_key(self) -> Hashable | None:
        return ("CallChanged", self.call)


class CallRemoved(Event, frozen=True, kw_only=True):
    """A call is gone."""

    call: str


class CallOpenRequested(Event, frozen=True, kw_only=True):
    """Intent: show a call, and type there from now on."""

    call: str


class PresenceReported(Event, frozen=True, kw_only=True):
    """What somebody in a call is doing, for as long as they say so again."""

    call: str
    member: str
    name: str = ""
    doing: str = ""
    """`typing`, or words of their own; empty: nothing any more."""

    def merge_key(self) -> Hashable | None:
        return ("PresenceReported", self.call, self.member)
