"""OpenAI's SDK: the client, one streamed answer, and failures as ours. For the Responses and the chat adapter.

The SDK's own retries are off, because ours are visible. Called by `openai_responses` and `openai_chat`; the SDK is
imported on the first request.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, ClassVar

from gshtui.providers.port import Delta, Provider, ProviderError, Request
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.event_stream import EventStream
from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status, garbled, no_key, seconds
from gshtui.providers.wire.refusals import Refusals
from gshtui.providers.wire.request_hash import hash_of_response
from gshtui.providers.wire.sdk_connection import (
    Endpoint,
    EventReader,
    LazyClient,
    begun_answer,
    ended,
    imported,
    transport_failure,
)
from gshtui.settings.known_providers import KNOWN_PROVIDERS
from gshtui.system.json_types import is_object

KEY = "OPENAI_API_KEY"
ADDRESS = "https://api.openai.com/v1"


class OpenAIClient:
    """The SDK's client for one place, made on first use."""

    def __init__(self, place: Endpoint) -> None:
        self.place = place
        self._lazy = LazyClient(self._made)

    def origin(self, model: str) -> ErrorOrigin:
        """Who failed, for the sentences."""
        place = self.place
        if place.host:
            known = KNOWN_PROVIDERS[place.host]
            address = "" if place.base_url == known.home else place.base_url
            return ErrorOrigin(known.label, place.key_variable, address, model)
        label = "OpenAI" if place.name == "openai" and not place.base_url else place.name
        return ErrorOrigin(label, place.key_variable or KEY, place.base_url, model)

    async def ready(self, origin: ErrorOrigin) -> Any:
        """The client. Raises `ProviderError` without a key, unless it uses a self-hosted server."""
        if not self.place.key and not self.place.base_url:
            raise no_key("OpenAI", self.place.key_variable or KEY)
        await imported("openai", origin)
        return await self._lazy.get(origin)

    def _made(self) -> Any:
        import openai

        from gshtui.providers.wire.http_client import WatchedClient

        place = self.place
        address = place.base_url or ADDRESS
        if place.host == "azure" and not place.base_url.endswith("/v1"):
            if place.cloud.api_version:
                return openai.AsyncAzureOpenAI(
                    azure_endpoint=address,
                    api_version=place.cloud.api_version,
                    api_key=place.key or None,
                    azure_ad_token=None if place.key else place.cloud.token,
                    max_retries=0,
                    http_client=WatchedClient(place.deadlines, address),
                )
            address = f"{address}/openai/v1"
        return openai.AsyncOpenAI(
            api_key=place.key or place.cloud.token or "none",  # local servers ask for no key, the SDK for something
            base_url=address,
            max_retries=0,
            http_client=WatchedClient(place.deadlines, address),
        )

    async def close(self) -> None:
        if (client := self._lazy.detach()) is not None:
            await client.close()

    def failure(self, origin: ErrorOrigin, error: Exception) -> ProviderError:
        """An exception of the SDK or the transport as ours."""
        import openai

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, openai.APIStatusError):
            return from_status(
                origin,
                error.status_code,
                code=f"{error.code or ''} {error.type or ''}",
                message=_said(error),
                retry_after=_retry_after(error.response.headers),
            )
        if isinstance(error, openai.APIConnectionError):
            return transport_failure(origin, error) or garbled(origin, str(error))
        return transport_failure(origin, error) or garbled(origin, str(error))


class OpenAIAdapter(Provider):
    """What the adapters of both APIs share."""

    api: ClassVar[str]
    reader: ClassVar[type[EventReader]]

    def __init__(self, place: Endpoint, refusals: Refusals, *, tagged: bool) -> None:
        self._place = place
        self._client = OpenAIClient(place)
        self._refusals = refusals
        self._tagged = tagged

    @property
    def name(self) -> str:
        return self._place.name

    async def warm_up(self) -> None:
        await self._client.ready(self._client.origin(""))

    async def close(self) -> None:
        await self._client.close()

    @abstractmethod
    def _call(self, client: Any) -> Callable[..., Awaitable[Any]]:
        """The SDK's call, with what it requires besides the body."""

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._client.origin(request.model)
        body = self.body(request)
        names = wire_history.tool_names(request)
        reader = self.reader(begun_answer(self, self.api, request, names, origin, tagged=self._tagged))
        call = self._call(await self._client.ready(origin))
        try:
            # The body is sent as it is: the SDK would walk through it.
            async with await call(model=body["model"], stream=True, extra_body=body) as answered:
                sent = hash_of_response(answered.response)
                stream = EventStream(origin, answered.response)
                async for event in stream:
                    for delta in reader.read(event):
                        yield delta
                    if reader.failure:
                        break
        except Exception as error:
            raise self._client.failure(origin, error) from error
        self._refusals.answered(request.model)
        yield ended(origin, reader, stream, sent)

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        return self._refusals.relieve(error, request, self.body(request))


def _said(error: Any) -> str:
    """The message in the body; Ollama's `error` is a plain string, and some servers send no JSON."""
    body = error.body
    if is_object(body):
        inner = body.get("message") or body.get("error") or body.get("detail")
        return inner if isinstance(inner, str) else str(inner or "")
    return body if isinstance(body, str) else ""


def _retry_after(headers: Any) -> float | None:
    milliseconds = seconds(headers.get("retry-after-ms"))
    return milliseconds / 1000 if milliseconds is not None else seconds(headers.get("retry-after"))
