"""The plain data of a message to an agent: who says what to whom, and how far it has come.

Owns the struct that store, agents and faces share, and holds no behaviour and no state.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.bus.events.fleet_events import MessageState

PERSON = "person"
"""The sender of what a person writes."""
OPEN: tuple[MessageState, ...] = ("queued", "held")
"""States in which nothing of it has reached its agent."""
LetterKind = Literal["say", "talk", "report", "send"]
"""say: one way. talk: its sender waits for the answer. report: to the parent. send: by the fleet, as it stands."""


class Letter(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One message. Its id becomes the prompt's where the agent is one of ours."""

    id: str
    sender: str = PERSON
    """Id of the agent that says it, or `person`."""
    sender_name: str = ""
    recipient: str
    """Id of an agent on the roster, or the name of one that lives in a window."""
    recipient_name: str = ""
    session: str = ""
    """For an agent that lives in a window: the conversation that it is for."""
    text: str
    kind: LetterKind = "say"
    defer: bool = True
    """It waits until the agent is idle."""
    state: MessageState = "queued"
    why: str = ""
    """Why it is held or dropped."""
    depth: int = 1
    """How many messages of agents led to it, itself included; 0 for a person's."""
    created: float = 0.0
    changed: float = 0.0
    answered: bool = False
    """The turn that took it up is over."""
    answer: str = ""
    """What that turn said last."""
