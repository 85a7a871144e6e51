"""Gemini, through Google's SDK, always streamed, over our own HTTP client.

Owns the client and its failures; the translation is `gemini_wire.py`. Fails with `ProviderError` alone. Without a
client of ours the SDK would use another transport wherever `aiohttp` happens to be installed. Called by `select.py`;
the SDK is imported on the first request.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, cast

from gshtui.bus.ids import new_id
from gshtui.providers import gemini_wire as wire
from gshtui.providers import history
from gshtui.providers.answer import Answer
from gshtui.providers.connection import STREAM, Lazy, Place, ended, imported, transport_failure
from gshtui.providers.errors import Origin, from_status, garbled, no_key, seconds
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.retry import retried

KEY = "GEMINI_API_KEY"
ADDRESS = "https://generativelanguage.googleapis.com"
_STAND_IN = "."
"""The SDK wants a conversation of its own; ours is in the body, which is sent as it is."""


class Gemini:
    """See `port.Provider`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._client = Lazy(self._made)

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        return self._place.capabilities(wire.API, model.removeprefix("models/"))

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, request, self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        model = self._place.model(wire.API, request.model.removeprefix("models/"))
        return wire.body(request, model, history.tool_names(request))

    async def count(self, request: Request) -> int:
        origin = self._origin(request.model)
        contents = self.body(request)["contents"]
        client, _ = await self._ready(origin)
        try:
            counted = await client.aio.models.count_tokens(
                model=request.model,
                contents=_STAND_IN,
                config={"http_options": {"extra_body": {"contents": contents}}},
            )
        except Exception as error:
            raise self._failure(origin, error) from error
        # This API counts the conversation only; the system blocks and tools are estimated.
        rest = Request(model=request.model, system=request.system, messages=(), tools=request.tools)
        return int(counted.total_tokens or 0) + history.size(rest)

    async def models(self) -> list[str]:
        origin = self._origin("")
        client, _ = await self._ready(origin)
        try:
            found = [model async for model in await client.aio.models.list(config={"page_size": 1000})]
        except Exception as error:
            raise self._failure(origin, error) from error
        chat = [m for m in found if not m.supported_actions or "generateContent" in m.supported_actions]
        return sorted(str(model.name or "").removeprefix("models/") for model in chat)

    async def warm(self) -> None:
        await self._ready(self._origin(""))

    async def close(self) -> None:
        if (made := self._client.take()) is not None:
            client, http = made
            await client.aio.aclose()
            await http.aclose()

    def _made(self) -> Any:
        from google import genai
        from google.genai import types

        from gshtui.providers.transport import WatchedClient

        http = WatchedClient(self._place.deadlines)
        options = types.HttpOptions(base_url=self._place.base_url or ADDRESS, httpx_async_client=cast("Any", http))
        return genai.Client(api_key=self._place.key, vertexai=False, http_options=options), http

    async def _ready(self, origin: Origin) -> Any:
        if not self._place.key:
            raise no_key(origin.label, self._place.key_variable or KEY)
        await imported("google.genai", origin)
        return await self._client.get()

    def _origin(self, model: str) -> Origin:
        return Origin("Gemini", self._place.key_variable or KEY, self._place.base_url, model)

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._origin(request.model)
        names = history.tool_names(request)
        answer = Answer(provider=self.name, api=wire.API, model=request.model, names=names)
        reader = wire.Reader(answer)
        client, http = await self._ready(origin)
        # The SDK leaves a stream that is not read to its end to the garbage collector.
        name = new_id()
        options = {"headers": {STREAM: name}, "extra_body": self.body(request)}
        config = {"automatic_function_calling": {"disable": True}, "http_options": options}
        events, sent = 0, ""
        try:
            chunks = await client.aio.models.generate_content_stream(
                model=request.model, contents=_STAND_IN, config=config
            )
            async with aclosing(chunks):
                async for chunk in chunks:
                    events += 1
                    sent = sent or http.sent(name)
                    for delta in reader.take(chunk):
                        yield delta
        except Exception as error:
            raise self._failure(origin, error) from error
        finally:
            await http.close_stream(name)
        if reader.blocked and reader.stop is None:
            raise _blocked(origin, reader.blocked)
        if reader.malformed and answer.empty:
            raise _malformed(origin, reader.malformed)
        yield ended(origin, answer, reader, events=events, sent=sent)

    def _failure(self, origin: Origin, error: Exception) -> ProviderError:
        from google.genai import errors

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, errors.APIError):
            reasons, wait = _details(cast("Any", error).details)
            code = f"{error.status or ''} {reasons}"
            return from_status(origin, error.code or 500, code=code, message=error.message or "", retry_after=wait)
        return transport_failure(origin, error) or garbled(origin, f"{type(error).__name__}: {error}")

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        """A signature counts only where it was made; without it the conversation goes on."""
        said = error.message.lower()
        if error.kind == "bad_request" and "thought" in said and history.has_opaque(request, wire.API):
            return history.without_opaque(request, wire.API)
        return None


def _blocked(origin: Origin, reason: str) -> ProviderError:
    message = f"{origin.who} refused the prompt ({reason.lower()})"
    return ProviderError("refusal", message, hint="Say it in other words, or switch to another model with `model`.")


def _malformed(origin: Origin, reason: str) -> ProviderError:
    message = f"{origin.who} could not put its tool call into words ({reason.lower()})"
    return ProviderError("truncated", message, hint="Send the prompt again to retry.", retryable=True)


def _details(body: Any) -> tuple[str, float | None]:
    """Reasons and quotas that the error names, and how long it asks to wait."""
    reasons: list[str] = []
    wait: float | None = None
    error: Any = cast("dict[str, Any]", body).get("error") if isinstance(body, dict) else None
    entries: Any = cast("dict[str, Any]", error).get("details") if isinstance(error, dict) else None
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            continue
        fields = cast("dict[str, Any]", entry)
        reasons.append(str(fields.get("reason", "")))
        violations = cast("list[Any]", fields.get("violations") or [])
        reasons += [str(cast("dict[str, Any]", v).get("quotaId", "")) for v in violations if isinstance(v, dict)]
        wait = seconds(str(fields["retryDelay"])) if "retryDelay" in fields else wait
    return " ".join(reasons), wait
