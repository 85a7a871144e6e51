"""GPT, through OpenAI's SDK and its Responses API: always streamed, nothing stored at the provider.

Makes requests and reads answers and failures; never sends an unstreamed request. The Responses API takes no sound: a
model that hears is asked by chat completions (developers.openai.com/api/docs/models/gpt-audio).
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from gshtui.bus.messages import Block, Document, Image, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers import wire_history
from gshtui.providers.answer_builder import AnswerBuilder
from gshtui.providers.catalog import Model
from gshtui.providers.openai_chat import OpenAIChat
from gshtui.providers.openai_client import OpenAIClient, in_stream
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.request_hash import hash_of_response
from gshtui.providers.retry import retried
from gshtui.providers.sdk_connection import Endpoint, ended, refuse_pages
from gshtui.providers.wire_text import ToolNames, data, text

API = "openai"


def request_body(request: Request, model: Model, names: ToolNames) -> dict[str, Any]:
    """The body of `POST /responses`. The order of its keys is that of the SDK."""
    items: list[dict[str, Any]] = []
    for turn in wire_history.turns(request.messages, API, model.capabilities):
        items += _user(turn.blocks) if turn.role == "user" else _assistant(turn.blocks, names)
    out: dict[str, Any] = {"model": request.model, "stream": True, "input": items, "store": False}
    if system := wire_history.system(request):
        out["instructions"] = "\n\n".join(system)
    if request.tools:
        # Strict schemas allow no optional parameter, and ours have some.
        out["tools"] = [
            {
                "type": "function",
                "name": names.to_wire(tool.name),
                "description": text(tool.description),
                "parameters": data(tool.schema),
                "strict": False,
            }
            for tool in request.tools
        ]
        out["parallel_tool_calls"] = True
    if request.max_output:
        out["max_output_tokens"] = max(16, min(request.max_output, model.max_output))
    if model.thinking == "effort":
        out["reasoning"] = {"summary": "auto", **({"effort": request.effort} if request.effort else {})}
        out["include"] = ["reasoning.encrypted_content"]
    if request.temperature is not None and model.temperature:
        out["temperature"] = request.temperature
    return out


def _user(blocks: tuple[Block, ...]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case ToolResult():
                items.append({"type": "function_call_output", "call_id": block.call_id, "output": block.content})
            case Text():
                content.append({"type": "input_text", "text": block.text})
            case Image():
                content.append({"type": "input_image", "detail": "auto", "image_url": _url(block)})
            case Document():
                name = text(block.name) or "document.pdf"
                content.append({"type": "input_file", "filename": name, "file_data": _url(block)})
            case _:
                pass
    return [*items, {"role": "user", "content": content}] if content else items


def _url(block: Image | Document) -> str:
    return f"data:{block.media_type};base64,{block.data}"


def _assistant(blocks: tuple[Block, ...], names: ToolNames) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for block in blocks:
        match block:
            case Thinking():
                items.append(_reasoning(block))
            case Text() if block.text.strip():
                phase = block.opaque.get(API, {}).get("phase")
                items.append({"role": "assistant", "content": block.text, **({"phase": phase} if phase else {})})
            case ToolCall():
                arguments = json.dumps(block.arguments, ensure_ascii=False)
                name = names.to_wire(block.name)
                items.append({"type": "function_call", "call_id": block.id, "name": name, "arguments": arguments})
            case _:
                pass
    # Reasoning that nothing followed (the answer was cut off) is refused.
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _reasoning(block: Thinking) -> dict[str, Any]:
    signed = block.opaque[API]
    summary = [{"type": "summary_text", "text": block.text}] if block.text else []
    out = {"type": "reasoning", "id": signed.get("id", ""), "summary": signed.get("summary", summary)}
    return {**out, "encrypted_content": signed.get("encrypted", "")}


class ResponsesReader:
    """Takes the events of one stream."""

    def __init__(self, answer: AnswerBuilder) -> None:
        self._answer = answer
        self._summaries: dict[str, int] = {}
        self._refused = False
        self.begun = False
        self.failure: tuple[str, str] | None = None
        """Code and message if the API reports a failure, for which the SDK does not raise."""
        self.stop: Stop | None = None
        self.usage = Usage()

    def read_event(self, event: Any) -> list[Delta]:
        """The deltas of one event; events and items of unknown types are passed over."""
        kind = str(getattr(event, "type", "") or "")
        self.begun = self.begun or kind.startswith("response.")
        match kind:
            case "response.output_item.added":
                return self._added(event.item)
            case "response.output_text.delta":
                return self._answer.add_text(event.item_id, event.delta or "")
            case "response.refusal.delta":
                self._refused = True
                return self._answer.add_text(event.item_id, event.delta or "")
            case "response.reasoning_summary_text.delta":
                return self._summary(event.item_id, event.summary_index, event.delta or "")
            case "response.reasoning_text.delta":
                return self._answer.add_thinking(event.item_id, event.delta or "")
            case "response.function_call_arguments.delta":
                return self._answer.add_arguments(event.item_id, event.delta or "")
            case "response.output_item.done":
                return self._done(event.item)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(event.response)
            case "error":
                self.failure = (str(event.code or ""), str(event.message or ""))
            case _:
                pass
        return []

    def _added(self, item: Any) -> list[Delta]:
        if item.type == "function_call":
            return self._answer.add_call(item.id, call_id=item.call_id or "", name=item.name or "")
        return []

    def _summary(self, key: str, index: int, words: str) -> list[Delta]:
        before = self._summaries.setdefault(key, index)
        self._summaries[key] = index
        return self._answer.add_thinking(key, f"\n\n{words}" if index != before else words)

    def _done(self, item: Any) -> list[Delta]:
        match item.type:
            case "function_call":
                begun = self._answer.add_call(item.id, call_id=item.call_id or "", name=item.name or "")
                return begun + self._answer.set_call(item.id, item.arguments or "")
            case "message":
                shown = self._answer.add_text(item.id, "")
                words = "".join(getattr(c, "text", None) or getattr(c, "refusal", None) or "" for c in item.content)
                if words:
                    shown += self._answer.set_call(item.id, words)
                if phase := getattr(item, "phase", None):
                    self._answer.set_opaque(item.id, "text", {"phase": phase})
                return shown
            case "reasoning":
                return self._reasoned(item)
            case _:
                return []

    def _reasoned(self, item: Any) -> list[Delta]:
        shown = self._answer.add_thinking(item.id, "")
        if encrypted := getattr(item, "encrypted_content", None):
            parts: list[Any] = item.summary or []
            summary = [{"type": "summary_text", "text": str(part.text)} for part in parts]
            self._answer.set_opaque(item.id, "thinking", {"id": item.id, "encrypted": encrypted, "summary": summary})
        return shown

    def _end(self, response: Any) -> None:
        self.usage = usage_of(response.usage) if response.usage is not None else Usage()
        if response.status == "failed":
            error = response.error
            self.failure = (str(getattr(error, "code", "") or ""), str(getattr(error, "message", "") or ""))
            return
        if response.status == "incomplete":
            reason = getattr(response.incomplete_details, "reason", "")
            self.stop = "refusal" if reason == "content_filter" else "max_tokens"
            return
        self.stop = "refusal" if self._refused else "end"


def usage_of(counted: Any) -> Usage:
    """The API's figures: its input includes the cache, ours does not."""
    details = getattr(counted, "input_tokens_details", None)
    read = int(getattr(details, "cached_tokens", 0) or 0)
    written = int(getattr(details, "cache_write_tokens", 0) or 0)
    reasoning = int(getattr(getattr(counted, "output_tokens_details", None), "reasoning_tokens", 0) or 0)
    return Usage(
        input=max(0, int(counted.input_tokens or 0) - read - written),
        output=int(counted.output_tokens or 0),
        cache_read=read,
        cache_write=written,
        reasoning=reasoning,
    )


