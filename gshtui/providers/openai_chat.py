"""Servers that speak OpenAI's chat completions: vLLM, LM Studio, llama.cpp, OpenRouter, gateways.

Makes requests and reads answers and failures; never sends an unstreamed request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gshtui.bus.messages import Audio, Block, Document, Image, Stop, Text, ToolCall, ToolResult, Usage
from gshtui.providers import wire_history
from gshtui.providers.answer_builder import AnswerBuilder
from gshtui.providers.catalog import Model
from gshtui.providers.openai_client import OpenAIClient
from gshtui.providers.port import Capabilities, Delta, Request
from gshtui.providers.request_hash import hash_of_response
from gshtui.providers.retry import retried
from gshtui.providers.sdk_connection import Endpoint, ended, refuse_pages
from gshtui.providers.wire_text import ToolNames, text

API = "openai-chat"
"""Key of `opaque`: reasoning of the Responses API means nothing to other servers."""
STOPS: dict[str, Stop] = {
    "stop": "end",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


def request_body(request: Request, model: Model, names: ToolNames) -> dict[str, Any]:
    """The body of `POST /chat/completions`. The order of its keys is that of the SDK."""
    messages: list[dict[str, Any]] = []
    if system := wire_history.system(request):
        messages.append({"role": "system", "content": "\n\n".join(system)})
    for turn in wire_history.turns(request.messages, API, model.capabilities):
        messages += _user(turn.blocks) if turn.role == "user" else [_assistant(turn.blocks, names)]
    out: dict[str, Any] = {
        "model": request.model,
        "stream": True,
        "messages": messages,
        "stream_options": {"include_usage": True},
    }
    if request.tools and model.tools:
        out["tools"] = wire_history.function_tools(request, names)
    if request.max_output:
        out["max_tokens"] = request.max_output
    if request.effort and model.effort:
        out["reasoning_effort"] = request.effort
    if request.temperature is not None and model.temperature:
        out["temperature"] = request.temperature
    return out


def _user(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case ToolResult():
                out.append({"role": "tool", "tool_call_id": block.call_id, "content": block.content})
            case Text():
                content.append({"type": "text", "text": block.text})
            case Image():
                url = f"data:{block.media_type};base64,{block.data}"
                content.append({"type": "image_url", "image_url": {"url": url}})
            case Audio():
                form = "mp3" if block.media_type == "audio/mpeg" else block.media_type.partition("/")[2]
                content.append({"type": "input_audio", "input_audio": {"data": block.data, "format": form}})
            case Document():
                name = text(block.name) or "document.pdf"
                file = {"filename": name, "file_data": f"data:{block.media_type};base64,{block.data}"}
                content.append({"type": "file", "file": file})
            case _:
                pass
    if content and all(part["type"] == "text" for part in content):
        # Plain text is what the simplest servers take.
        return [*out, {"role": "user", "content": "\n\n".join(part["text"] for part in content)}]
    return [*out, {"role": "user", "content": content}] if content else out


def _assistant(blocks: tuple[Block, ...], names: ToolNames) -> dict[str, Any]:
    words = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
    calls = [
        {
            "id": block.id,
            "type": "function",
            "function": {
                "name": names.to_wire(block.name),
                "arguments": json.dumps(block.arguments, ensure_ascii=False),
            },
        }
        for block in blocks
        if isinstance(block, ToolCall)
    ]
    out: dict[str, Any] = {"role": "assistant", "content": words or None}
    return {**out, "tool_calls": calls} if calls else out


class ChatReader:
    """Takes the chunks of one stream. Keys are counted up, since text and calls may alternate."""

    def __init__(self, answer: AnswerBuilder) -> None:
        self._answer = answer
        self._run = ("", 0)
        self._calls: dict[int | str, str] = {}
        self.begun = False
        self.stop: Stop | None = None
        self.usage = Usage()

    def read_chunk(self, chunk: Any) -> list[Delta]:
        """The deltas of one chunk."""
        if counted := getattr(chunk, "usage", None):
            self.usage = usage_of(counted)
        out: list[Delta] = []
        choices: list[Any] = getattr(chunk, "choices", None) or []
        for choice in choices:
            self.begun = True
            if reason := getattr(choice, "finish_reason", None):
                self.stop = STOPS.get(reason, "end")
            if (delta := getattr(choice, "delta", None)) is not None:
                out += self._delta(delta)
        return out

    def _delta(self, delta: Any) -> list[Delta]:
        out: list[Delta] = []
        # vLLM and DeepSeek say `reasoning_content`, Ollama and OpenRouter `reasoning`.
        if thought := getattr(delta, "reasoning_content", None) or getattr(delta, "reasoning", None):
            out += self._answer.add_thinking(self._key("thinking"), str(thought))
        if words := getattr(delta, "content", None) or getattr(delta, "refusal", None):
            out += self._answer.add_text(self._key("text"), words)
        calls: list[Any] = getattr(delta, "tool_calls", None) or []
        for call in calls:
            out += self._call(call)
        return out

    def _key(self, kind: str) -> str:
        if self._run[0] != kind:
            self._run = (kind, self._run[1] + 1)
        return f"{kind} {self._run[1]}"

    def _call(self, call: Any) -> list[Delta]:
        self._run = ("call", self._run[1])
        number = getattr(call, "index", None)
        place: int | str = number if number is not None else call.id or len(self._calls)
        # Some servers send every call with index 0: another id is another call.
        if call.id and self._calls.setdefault(place, call.id) != call.id:
            place = call.id
            self._calls[place] = call.id
        key = f"call {place}"
        function = call.function
        out = self._answer.add_call(key, call_id=call.id or "", name=(function.name if function else "") or "")
        if function and function.arguments:
            more = function.arguments
            out += self._answer.add_arguments(key, more if isinstance(more, str) else json.dumps(more))
        return out


def usage_of(counted: Any) -> Usage:
    """The server's figures: its prompt includes the cache, our input does not."""
    read = int(getattr(getattr(counted, "prompt_tokens_details", None), "cached_tokens", 0) or 0)
    reasoning = int(getattr(getattr(counted, "completion_tokens_details", None), "reasoning_tokens", 0) or 0)
    prompt = int(getattr(counted, "prompt_tokens", 0) or 0)
    output = int(getattr(counted, "completion_tokens", 0) or 0)
    return Usage(input=max(0, prompt - read), output=output, cache_read=read, reasoning=reasoning)


class OpenAIChat:
    """See `port.Provider`."""

    def __init__(self, place: Endpoint) -> None:
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
        return request_body(request, self._model(request.model), wire_history.tool_names(request))

    async def warm_up(self) -> None:
        await self._client.ready(self._client.origin(""))

    async def close(self) -> None:
        await self._client.close()

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._client.origin(request.model)
        names = wire_history.tool_names(request)
        body = self.body(request)
        # What is required stands in the call, too, but the body is sent as it is: the SDK would walk through it.
        call: dict[str, Any] = {"model": body["model"], "messages": [], "extra_body": body}
        answer = AnswerBuilder(provider=self.name, api=API, model=request.model, names=names)
        reader = ChatReader(answer)
        client = await self._client.ready(origin)
        events, sent = 0, ""
        try:
            async with await client.chat.completions.create(stream=True, **call) as stream:
                refuse_pages(origin, stream.response)
                sent = hash_of_response(stream.response)
                async for chunk in stream:
                    events += 1
                    for delta in reader.read_chunk(chunk):
                        yield delta
        except Exception as error:
            raise self._client.failure(origin, error) from error
        yield ended(origin, answer, reader, events=events, sent=sent)
