"""A provider that can only be looked at: for an agent whose provider cannot be used here, for want of a key.

Owns its name and abilities; refuses to send anything. Used by the context service.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gshtui.providers.port import Capabilities, Delta, ProviderError, Request


class Unasked:
    """See the module's text."""

    def __init__(self, name: str, capabilities: Capabilities) -> None:
        self.name = name
        self._capabilities = capabilities

    def capabilities(self, model: str) -> Capabilities:
        """What is known of its models."""
        return self._capabilities

    def body(self, request: Request) -> dict[str, Any]:
        """Nothing: how this provider writes requests is not known here."""
        return {"model": request.model, "note": f"The provider {self.name!r} cannot be used here."}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Refuses."""
        raise ProviderError("missing", f"The provider {self.name!r} cannot be used here.", hint="Is its key set?")
        yield  # an async generator, as the port has it

    async def count(self, request: Request) -> int:
        """Nothing is counted."""
        return 0

    async def models(self) -> list[str]:
        """None."""
        return []

    async def close(self) -> None:
        """There is nothing to close."""
