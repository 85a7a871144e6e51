"""What the loop needs from others, as small protocols: a record of messages, and news that a prompt is waiting."""

from __future__ import annotations

from typing import Protocol

import msgspec

from gshtui.bus.agent_data import InboxPrompt
from gshtui.bus.messages import Message
from gshtui.providers.port import Provider


class Record(Protocol):
    """Stores a conversation. Every call returns once the data is safe. Raises `StoreError`."""

    async def append(self, session: str, message: Message) -> object:
        """Add a message; adding one of the same id again does nothing."""
        ...

    async def load(self, session: str) -> list[Message]: ...

    async def save_partial(self, session: str, message: Message) -> None:
        """Keep an answer that still streams; `append` of the same id replaces it."""
        ...

    async def partials(self, session: str) -> list[Message]:
        """Answers whose stream was cut off by a crash."""
        ...

    async def put_output(self, session: str, call: str, text: str) -> str:
        """Keep a tool's full output; returns its key."""
        ...

    async def set_title(self, session: str, title: str) -> None: ...

    async def keep_prompt(self, session: str, prompt: InboxPrompt) -> None:
        """Keep a prompt that waits; kept again, it has another text or conversation. `append` of its id removes it."""
        ...

    async def drop_prompt(self, prompt: str) -> None:
        """Forget a waiting prompt."""
        ...

    async def kept_prompts(self, session: str) -> list[InboxPrompt]:
        """The prompts that wait in a conversation, in their order."""
        ...


class ModelHandle(msgspec.Struct, frozen=True):
    """What an agent thinks with: a provider and one of its models. `label` is for people."""

    provider: Provider
    model: str
    label: str = ""
    max_output: int = 0
    """Maximum tokens of one answer; 0: the model's maximum."""
    instead_of: str = ""
    """The configured model, if it is no longer available and this one replaces it."""
