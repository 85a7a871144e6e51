"""Google's cloud: Claude through Anthropic's SDK, all other models through Google's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gshtui.providers.adapters.anthropic import Anthropic
from gshtui.providers.adapters.claude_clouds import VertexClaude
from gshtui.providers.adapters.gemini import Gemini
from gshtui.providers.port import Capabilities, Delta, Request
from gshtui.providers.wire.sdk_connection import Endpoint


class Vertex:
    """See `port.Provider`."""

    def __init__(self, place: Endpoint) -> None:
        self._place = place
        self._claude = Anthropic(place, VertexClaude(place))
        self._gemini = Gemini(place)

    def _of(self, model: str) -> Anthropic | Gemini:
        return self._claude if model.startswith("claude") else self._gemini

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        return self._of(model).capabilities(model)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return self._of(request.model).stream(request)

    def body(self, request: Request) -> dict[str, Any]:
        return self._of(request.model).body(request)

    async def warm_up(self) -> None:
        await self._claude.warm_up()

    async def close(self) -> None:
        await self._claude.close()
        await self._gemini.close()
