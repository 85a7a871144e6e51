"""GPT, through OpenAI's SDK and its Responses API, always streamed, nothing stored at the provider.

Owns the stream and its failures; the translation is `openai_responses_wire.py`. Fails with `ProviderError` alone.
Called by `select.py` for api.openai.com; other servers are `openai_chat.py`'s.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gshtui.providers import history
from gshtui.providers import openai_responses_wire as wire
from gshtui.providers.answer import Answer
from gshtui.providers.connection import Place, ended
from gshtui.providers.openai_client import OpenAIClient, in_stream, refuse_pages
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.retry import retried
from gshtui.providers.sent import hash_of_response


class OpenAIResponses:
    """See `port.Provider`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = OpenAIClient(place)

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        return self._place.capabilities(wire.API, model)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, request, self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        return wire.body(request, self._place.model(wire.API, request.model), history.tool_names(request))

    async def count(self, request: Request) -> int:
        params = self.body(request)
        wanted = ("model", "input", "instructions", "tools")
        origin = self._client.origin(request.model)
        client = await self._client.ready(origin)
        try:
            counted = await client.responses.input_tokens.count(**{k: params[k] for k in wanted if k in params})
        except Exception as error:
            raise self._client.failure(origin, error) from error
        return int(counted.input_tokens)

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
        call: dict[str, Any] = {"model": body["model"], "input": [], "extra_body": body}
        answer = Answer(provider=self.name, api=wire.API, model=request.model, names=names)
        reader = wire.Reader(answer)
        client = await self._client.ready(origin)
        events, sent = 0, ""
        try:
            async with await client.responses.create(stream=True, **call) as stream:
                refuse_pages(origin, stream.response)
                sent = hash_of_response(stream.response)
                async for event in stream:
                    events += 1
                    for delta in reader.take(event):
                        yield delta
        except Exception as error:
            raise self._client.failure(origin, error) from error
        if reader.failure is not None:
            raise in_stream(origin, *reader.failure)
        yield ended(origin, answer, reader, events=events, sent=sent)

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        """Encrypted reasoning is bound to the account and the model; without it the conversation goes on."""
        said = error.message.lower()
        about = "encrypted" in said or "reasoning" in said
        if error.kind == "bad_request" and about and history.has_opaque(request, wire.API):
            return history.without_opaque(request, wire.API)
        return None
