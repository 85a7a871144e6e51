"""Models on a machine of one's own, through Ollama's API, over our HTTP client.

Owns the requests and their failures, and what the server said of its models; the translation is `ollama_wire.py`.
Fails with `ProviderError` alone. Called by `select.py`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace
from typing import Any, cast

from gshtui.providers import history
from gshtui.providers import ollama_wire as wire
from gshtui.providers.answer import Answer
from gshtui.providers.connection import Lazy, Place, ended, transport_failure
from gshtui.providers.errors import Origin, from_status, garbled, seconds
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.retry import retried
from gshtui.providers.sent import hash_of

ADDRESS = "http://127.0.0.1:11434"
LONGEST_LINE = 64_000_000


def address(host: str) -> str:
    """A base URL from `OLLAMA_HOST`, which may be a host, a port, or both; servers' own `0.0.0.0` is this machine."""
    host = host.strip().rstrip("/")
    if not host:
        return ADDRESS
    scheme, _, rest = host.rpartition("://")
    name, colon, port = rest.partition(":") if not rest.startswith("[") else (rest, "", "")
    if name in ("", "0.0.0.0"):
        name = "127.0.0.1"
    if not colon and scheme != "https" and "]:" not in name and "/" not in name:
        colon, port = ":", "11434"
    return f"{scheme or 'http'}://{name}{colon}{port}"


class Ollama:
    """See `port.Provider`."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._base = place.base_url or ADDRESS
        self._client = Lazy(self._made)
        self._learned: dict[str, Capabilities] = {}

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        known = self._place.catalog.find(model, wire.API)
        return self._learned.get(model) or replace(wire.learned(None, known), known=False)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, request, self._place.backoff)

    def body(self, request: Request) -> dict[str, Any]:
        return wire.body(request, self.capabilities(request.model), history.tool_names(request))

    async def count(self, request: Request) -> int:
        return history.size(request)

    async def models(self) -> list[str]:
        origin = self._origin("")
        answer = await self._json(origin, "GET", "/api/tags", None)
        found = cast("list[dict[str, Any]]", answer.get("models") or [])
        return [str(model.get("name") or model.get("model") or "") for model in found]

    async def learn(self, model: str) -> Capabilities:
        """Ask the server what the model can do. Raises `ProviderError`, also when it has no such model."""
        if model not in self._learned:
            shown = await self._json(self._origin(model), "POST", "/api/show", {"model": model})
            self._learned[model] = wire.learned(shown, self._place.catalog.find(model, wire.API))
        return self._learned[model]

    async def close(self) -> None:
        if (client := self._client.take()) is not None:
            await client.aclose()

    def _made(self) -> Any:
        from gshtui.providers.transport import WatchedClient

        return WatchedClient(self._place.deadlines)

    async def _ready(self) -> Any:
        return await self._client.get()

    def _origin(self, model: str) -> Origin:
        return Origin(
            "Ollama",
            address=self._base,
            model=model,
            unknown_model_hint=f"Run `ollama pull {model}` first, or `model list` to see what is installed.",
            network_hint="Start it with `ollama serve`, or set OLLAMA_HOST to where it runs.",
        )

    async def _json(self, origin: Origin, method: str, path: str, body: Any) -> dict[str, Any]:
        client = await self._ready()
        try:
            response = await client.request(method, self._base + path, json=body)
        except Exception as error:
            raise _failure(origin, error) from error
        _refuse(origin, response, response.text)
        try:
            answer = response.json()
        except ValueError as error:
            raise garbled(origin, "it is no JSON") from error
        if not isinstance(answer, dict):
            raise garbled(origin, "it is no JSON object")
        return cast("dict[str, Any]", answer)

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._origin(request.model)
        await self.learn(request.model)
        names = history.tool_names(request)
        answer = Answer(provider=self.name, api=wire.API, model=request.model, names=names)
        reader = wire.Reader(answer)
        client = await self._ready()
        content = json.dumps(self.body(request)).encode()
        headers = {"content-type": "application/json"}
        try:
            async with client.stream("POST", self._base + "/api/chat", content=content, headers=headers) as response:
                if response.status_code != 200:
                    await response.aread()
                    _refuse(origin, response, response.text)
                async for line in _lines(response):
                    for delta in reader.take(line):
                        yield delta
        except Exception as error:
            raise _failure(origin, error) from error
        if reader.failure:
            raise from_status(origin, 500, message=reader.failure)
        yield ended(origin, answer, reader, events=0, sent=hash_of(content))


async def _lines(response: Any) -> AsyncIterator[Any]:
    """The lines as data. Only a newline ends a line: U+2028 may stand within one."""
    held = b""
    async for piece in response.aiter_bytes():
        held += piece
        if len(held) > LONGEST_LINE:
            raise ValueError("a line without an end")
        *whole, held = held.split(b"\n")
        for line in whole:
            if line.strip():
                yield _data(line)
    if held.strip():
        yield _data(held)


def _data(line: bytes) -> Any:
    try:
        return json.loads(line)
    except RecursionError as error:
        raise ValueError("a line that is nested too deeply") from error


def _refuse(origin: Origin, response: Any, text: str) -> None:
    """Raises `ProviderError` for a status that is no success."""
    if response.status_code < 300:
        return
    try:
        said = str(json.loads(text).get("error", ""))
    except (ValueError, AttributeError, RecursionError):
        said = text
    raise from_status(
        origin, response.status_code, message=said, retry_after=seconds(response.headers.get("retry-after"))
    )


def _failure(origin: Origin, error: Exception) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, json.JSONDecodeError):
        return garbled(origin, "it is not made of JSON lines")
    return transport_failure(origin, error) or garbled(origin, f"{type(error).__name__}: {error}")
