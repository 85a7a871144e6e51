"""Conversations: opened, named, held elsewhere, closed."""

from __future__ import annotations

from gshtui.bus.event import Event


class SessionOpened(Event, frozen=True, kw_only=True):
    """A conversation is open here. Its messages come from the store, not over the bus."""

    session: str
    agent: str
    title: str = ""
    cwd: str = ""
    messages: int = 0
    resumed: bool = False
    writable: bool = True
    held_by: str = ""
    """Where it is open for writing, if it is open here only for reading."""
    follows: str = ""
    """The conversation that the person put aside for this new one, which now receives its reports and messages."""
    joined: bool = False
    """It was open before this face came; a turn of its agent may be in progress."""


class SessionTitled(Event, frozen=True, kw_only=True):
    """A conversation has a (new) title."""

    session: str
    title: str


class SessionClosed(Event, frozen=True, kw_only=True):
    """A conversation is no longer open here."""

    session: str
    agent: str


class SessionChangeRequested(Event, frozen=True, kw_only=True):
    """Intent: switch the agent to another conversation. The current one is kept."""

    agent: str
    session: str = "new"
    """`new`, `latest` (of this folder), an id, or a prefix of one."""


class SessionFollowed(Event, frozen=True, kw_only=True):
    """A conversation that another process writes has grown; the new messages were published as `MessageAppended`."""

    session: str
    messages: int
