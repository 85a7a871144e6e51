"""Plain data of calls: the shared rooms in which people and agents talk to each other."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.messages import ResultStatus

TYPING = "typing"
"""What somebody does who types."""
TYPES_FOR = 8.0
"""Seconds for which that holds."""
LOBBY = "lobby"
"""The call that always exists, and in which everybody is who is in no other."""
CallRole = Literal["user", "assistant", "system"]
"""user: a person spoke. assistant: an agent. system: what happened in the call, such as a new topic."""


class Principal(msgspec.Struct, frozen=True):
    """Who speaks."""

    id: str
    """Id of the agent, `person`, or a person's name from elsewhere."""
    name: str
    is_agent: bool = False
    mode: GuardMode | None = None
    """The widest mode for what it asks of agents; `None`: for an agent its own, for a person each agent's."""

    @property
    def is_guest(self) -> bool:
        """Whether it is a person from elsewhere who may only talk."""
        return not self.is_agent and self.mode is not None

    @property
    def role(self) -> CallRole:
        return "assistant" if self.is_agent else "user"


class CallAsk(msgspec.Struct, frozen=True, omit_defaults=True):
    """A member that a message is put to: what it answers is said in the call."""

    member: str
    letter: str
    """Id of the message that is delivered to it, fixed before it is posted so that it is posted once."""
    refused: str = ""
    """Why it was not posted."""


class CallToolUse(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool that an agent used for what it says, and the beginning and end of its result."""

    id: str
    name: str
    arguments: dict[str, Any] = {}
    status: ResultStatus = "ok"
    result: str = ""
    tokens: int = 0
    """Of the result here, estimated."""


class CallMessage(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One message of a call."""

    call: str
    seq: int = -1
    """Its number in the call, from 0; -1: it has none yet."""
    id: str
    author: str
    """Id of the agent, or the principal of the person."""
    author_name: str = ""
    role: CallRole = "user"
    text: str
    at: float = 0.0
    """Seconds since the epoch."""
    in_reply_to: int = -1
    """Number of the message that this one answers; -1: none."""
    tokens: int = 0
    """Estimated."""
    asks: tuple[CallAsk, ...] = ()
    unknown: tuple[str, ...] = ()
    """Names after an `@` that nobody in the call has."""
    depth: int = 0
    """Messages of agents that led to it, itself included; 0 for a person's."""
    mode: GuardMode | Literal[""] = ""
    """The widest mode for what is done about it: that of the agent that said it, or a guest's; empty: a person's."""
    source: str = ""
    """Where an answer was read: `screen` if only its terminal shows it."""
    tools: tuple[CallToolUse, ...] = ()
    """Those that our own agent used for it, in their order."""

    @property
    def name(self) -> str:
        return f"{self.seq:03}"


def tool_calls_json(message: CallMessage) -> list[dict[str, Any]]:
    """The tools that an agent called for what it says."""
    return [{"id": one.id, "name": one.name, "arguments": one.arguments} for one in message.tools]


class CallMember(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Somebody in a call."""

    member: str
    """Id of the agent, or the principal of the person."""
    name: str = ""
    is_agent: bool = False
    joined: float = 0.0
    seen: int = -1
    """Number of the last message that it has seen or was sent."""
    at: float = 0.0
    """When it last did something in a call; 0: not known."""
    doing: str = ""
    """What it says that it does: `typing`, or words of its own."""


WindowKind = Literal["budget", "last", "summary"]
"""How much of a call its agents are told: what fits in a number of tokens, the last messages, or the last messages
after a summary of the earlier ones."""


class CallWindow(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much of a call's conversation an agent is told that was not there."""

    kind: WindowKind = "budget"
    tokens: int = 4_000
    """budget: most tokens of conversation."""
    last: int = 20
    """last, summary: messages that are told word for word."""
    summarizer: str = ""
    """summary: name of the member whose model writes it; empty: the small model of the settings."""
    summary_tokens: int = 1_000
    """summary: most tokens of the summary."""


class CallInfo(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A call as the record has it."""

    name: str
    topic: str = ""
    owner: str = ""
    owner_name: str = ""
    created: float = 0.0
    instructions: str = ""
    """`context/system.prompt`: what every agent in the call is told."""
    window: CallWindow = CallWindow()
    branched_from: str = ""
    branched_at: int = -1
    summary: str = ""
    """Of the messages up to `summary_to`."""
    summary_to: int = -1
    messages: int = 0
    members: tuple[CallMember, ...] = ()
    pinned: tuple[str, ...] = ()
    """Names of its documents."""
    revision: int = 0

    def member(self, wanted: str) -> CallMember | None:
        """The member of this id or name."""
        return next((one for one in self.members if wanted in (one.member, one.name)), None)


class Pin(msgspec.Struct, frozen=True):
    """A document that every agent in a call is sent."""

    call: str
    name: str
    text: str
    author: str = ""
    at: float = 0.0


class MessageHead(msgspec.Struct, frozen=True):
    """A message in a list."""

    seq: int
    at: float
    """Seconds since the epoch."""
    bytes: int
    """Of its text."""
    tools: int = 0
    """The tools that were used for it."""


class Presence(msgspec.Struct, frozen=True):
    """Where somebody was last."""

    call: str
    at: float
    """Seconds since the epoch of the last thing that they did there."""
    doing: str = ""
    """In their own words."""
