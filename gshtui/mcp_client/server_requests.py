"""What a server may ask of its client, and who answers: the port that the hub implements.

Free of the SDK, so that it can be imported before a server is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import msgspec


class ToolCaller(msgspec.Struct, frozen=True):
    """The agent for whose call a server works."""

    agent: str = ""
    session: str = ""
    call: str = ""


class SamplingRequest(msgspec.Struct, frozen=True):
    """A server wants a model's answer."""

    prompt: str
    """Its messages as one text, each with its role."""
    system: str = ""
    max_tokens: int = 0
    """Most tokens of the answer; 0: as many as the model gives."""


class SamplingAnswer(msgspec.Struct, frozen=True):
    """What the model answered. `is_cut`: the answer reached the most tokens that it may have."""

    text: str
    model: str
    is_cut: bool = False


class Elicitation(msgspec.Struct, frozen=True):
    """A server wants to know something from the person.

    Attributes:
        fields: the JSON schema of each value that it asks for, by name; empty: it asks only for agreement.
        required: names of those that it needs.
        url: it asks that the person opens this address instead.
    """

    message: str
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    required: tuple[str, ...] = ()
    url: str = ""


class ServerHost(Protocol):
    """Answers what servers ask."""

    def roots(self) -> list[Path]:
        """The folders that a server may work in."""
        ...

    async def sample(self, server: str, caller: ToolCaller, request: SamplingRequest) -> SamplingAnswer | None:
        """A model's answer; `None`: the person, or the mode, does not allow it. Raises `ExpectedError`."""
        ...

    async def elicit(self, server: str, caller: ToolCaller, asked: Elicitation) -> Mapping[str, Any] | None:
        """The person's values; `None`: they decline, or nobody is there to ask."""
        ...

    async def sign_in(self, server: str, url: str) -> bool:
        """Ask the person to sign in at an address, and show it; whether they agreed."""
        ...
