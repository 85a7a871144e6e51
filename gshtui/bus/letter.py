"""Plain data of a message to an agent: sender, recipient, text, and delivery state."""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.bus.agent_data import AnswerSource, GuardMode
from gshtui.bus.events.fleet_events import MessageState

PERSON = "person"
"""The sender of a person's messages."""
UNREACHED = "The window ended before its agent was there."
"""Why a message is held that a killed window still had."""
OPEN: tuple[MessageState, ...] = ("queued", "held")
"""States in which nothing of it has reached its agent."""
LetterKind = Literal["say", "talk", "report", "send", "call"]
"""say: one way. talk: the sender waits for the answer. report: to the parent. send: by the fleet, unchanged.
call: a message of a call, where the answer is said."""


class Letter(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One message. For our own agents, its id becomes the prompt's."""

    id: str
    sender: str = PERSON
    """Id of the agent that says it, or `person`."""
    sender_name: str = ""
    recipient: str
    """Id of an agent on the roster, or the name of one that lives in a window."""
    recipient_name: str = ""
    session: str = ""
    """For an agent in a window: the target conversation."""
    text: str
    kind: LetterKind = "say"
    defer: bool = True
    """It waits until the agent is idle."""
    state: MessageState = "queued"
    why: str = ""
    """Why it is held or dropped."""
    depth: int = 1
    """Number of agents' messages that led to it, including itself; 0 for a person's."""
    mode: GuardMode | Literal[""] = ""
    """The sender's mode when it said it: what is done about it is done in no wider one. Empty: a person's."""
    call: str = ""
    """The call in which it was said."""
    call_seq: int = -1
    """Its number there."""
    created: float = 0.0
    changed: float = 0.0
    answered: bool = False
    """The turn that handled it is over."""
    answer: str = ""
    """The last thing said in that turn."""
    answer_source: AnswerSource = ""
    failed: bool = False
    """Its turn failed; the answer is why."""

    @property
    def limit(self) -> GuardMode | Literal[""]:
        """The widest mode for the turn that handles it. A report is the answer to what its reader asked for."""
        return "" if self.kind == "report" else self.mode
