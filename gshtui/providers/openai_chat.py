"""Servers that speak OpenAI's chat completions: vLLM, LM Studio, llama.cpp, OpenRouter, gateways.

Owns the stream and its failures; the translation is `openai_chat_wire.py`. Fails with `ProviderError` alone. Called by
`select.py` wherever a base URL is set.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gshtui.providers import history
from gshtui.providers import openai_chat_wire as wire
from gshtui.providers.answer import Answer
from gshtui.providers.catalog import Model
from gshtui.providers.connection import Place, ended
from gshtui.providers.openai_client import OpenAIClient, refuse_pages
from gshtui.providers.port import Capabilities, Delta, Request
from gshtui.providers.retry import retried
from gshtui.providers.sent import hash_of_response


class OpenAIChat:
    """See `port.Provider`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = OpenAIClient(place)

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        found = self._model(model)
        return found.capabilities if found.label else Capabilities()

    def _model(self, name: str) -> Model:
        """Gateways put the vendor before the name, as in `openai/gpt-4o`."""
        catalog = self._place.catalog
        return catalog.find(name) or catalog.find(name.rsplit("/", 1)[-1]) or Model(name=name, provider="openai")

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, request, self._place.backoff)

    def body(self, request: Request) -> dict[str, Any]:
        return wire.body(request, self._model(request.model), history.tool_names(request))

    async def count(self, request: Request) -> int:
        return history.size(request)

    async def models(self) -> list[str]:
        return await self._client.models()

    async def warm(self) -> None:
        await self._client.ready(self._client.origin(""))

    async def close(self) -> None:
        await self._client.close()

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._client.origin(request.model)
        names = history.tool_names(request)
        body = self.body(request)
        # What is required stands in the call, too, but the body is sent as it is: the SDK would walk through it.
        call: dict[str, Any] = {"model": body["model"], "messages": [], "extra_body": body}
        answer = Answer(provider=self.name, api=wire.API, model=request.model, names=names)
        reader = wire.Reader(answer)
        client = await self._client.ready(origin)
        events, sent = 0, ""
        try:
            async with await client.chat.completions.create(stream=True, **call) as stream:
                refuse_pages(origin, stream.response)
                sent = hash_of_response(stream.response)
                async for chunk in stream:
                    events += 1
                    for delta in reader.take(chunk):
                        yield delta
        except Exception as error:
            raise self._client.failure(origin, error) from error
        yield ended(origin, answer, reader, events=events, sent=sent)
