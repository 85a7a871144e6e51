"""Local models, through Ollama's chat API over our HTTP client.

Makes requests and reads answers and failures; never sends an unstreamed request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, cast

from msgspec.structs import replace

from gshtui.bus.messages import Block, Image, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers.catalog import Model
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.answer_builder import AnswerBuilder
from gshtui.providers.wire.event_stream import EventStream, Wire, number, words
from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status, garbled, seconds
from gshtui.providers.wire.request_hash import hash_of
from gshtui.providers.wire.retry import retried
from gshtui.providers.wire.sdk_connection import (
    Endpoint,
    EventReader,
    LazyClient,
    begun_answer,
    ended,
    transport_failure,
)
from gshtui.providers.wire.wire_text import ToolNames
from gshtui.system.json_types import is_object, obj, seq, string

API = "ollama"
WIDEST = 32_768
"""Tokens of window that we ask for unless told otherwise: memory grows with it."""
STOPS: dict[str, Stop] = {"stop": "end", "length": "max_tokens"}


def request_body(request: Request, abilities: Capabilities, names: ToolNames) -> dict[str, Any]:
    """The body of `POST /api/chat`."""
    messages: list[dict[str, Any]] = []
    if system := wire_history.system(request):
        messages.append({"role": "system", "content": "\n\n".join(system)})
    for turn in wire_history.turns(request.messages, API, abilities):
        messages += _user(turn.blocks, names) if turn.role == "user" else _assistant(turn.blocks, names)
    options: dict[str, Any] = {"num_ctx": abilities.window}
    if request.max_output:
        options["num_predict"] = request.max_output
    if request.temperature is not None:
        options["temperature"] = request.temperature
    out: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True, "options": options}
    if request.tools and abilities.tools:
        out["tools"] = wire_history.function_tools(request, names)
    if abilities.thinking:
        # gpt-oss takes levels and cannot be told not to think; the others take yes or no.
        out["think"] = request.effort if request.effort and request.model.startswith("gpt-oss") else True
    return out


def _user(blocks: tuple[Block, ...], names: ToolNames) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    texts: list[str] = []
    images: list[str] = []
    for block in blocks:
        match block:
            case ToolResult():
                out.append({"role": "tool", "tool_name": names.to_wire(block.name), "content": block.content})
            case Text():
                texts.append(block.text)
            case Image():
                images.append(block.data)
            case _:
                pass
    if texts or images:
        message: dict[str, Any] = {"role": "user", "content": "\n\n".join(texts)}
        out.append({**message, "images": images} if images else message)
    return out


def _assistant(blocks: tuple[Block, ...], names: ToolNames) -> list[dict[str, Any]]:
    said = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
    thoughts = "\n\n".join(block.text for block in blocks if isinstance(block, Thinking))
    calls = [
        {"function": {"name": names.to_wire(block.name), "arguments": block.arguments}}
        for block in blocks
        if isinstance(block, ToolCall)
    ]
    out: dict[str, Any] = {"role": "assistant", "content": said}
    if thoughts:
        out["thinking"] = thoughts
    if calls:
        out["tool_calls"] = calls
    return [out] if said.strip() or thoughts or calls else []


class OllamaReader(EventReader):
    """Takes the lines of one stream, decoded."""

    def __init__(self, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._kind = ""
        self._number = 0

    def read(self, event: Wire) -> list[Delta]:
        if error := event.get("error"):
            self.failure = error
            return []
        out: list[Delta] = []
        if isinstance(event.get("message"), dict):
            self.begun = True
            out = self._message(obj(event["message"]))
        if event.get("done"):
            self.begun = True
            self.stop = STOPS.get(string(event.get("done_reason")) or "stop", "end")
            self.usage = Usage(input=number(event.get("prompt_eval_count")), output=number(event.get("eval_count")))
        return out

    def _message(self, message: Wire) -> list[Delta]:
        out: list[Delta] = []
        if thought := words(message.get("thinking")):
            key = self._key("thinking")
            out += self.answer.add_thinking(key, thought)
            self.answer.set_opaque(key, "thinking", True)
        if more := words(message.get("content")):
            out += self.answer.add_text(self._key("text"), more)
        for call in filter(None, map(obj, seq(message.get("tool_calls")))):
            out += self._call(call)
        return out

    def _key(self, kind: str) -> int:
        if kind != self._kind:
            self._kind = kind
            self._number += 1
        return self._number

    def _call(self, call: Wire) -> list[Delta]:
        self._kind = ""
        key = self._key("call")
        self._kind = ""
        function = obj(call.get("function")) or call
        arguments = function.get("arguments")
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments if arguments is not None else {})
        out = self.answer.add_call(key, call_id=string(call.get("id")), name=string(function.get("name")))
        return out + self.answer.add_arguments(key, raw)


def learned_capabilities(shown: Any, known: Model | None) -> Capabilities:
    """The server's description of a model (`/api/show`), completed by the catalog.

    The window comes from the person's catalog, else the model's configuration, else its maximum, within reason.
    """
    fields = shown if is_object(shown) else {}
    info = cast("dict[str, Any]", fields.get("model_info") or {})
    longest = next((int(v) for k, v in info.items() if k.endswith(".context_length") and isinstance(v, int)), 0)
    said = known.window if known is not None and known.window != Capabilities().window else 0
    window = said or _modelfile_window(str(fields.get("parameters") or "")) or min(longest or WIDEST, WIDEST)
    can = cast("list[str] | None", fields.get("capabilities"))
    return Capabilities(
        window=window,
        max_output=window,
        tools="tools" in can if can is not None else True,
        images="vision" in can if can is not None else False,
        thinking="thinking" in can if can is not None else bool(known and known.thinking),
        effort=bool(known and known.effort),
        price_input=0.0,
        price_output=0.0,
        known=True,
    )


def _modelfile_window(parameters: str) -> int:
    for line in parameters.split("\n"):
        name, _, value = line.strip().partition(" ")
        if name == "num_ctx" and value.strip().isdigit():
            return int(value.strip())
    return 0


ADDRESS = "http://127.0.0.1:11434"


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

    def __init__(self, place: Endpoint) -> None:
        self._place = place
        self._base = place.base_url or ADDRESS
        self._client = LazyClient(self._made)
        self._learned: dict[str, Capabilities] = {}

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        known = self._place.catalog.find(model, API)
        return self._learned.get(model) or replace(learned_capabilities(None, known), known=False)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, request, self._place.backoff)

    def body(self, request: Request) -> dict[str, Any]:
        return request_body(request, self.capabilities(request.model), wire_history.tool_names(request))

    async def learn(self, model: str) -> Capabilities:
        """Ask the server what the model can do. Raises `ProviderError`, also when it has no such model."""
        if model not in self._learned:
            shown = await self._json(self._origin(model), "POST", "/api/show", {"model": model})
            self._learned[model] = learned_capabilities(shown, self._place.catalog.find(model, API))
        return self._learned[model]

    async def close(self) -> None:
        if (client := self._client.detach()) is not None:
            await client.aclose()

    def _made(self) -> Any:
        from gshtui.providers.wire.http_client import WatchedClient

        return WatchedClient(self._place.deadlines, self._base)

    def _origin(self, model: str) -> ErrorOrigin:
        return ErrorOrigin(
            "Ollama",
            address=self._base,
            model=model,
            unknown_model_hint=f"Run `ollama pull {model}` first, or `model list` to see what is installed.",
            network_hint="Start it with `ollama serve`, or set OLLAMA_HOST to its address.",
        )

    async def _json(self, origin: ErrorOrigin, method: str, path: str, body: Any) -> dict[str, Any]:
        client = await self._client.get(origin)
        try:
            response = await client.request(method, self._base + path, json=body)
        except Exception as error:
            raise _failure(origin, error) from error
        _refuse(origin, response, response.text)
        try:
            answer = response.json()
        except ValueError as error:
            raise garbled(origin, "it is not JSON") from error
        if not is_object(answer):
            raise garbled(origin, "it is not a JSON object")
        return answer

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._origin(request.model)
        await self.learn(request.model)
        names = wire_history.tool_names(request)
        answer = begun_answer(self, API, request, names, origin, tagged=True)
        reader = OllamaReader(answer)
        client = await self._client.get(origin)
        content = json.dumps(self.body(request)).encode()
        headers = {"content-type": "application/json"}
        try:
            async with client.stream("POST", self._base + "/api/chat", content=content, headers=headers) as response:
                if response.status_code != 200:
                    await response.aread()
                    _refuse(origin, response, response.text)
                stream = EventStream(origin, response)
                async for line in stream:
                    for delta in reader.read(line):
                        yield delta
                    if reader.failure:
                        break
        except Exception as error:
            raise _failure(origin, error) from error
        yield ended(origin, reader, stream, hash_of(content))


def _refuse(origin: ErrorOrigin, response: Any, text: str) -> None:
    """Raise `ProviderError` unless the status means success."""
    if response.status_code < 300:
        return
    try:
        said = str(json.loads(text).get("error", ""))
    except (ValueError, AttributeError, RecursionError):
        said = text
    raise from_status(
        origin, response.status_code, message=said, retry_after=seconds(response.headers.get("retry-after"))
    )


def _failure(origin: ErrorOrigin, error: Exception) -> ProviderError:
    if isinstance(error, ProviderError):
        return error
    return transport_failure(origin, error) or garbled(origin, str(error))
