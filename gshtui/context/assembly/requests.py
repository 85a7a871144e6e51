"""The inputs of one request, and a request for a cut. Plain data.

Immutable, so that the values stay consistent while a request is made or cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.messages import Message
from gshtui.context.assembly.assembly import Inputs
from gshtui.context.assembly.limits import ContextSettings, Limits
from gshtui.providers.port import Capabilities, Provider


class CutRequest(msgspec.Struct, frozen=True):
    """Who wants a cut, and why."""

    by: str = "person"
    why: str = ""
    focus: str = ""
    request: str = ""
    """Id that the answer names."""
    forced: bool = False
    """Cut everything that can be cut: nothing else makes room."""
    dry: bool = False
    """Only a preview: nothing is asked, written or published."""

    @property
    def automatic(self) -> bool:
        """Nobody asked for it."""
        return self.by in ("threshold", "overflow", "strategy")


class RequestInputs(msgspec.Struct, frozen=True):
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
        """The model with its provider: the key under which counts are kept."""
        return f"{self.provider.name}/{self.model}"
