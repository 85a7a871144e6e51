"""What the loop needs from others, as small protocols: a record of messages, and news that a prompt is waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.messages import Message
from gshtui.providers.port import Provider


class Record(Protocol):
    """Stores a conversation. Every call returns once the data is safe. Raises `StoreError`."""

    async def append(self, session: str, message: Message) -> object:
        """Add a message; adding one of the same id again does nothing."""
        ...

    async def load(self, session: str) -> list[Message]:
        """All messages, in order."""
        ...

    async def save_partial(self, session: str, message: Message) -> None:
        """Keep an answer that still streams; `append` of the same id replaces it."""
        ...

    async def partials(self, session: str) -> list[Message]:
        """Answers whose stream was cut off by a crash."""
        ...

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Keep a tool's full output; returns its key."""
        ...

    async def set_title(self, session: str, title: str) -> None:
        """Name the conversation."""
        ...


@dataclass(frozen=True, slots=True)
class InboxPrompt:
    """A prompt in an inbox."""

    id: str
    text: str
    attachments: tuple[str, ...] = ()
    source: str = "person"
    mode: GuardMode | Literal[""] = ""
    """The widest mode for its turn; empty: the agent's own."""
    call: str = ""
    """The call in which it is asked; empty: in none."""


@dataclass(frozen=True, slots=True)
class ModelHandle:
    """What an agent thinks with: a provider and one of its models. `label` is for people."""

    provider: Provider
    model: str
    label: str = ""
    max_output: int = 0
    """Maximum tokens of one answer; 0: the model's maximum."""
    instead_of: str = ""
    """The configured model, if it is no longer available and this one replaces it."""
