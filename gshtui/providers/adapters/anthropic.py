"""Claude: the Messages API, always streamed; in a cloud of others', through Anthropic's SDK.

Makes requests and reads their events and failures; never sends an unstreamed request.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from itertools import islice
from typing import Any

from gshtui.bus.messages import Audio, Block, Document, Image, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers.adapters.claude_clouds import ClaudeCloud, cloud_answer, refused, unusable
from gshtui.providers.catalog import Model
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.answer_builder import AnswerBuilder
from gshtui.providers.wire.event_stream import DecodedStream, EventStream, Wire, number
from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status, garbled, in_stream, no_key, seconds
from gshtui.providers.wire.refusals import Refusals
from gshtui.providers.wire.request_hash import encoded, hash_of_response
from gshtui.providers.wire.retry import retried
from gshtui.providers.wire.sdk_connection import (
    Endpoint,
    EventReader,
    LazyClient,
    begun_answer,
    ended,
    imported,
    transport_failure,
)
from gshtui.providers.wire.wire_text import ToolNames, data, text
from gshtui.system.json_types import obj, parse_foreign_json, seq, string

API = "anthropic"
_THINKS_FROM = 1_024
"""Tokens of an answer, or for thinking alone, below which models are not told to think."""
CACHE = {"type": "ephemeral"}
FIELDS = {"temperature": "", "thinking": "", "output_config": ""}
BUDGETS = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Tokens for thinking, for models that accept a budget."""
STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "pause_turn": "end",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
    "model_context_window_exceeded": "context",
}


def rendered_turn(turn: wire_history.WireTurn, names: ToolNames) -> dict[str, Any]:
    return {"role": turn.role, "content": [_block(b, names) for b in turn.blocks]}


def request_body(request: Request, model: Model, history: wire_history.WiredRequest) -> dict[str, Any]:
    """The body of `POST /v1/messages`. The order of its keys is that of the SDK."""
    turns, names = history.turns, history.names
    out: dict[str, Any] = {
        "max_tokens": _longest(request, model, history.tokens),
        "messages": history.rendered,
        "model": request.model,
        "stream": True,
    }
    if system := wire_history.system(request):
        out["system"] = [{"type": "text", "text": block} for block in system]
    if request.tools:
        out["tools"] = [
            {"name": names.to_wire(t.name), "description": text(t.description), "input_schema": data(t.schema)}
            for t in request.tools
        ]
    if thinking := _thinking(request, model, turns, int(out["max_tokens"])):
        out["thinking"] = thinking
    if request.effort and model.effort:
        out["output_config"] = {"effort": request.effort}
    if request.temperature is not None and model.temperature and not thinking:
        out["temperature"] = request.temperature
    if model.caching or not model.label:
        _breakpoints(out)
    return dict(sorted(out.items()))


def _longest(request: Request, model: Model, tokens: int) -> int:
    """The maximum answer: the requested or the model's own maximum, limited by the room in the window."""
    longest = min(request.max_output or model.max_output, model.max_output)
    room = model.window - tokens - 1_024
    return min(longest, max(_THINKS_FROM, room))


