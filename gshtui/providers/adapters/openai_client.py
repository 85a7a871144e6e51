"""OpenAI's SDK: the client, and the translation of its failures. Shared by the Responses and the chat adapter.

The SDK's own retries are off, because ours are visible. Called by `openai_responses` and `openai_chat`; the SDK is
imported on the first request.
"""

from __future__ import annotations

from typing import Any

from gshtui.providers.port import ProviderError
from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status, garbled, no_key, seconds
from gshtui.providers.wire.sdk_connection import Endpoint, LazyClient, imported, transport_failure
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
