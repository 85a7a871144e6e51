"""The terms of one request: which model, with which limits, from which log and inputs. Plain data.

Owns what belongs together when a request is made or cut; refuses to change while it is. Made by the engine and the
service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gshtui.bus.messages import Message
from gshtui.context.assembly import Inputs
from gshtui.context.limits import ContextSettings, Limits
from gshtui.providers.port import Capabilities, Provider


@dataclass(frozen=True, slots=True)
class Terms:
    """See the module's text."""

    agent: str
    session: str
    provider: Provider
    model: str
    capabilities: Capabilities
    settings: ContextSettings
    limits: Limits
    messages: Sequence[Message]
    inputs: Inputs

    @property
    def key(self) -> str:
        """The model by its provider, as counts are kept for it."""
        return f"{self.provider.name}/{self.model}"
