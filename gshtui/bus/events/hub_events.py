"""The hub itself: its parts, its subscribers, and notices for a person."""

from __future__ import annotations

from typing import Any, Literal

from gshtui.bus.event import Event


class PartStarted(Event, frozen=True, kw_only=True):
    """A part of the hub runs."""

    part: str
    seconds: float = 0.0


class PartFailed(Event, frozen=True, kw_only=True):
    """A part of the hub did not start, or died; the rest goes on without it."""

    part: str
    why: str
    hint: str = ""
    needs: str = ""
    """The part that failed before it, and for want of which it does; empty: it failed by itself."""


class HubStarted(Event, frozen=True, kw_only=True):
    """Every part has started or failed."""

    cwd: str = ""
    project: str = ""
    branch: str = ""
    seconds: float = 0.0


class HubStopped(Event, frozen=True, kw_only=True):
    """Every part has stopped; everything that was accepted is on disk."""


class SubscriberFailed(Event, frozen=True, kw_only=True):
    """A subscriber raised while it handled an event; it goes on with the next one."""

    subscriber: str
    event: str
    why: str
    lost: int = 1
    """Events that it did not handle, or only in part, because of this."""
    file: str = ""
    """Where the traceback is."""
    count: int = 1
    """How often this was seen so far."""


class FaultReported(Event, frozen=True, kw_only=True):
    """A part failed unexpectedly: its current work is lost, and everything else continues.

    A recurring fault is reported the first time, the tenth, the hundredth, and so on.
    """

    part: str
    doing: str = ""
    why: str
    file: str = ""
    """Where the traceback is."""
    count: int = 1
    """How often this was seen so far."""
    hint: str = ""
    agent: str = ""
    """The agent in whose process it was; empty for the hub's own."""
    shown: bool = False
    """The face in which it happened has already told the person."""
    expected: bool = False
    """It is no fault of ours, so it has no traceback: a program, a disk or a network is not as it should be."""


class SubscriberLagged(Event, frozen=True, kw_only=True):
    """A subscriber's queue was full, or it has caught up since.

    The numbers count from its previous report, so their sum is everything that it lost.
    """

    subscriber: str
    dropped: int = 0
    """Events that it will not get."""
    merged: int = 0
    """Events that were merged into another one."""


class BranchChanged(Event, frozen=True, kw_only=True):
    """The project's git branch has changed."""

    branch: str


class Noticed(Event, frozen=True, kw_only=True):
    """Something that a person should know: one clear sentence, and what to do."""

    level: Literal["info", "warning", "error"] = "info"
    text: str
    hint: str = ""
    about: str = ""
    """The part or agent that it is about."""
    ends_with_model: bool = False
    """It is over once the agent has a model."""


class WaitReported(Event, frozen=True, kw_only=True):
    """A command is taking a while: what it waits for, in words to show before the elapsed time (`Waiting for fix`)."""

    text: str
    about: str = ""
    """The agent that it waits for."""


class SettingChanged(Event, frozen=True, kw_only=True):
    """A setting has a new value from now on."""

    key: str
    value: Any = None


class QuitRequested(Event, frozen=True, kw_only=True):
    """Intent: leave the face that sent it."""

    who: str = "person"