def _thinking(request: Request, model: Model, turns: list[wire_history.WireTurn], longest: int) -> dict[str, Any]:
    if longest < _THINKS_FROM:
        return {}  # it could use up a short answer before the first word
    if model.thinking == "adaptive":
        return {"type": "adaptive", "display": "summarized"}
    if model.thinking != "budget" or not request.effort or _in_a_foreign_tool_loop(turns):
        return {}
    budget = min(BUDGETS[request.effort], longest // 2)
    return {"type": "enabled", "budget_tokens": budget} if budget >= _THINKS_FROM else {}


def _in_a_foreign_tool_loop(turns: list[wire_history.WireTurn]) -> bool:
    """Results follow an answer without signed thinking: these models then refuse to be told to think."""
    if len(turns) < 2 or not any(isinstance(block, ToolResult) for block in turns[-1].blocks):
        return False
    return not any(isinstance(block, Thinking) for block in turns[-2].blocks)


def _block(block: Block, names: ToolNames) -> dict[str, Any]:
    match block:
        case Text():
            return {"type": "text", "text": block.text}
        case Thinking():
            signed = block.opaque[API]
            if "redacted" in signed:
                return {"type": "redacted_thinking", "data": signed["redacted"]}
            return {"type": "thinking", "thinking": block.text, "signature": signed.get("signature", "")}
        case Image():
            return {"type": "image", "source": _source(block)}
        case Audio():  # none of its models hears: what is sent instead is text
            return {"type": "text", "text": f"[The sound {text(block.name)} was left out.]"}
        case Document():
            return {"type": "document", "source": _source(block), **({"title": text(block.name)} if block.name else {})}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": names.to_wire(block.name), "input": block.arguments}
        case ToolResult():
            out: dict[str, Any] = {"type": "tool_result", "tool_use_id": block.call_id, "content": block.content}
            return {**out, "is_error": True} if block.status != "ok" else out


def _source(block: Image | Document) -> dict[str, str]:
    return {"type": "base64", "media_type": block.media_type, "data": block.data}


def _breakpoints(out: dict[str, Any]) -> None:
    """Four at most: behind the stable system block (which covers the tools), behind all of the system, behind the last
    user turn and the one before it, so that the next request finds what this one wrote."""
    if system := out.get("system"):
        system[0]["cache_control"] = CACHE
        system[-1]["cache_control"] = CACHE
    elif tools := out.get("tools"):
        tools[-1]["cache_control"] = CACHE
    messages = out["messages"]
    for at in islice((at for at in range(len(messages) - 1, -1, -1) if messages[at]["role"] == "user"), 2):
        *before, last = messages[at]["content"]
        messages[at] = {**messages[at], "content": [*before, {**last, "cache_control": CACHE}]}


class AnthropicReader(EventReader):
    """Takes the events of one stream, as they are on the wire."""

    def __init__(self, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._usage: dict[str, int] = {}
        self._kinds: dict[int, str] = {}
        self._signatures: dict[int, str] = {}
        self._whole: dict[int, str] = {}
        """The input of a call that came with its beginning, where none follows."""
        self._blocks: list[object] = []
        """The index that each block began with; its place here is what its pieces belong to."""

    def read(self, event: Wire) -> list[Delta]:
        match event.get("type"):
            case "message_start":
                self.begun = True
                self._count(obj(obj(event.get("message")).get("usage")))
            case "content_block_start":
                self._blocks.append(event.get("index"))
                return self._start(len(self._blocks) - 1, obj(event.get("content_block")))
            case "content_block_delta":
                return self._delta(self._block(event.get("index")), obj(event.get("delta")))
            case "message_delta":
                self._count(obj(event.get("usage")))
                if reason := string(obj(event.get("delta")).get("stop_reason")):
                    self.stop = STOPS.get(reason, "end")
            case "message_stop":
                return self._end()
            case "message":  # the whole answer in place of its stream
                return self._message(event)
            case _:
                if event.get("type") == "error" or event.get("error"):
                    self.failure = event.get("error") or event
        return []

    def _block(self, index: object) -> int:
        """The place of the last block that began with this index, or of the last one. Some give one index to all."""
        if index is not None and index not in self._blocks:
            self._blocks.append(index)
        count = len(self._blocks)
        return next((at for at in reversed(range(count)) if self._blocks[at] == index), max(0, count - 1))

    def _message(self, message: Wire) -> list[Delta]:
        self.begun = True
        self._count(obj(message.get("usage")))
        self.stop = STOPS.get(string(message.get("stop_reason")), "end")
        blocks = enumerate(map(obj, seq(message.get("content"))))
        return [delta for index, block in blocks for delta in self._start(index, block)] + self._end()

    def _end(self) -> list[Delta]:
        self.stop = self.stop or "end"
        return [delta for index, whole in self._whole.items() for delta in self.answer.set_call(index, whole)]

    def _start(self, index: int, block: Wire) -> list[Delta]:
        self.begun = True
        kind = self._kinds[index] = string(block.get("type"))
        match kind:
            case "text":
                return self.answer.add_text(index, string(block.get("text")))
            case "thinking":
                self._signature(index, string(block.get("signature")))
                return self.answer.add_thinking(index, string(block.get("thinking")))
            case "redacted_thinking":
                self.answer.set_opaque(index, "thinking", {"redacted": string(block.get("data"))})
                return []
            case "tool_use":
                if given := block.get("input"):
                    self._whole[index] = given if isinstance(given, str) else json.dumps(given)
                name = string(block.get("name"))
                return self.answer.add_call(index, call_id=string(block.get("id")), name=name)
            case _:
                return []

    def _delta(self, index: int, delta: Wire) -> list[Delta]:
        kind = string(delta.get("type"))
        # Some servers do not say that a block begins.
        known = self._kinds.setdefault(index, {"text_delta": "text", "thinking_delta": "thinking"}.get(kind, ""))
        match kind:
            case "text_delta" if known == "text":
                self.begun = True
                return self.answer.add_text(index, string(delta.get("text")))
            case "thinking_delta" if known == "thinking":
                self.begun = True
                return self.answer.add_thinking(index, string(delta.get("thinking")))
            case "signature_delta" if known == "thinking":
                self._signature(index, string(delta.get("signature")))
            case "input_json_delta" if known == "tool_use":
                if more := string(delta.get("partial_json")):
                    self._whole.pop(index, None)
                    return self.answer.add_arguments(index, more)
            case _:
                pass
        return []

    def _signature(self, index: int, more: str) -> None:
        whole = self._signatures[index] = self._signatures.get(index, "") + more
        if whole:
            self.answer.set_opaque(index, "thinking", {"signature": whole})

    def _count(self, usage: Wire) -> None:
        """Figures are totals so far: the newer ones win, where they say anything."""
        for ours, theirs in (
            ("input", "input_tokens"),
            ("output", "output_tokens"),
            ("cache_read", "cache_read_input_tokens"),
            ("cache_write", "cache_creation_input_tokens"),
        ):
            if usage.get(theirs) is not None:
                self._usage[ours] = number(usage[theirs])
        if details := obj(usage.get("output_tokens_details")):
            self._usage["reasoning"] = number(details.get("thinking_tokens"))
        self.usage = Usage(**self._usage)  # their input excludes the cache, as ours does


KEY = "ANTHROPIC_API_KEY"
ADDRESS = "https://api.anthropic.com"
VERSION = "2023-06-01"
"""Of the API, which every request names."""


class Anthropic:
    """See `port.Provider`.

    Args:
        cloud: that serves it in Anthropic's place.
    """

    def __init__(self, place: Endpoint, cloud: ClaudeCloud | None = None) -> None:
        self._place = place
        self._cloud = cloud
        self._client = LazyClient(self._made)
        self._history = wire_history.WireHistory(API, rendered_turn)
        self._refusals = Refusals(f"{API} {place.server}", API, FIELDS, ("signature", "thinking"))

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        return self._place.capabilities(API, model)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, self._refusals.usable(request), self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        model = self._place.model(API, request.model)
        request = self._refusals.usable(request)
        return self._wire(request, request_body(request, model, self._history.wired(request, model.capabilities)))

    def _wire(self, request: Request, body: Wire) -> Wire:
        fitting = self._refusals.fitted(request.model, body)
        return fitting if self._cloud is None else self._cloud.wire(fitting)

    async def warm_up(self) -> None:
        await self._ready(self._origin(""))

    async def close(self) -> None:
        if (client := self._client.detach()) is not None:
            await (client.aclose() if self._cloud is None else client.close())

    def _made(self) -> Any:
        from gshtui.providers.wire.http_client import WatchedClient

        place = self._place
        if (cloud := self._cloud) is None:
            return WatchedClient(place.deadlines, place.base_url or ADDRESS)
        http = WatchedClient(place.deadlines, cloud.address)
        try:
            return cloud.client(http)
        except Exception as error:
            raise unusable(cloud.label, error, cloud.hint) from error

    async def _ready(self, origin: ErrorOrigin) -> Any:
        if self._cloud is not None:
            await imported(self._cloud.package, origin)
            await imported("anthropic", origin)
        elif not self._place.key:
            raise no_key(origin.label, self._place.key_variable or KEY)
        return await self._client.get(origin)

    def _origin(self, model: str) -> ErrorOrigin:
        place = self._place
        if self._cloud is not None:
            return ErrorOrigin(self._cloud.label, place.key_variable, place.base_url, model)
        return ErrorOrigin("Anthropic", place.key_variable or KEY, place.base_url, model)

    @contextlib.asynccontextmanager
    async def _answered(
        self, origin: ErrorOrigin, model: str, body: Wire
    ) -> AsyncGenerator[tuple[str, EventStream | DecodedStream]]:
        """The hash of the request's bytes, and the events of its answer. Raises `ProviderError` where it is refused."""
        client = await self._ready(origin)
        if (cloud := self._cloud) is not None:
            async with await cloud_answer(cloud, client, {**body, "model": model, "stream": True}) as answered:
                yield hash_of_response(answered.response), cloud.events(origin, answered)
            return
        url = f"{(self._place.base_url or ADDRESS).rstrip('/')}/v1/messages"
        async with client.stream("POST", url, content=encoded(body), headers=self._headers()) as response:
            if not response.is_success:
                raise _refusal(origin, response.status_code, _parsed(await response.aread()), response.headers)
            yield hash_of_response(response), EventStream(origin, response)

    def _headers(self) -> dict[str, str]:
        key = self._place.key
        older = {"x-api-key": key} if self._place.base_url else {}  # gateways often still read this one
        return {
            "accept": "application/json",
            "anthropic-version": VERSION,
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            **older,
            **dict(self._place.headers),
        }

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._origin(request.model)
        model = self._place.model(API, request.model)
        history = self._history.wired(request, model.capabilities)
        body = self._wire(request, request_body(request, model, history))
        answer = begun_answer(self, API, request, history.names, origin, tagged=bool(self._place.base_url))
        reader = AnthropicReader(answer)
        try:
            async with self._answered(origin, request.model, body) as (sent, stream):
                async for event in stream:
                    for delta in reader.read(event):
                        yield delta
                    if reader.failure:
                        break
        except ProviderError:
            raise
        except Exception as error:
            raise self._failure(origin, error) from error
        self._refusals.answered(request.model)
        yield ended(origin, reader, stream, sent)

    def _failure(self, origin: ErrorOrigin, error: Exception) -> ProviderError:
        if self._cloud is not None and (response := refused(error)) is not None:
            body = obj(vars(error)["body"])
            if response.status_code == 200:  # of a stream that the SDK decodes
                return in_stream(origin, body.get("error") or body)
            return _refusal(origin, response.status_code, body, response.headers)
        return transport_failure(origin, error) or garbled(origin, str(error))

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        """Reasoning depends on what precedes it; if that was cut, the API may reject it."""
        return self._refusals.relieve(error, request, self.body(request))


def _parsed(data: bytes) -> Wire:
    with contextlib.suppress(ValueError):  # a proxy's page says nothing that counts
        return obj(parse_foreign_json(data))
    return {}


def _refusal(origin: ErrorOrigin, status: int, body: Wire, headers: Mapping[str, str]) -> ProviderError:
    error = obj(body.get("error"))
    return from_status(
        origin,
        status,
        code=f"{string(error.get('type'))} {string(obj(error.get('details')).get('error_code'))}"
        f" {headers.get('x-amzn-errortype', '')}",
        message=string(error.get("message")) or string(body.get("message")),
        retry_after=seconds(headers.get("retry-after")),
    )