class OpenAIResponses:
    """See `port.Provider`."""

    def __init__(self, place: Endpoint) -> None:
        self._place = place
        self._client = OpenAIClient(place)
        self._hearing = OpenAIChat(place)

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        return self._place.capabilities(API, model)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        if self._place.model(API, request.model).audio:
            return self._hearing.stream(request)
        return retried(self._attempt, request, self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        if self._place.model(API, request.model).audio:
            return self._hearing.body(request)
        return request_body(request, self._place.model(API, request.model), wire_history.tool_names(request))

    async def warm_up(self) -> None:
        await self._client.ready(self._client.origin(""))

    async def close(self) -> None:
        await self._client.close()
        await self._hearing.close()

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._client.origin(request.model)
        names = wire_history.tool_names(request)
        body = self.body(request)
        # What is required stands in the call, too, but the body is sent as it is: the SDK would walk through it.
        call: dict[str, Any] = {"model": body["model"], "input": [], "extra_body": body}
        answer = AnswerBuilder(provider=self.name, api=API, model=request.model, names=names)
        reader = ResponsesReader(answer)
        client = await self._client.ready(origin)
        events, sent = 0, ""
        try:
            async with await client.responses.create(stream=True, **call) as stream:
                refuse_pages(origin, stream.response)
                sent = hash_of_response(stream.response)
                async for event in stream:
                    events += 1
                    for delta in reader.read_event(event):
                        yield delta
        except Exception as error:
            raise self._client.failure(origin, error) from error
        if reader.failure is not None:
            raise in_stream(origin, *reader.failure)
        yield ended(origin, answer, reader, events=events, sent=sent)

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        """Encrypted reasoning is tied to account and model; the conversation can continue without it."""
        said = error.message.lower()
        about = "encrypted" in said or "reasoning" in said
        if error.kind == "bad_request" and about and wire_history.has_opaque(request, API):
            return wire_history.without_opaque(request, API)
        return None
