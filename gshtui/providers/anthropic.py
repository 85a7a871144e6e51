"""Claude, through Anthropic's SDK: Messages API, always streamed.

Owns the client and its failures; the translation is `anthropic_wire.py`. Fails with `ProviderError` alone. The SDK's
own retries are off: ours are visible. Called by `select.py`; the SDK is imported on the first request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gshtui.providers import anthropic_wire as wire
from gshtui.providers import history
from gshtui.providers.answer import Answer
from gshtui.providers.connection import Lazy, Place, ended, imported, transport_failure
from gshtui.providers.errors import Origin, from_status, garbled, no_key, seconds
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.retry import retried
from gshtui.providers.sent import hash_of_response

KEY = "ANTHROPIC_API_KEY"
STATUS_OF_TYPE = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "invalid_request_error": 400,
    "api_error": 500,
    "billing_error": 402,
    "request_too_large": 413,
    "timeout_error": 504,
}
"""An error inside a stream comes with status 200: its type says what it is."""


class Anthropic:
    """See `port.Provider`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = Lazy(self._made)

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
        wanted = ("model", "messages", "system", "tools")
        origin = self._origin(request.model)
        client = await self._ready(origin)
        try:
            counted = await client.messages.count_tokens(**{k: params[k] for k in wanted if k in params})
        except Exception as error:
            raise self._failure(origin, error) from error
        return int(counted.input_tokens)

    async def models(self) -> list[str]:
        origin = self._origin("")
        client = await self._ready(origin)
        try:
            return [model.id async for model in client.models.list(limit=1000)]
        except Exception as error:
            raise self._failure(origin, error) from error

    async def warm(self) -> None:
        await self._ready(self._origin(""))

    async def close(self) -> None:
        if (client := self._client.take()) is not None:
            await client.close()

    def _made(self) -> Any:
        import anthropic

        from gshtui.providers.transport import WatchedClient

        place = self._place
        # Gateways in front of the API often still read the older header.
        headers = {"x-api-key": place.key} if place.base_url else {}
        return anthropic.AsyncAnthropic(
            api_key=place.key,
            base_url=place.base_url or "https://api.anthropic.com",
            max_retries=0,
            default_headers=headers,
            http_client=WatchedClient(place.deadlines),
        )

    async def _ready(self, origin: Origin) -> Any:
        if not self._place.key:
            raise no_key(origin.label, self._place.key_variable or KEY)
        await imported("anthropic", origin)
        return await self._client.get()

    def _origin(self, model: str) -> Origin:
        return Origin("Anthropic", self._place.key_variable or KEY, self._place.base_url, model)

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._origin(request.model)
        names = history.tool_names(request)
        body = self.body(request)
        # What is required stands in the call, too, but the body is sent as it is: the SDK would walk through it.
        call: dict[str, Any] = {
            "model": body["model"],
            "max_tokens": body["max_tokens"],
            "messages": [],
            "extra_body": body,
        }
        answer = Answer(provider=self.name, api=wire.API, model=request.model, names=names)
        reader = wire.Reader(answer)
        client = await self._ready(origin)
        events, sent = 0, ""
        try:
            async with await client.messages.create(stream=True, **call) as stream:
                _refuse_pages(origin, stream.response)
                sent = hash_of_response(stream.response)
                async for event in stream:
                    events += 1
                    for delta in reader.take(event):
                        yield delta
        except ProviderError:
            raise
        except Exception as error:
            raise self._failure(origin, error) from error
        yield ended(origin, answer, reader, events=events, sent=sent)

    def _failure(self, origin: Origin, error: Exception) -> ProviderError:
        import anthropic

        if isinstance(error, anthropic.APIStatusError):
            status = error.status_code
            if status == 200:
                status = STATUS_OF_TYPE.get(str(error.type), 500)
            return from_status(
                origin,
                status,
                code=f"{error.type or ''} {error.error_code or ''}",
                message=error.api_message or "",
                retry_after=seconds(error.response.headers.get("retry-after")),
            )
        return transport_failure(origin, error) or garbled(origin, f"{type(error).__name__}: {error}")

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        """Reasoning is bound to what came before it; when that was cut, the API may no longer take it."""
        said = error.message.lower()
        if error.kind == "bad_request" and "thinking" in said and history.has_opaque(request, wire.API):
            return history.without_opaque(request, wire.API)
        return None


def _refuse_pages(origin: Origin, response: Any) -> None:
    kind = str(response.headers.get("content-type", ""))
    if kind and "event-stream" not in kind:
        raise garbled(origin, f"it is {kind.split(';')[0]}, not a stream of events")
