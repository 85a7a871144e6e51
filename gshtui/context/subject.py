"""Whose context it is about: an agent by name or id, with its conversation and, where it lives here, its engine.

Owns the protocols by which the service is told of agents; refuses to know rosters and fleets. Made by the hub and by
agents in terminals.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from gshtui.bus.messages import Message
from gshtui.context.engine import ContextEngine, Draft
from gshtui.providers.port import Capabilities, Provider


class Live(Protocol):
    """An agent of this process."""

    @property
    def engine(self) -> ContextEngine: ...

    async def messages(self) -> list[Message]: ...

    async def draft(self) -> Draft: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """See the module's text."""

    agent: str
    """The name under which its iterations are kept."""
    session: str
    live: Live | None = None


Find = Callable[[str], Awaitable[Subject]]
"""An agent by name or id. Raises `ContextError` (`unknown`) and `StoreError`."""
Choose = Callable[[str, str], Awaitable[tuple[Provider, str]]]
"""(provider, model) → what can be asked; either may be empty. Raises `ProviderError`."""
Abilities = Callable[[str, str], Capabilities]
"""(provider, model) → what is known of it, without asking anybody."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the service needs besides bus and record."""

    find: Find
    choose: Choose
    abilities: Abilities
    load: Callable[[str], Awaitable[Sequence[Message]]]
    """The log of a conversation. Raises `StoreError`."""
    redact: Callable[[str], str] = lambda text: text
