"""Agents in terminals: started, changed, ended, killed; and the messages typed into them.

What an agent says and does is in `agent_events`; `agent` there and here is the row's id.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from gshtui.bus.agent_data import AgentRow, OpenQuestion, SpawnRequest
from gshtui.bus.event import Event

MessageState = Literal["queued", "held", "typed", "submitted", "acted", "dropped"]


class AgentSpawnRequested(Event, frozen=True, kw_only=True):
    """Intent: start an agent in a terminal of its own."""

    request: SpawnRequest
    spawn: str = ""
    """Id of the request, which `AgentSpawned` and `AgentSpawnFailed` repeat."""


class AgentSpawned(Event, frozen=True, kw_only=True):
    """An agent runs in its terminal."""

    agent: str
    row: AgentRow
    spawn: str = ""


class AgentSpawnFailed(Event, frozen=True, kw_only=True):
    """An agent could not be started; nothing of it is left behind."""

    why: str
    hint: str = ""
    name: str = ""
    spawn: str = ""


class AgentChanged(Event, frozen=True, kw_only=True):
    """An agent's row has changed; `row` is the whole row, so the newest event replaces earlier ones."""

    agent: str
    row: AgentRow

    def merge_key(self) -> Hashable | None:
        return ("AgentChanged", self.agent)


class AgentEnded(Event, frozen=True, kw_only=True):
    """An agent no longer runs: it has finished, failed or is lost."""

    agent: str
    name: str = ""
    parent: str = ""
    status: str = "done"
    report: str = ""
    exit_status: int | None = None
    background: bool = False


class AgentKilled(Event, frozen=True, kw_only=True):
    """A person killed an agent. Until `until` it is only stopped and can be restored; after that it is gone."""

    agent: str
    until: float = 0.0
    """Seconds since the epoch; 0: it is gone already."""


class AgentRestored(Event, frozen=True, kw_only=True):
    """A killed agent was restored and continues where it was."""

    agent: str


class AgentRemoved(Event, frozen=True, kw_only=True):
    """An agent is off the roster; its conversation is kept."""

    agent: str


class MessagePosted(Event, frozen=True, kw_only=True):
    """An agent has put a message into the record, where the deliverer looks for it."""

    message: str
    agent: str
    """Who sent it."""


class MessageQueued(Event, frozen=True, kw_only=True):
    """A message waits for its agent to be idle."""

    message: str
    agent: str
    sender: str = "person"
    text: str = ""
    state: MessageState = "queued"


class MessageHeld(Event, frozen=True, kw_only=True):
    """A message is held until a person releases it."""

    message: str
    agent: str
    sender: str = "person"
    text: str = ""
    state: MessageState = "held"
    why: str = ""


class PromptUnsent(Event, frozen=True, kw_only=True):
    """A message was typed into an agent's program and not taken, which the person is asked about; or is no longer."""

    agent: str
    question: OpenQuestion | None = None
    """`None`: the program took it, or the person has decided."""


class MessagesHeldUp(Event, frozen=True, kw_only=True):
    """Something in an agent's terminal keeps its next message from being typed; or does so no longer."""

    agent: str
    why: str = ""
    """A sentence; empty: nothing does."""


class MessageTyped(Event, frozen=True, kw_only=True):
    """A message was typed into the agent's input, but not entered yet."""

    message: str
    agent: str
    sender: str = "person"
    text: str = ""
    state: MessageState = "typed"


class MessageSubmitted(Event, frozen=True, kw_only=True):
    """A message was entered. This does not mean that the agent has accepted it."""

    message: str
    agent: str
    sender: str = "person"
    text: str = ""
    state: MessageState = "submitted"


class MessageActed(Event, frozen=True, kw_only=True):
    """The agent accepted the message, according to its own events, hooks or transcript."""

    message: str
    agent: str
    sender: str = "person"
    text: str = ""
    state: MessageState = "acted"


class MessageDropped(Event, frozen=True, kw_only=True):
    """A message will not be delivered: a person dropped it, or its agent is gone."""

    message: str
    agent: str
    sender: str = "person"
    text: str = ""
    state: MessageState = "dropped"
    why: str = ""


class MessageHoldRequested(Event, frozen=True, kw_only=True):
    """Intent: hold a queued message, or release it."""

    message: str
    held: bool = True


class MessageEditRequested(Event, frozen=True, kw_only=True):
    """Intent: replace the text of a message that still waits; an empty text drops it."""

    message: str
    text: str = ""
