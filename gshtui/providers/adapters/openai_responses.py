"""GPT, through OpenAI's SDK and its Responses API: always streamed, nothing stored at the provider.

Makes requests and reads answers and failures; never sends an unstreamed request. The Responses API takes no sound: a
model that hears is asked by chat completions (developers.openai.com/api/docs/models/gpt-audio).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from gshtui.bus.messages import Block, Document, Image, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers.adapters.openai_chat import OpenAIChat
from gshtui.providers.adapters.openai_client import OpenAIAdapter
from gshtui.providers.catalog import Model
from gshtui.providers.port import Capabilities, Delta, Request
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.answer_builder import AnswerBuilder
from gshtui.providers.wire.event_stream import Wire, number
from gshtui.providers.wire.refusals import Refusals
from gshtui.providers.wire.retry import retried
from gshtui.providers.wire.sdk_connection import Endpoint, EventReader
from gshtui.providers.wire.wire_text import ToolNames, data, text
from gshtui.system.json_types import obj, seq, string

API = "openai"
FIELDS = {"temperature": "", "parallel_tool_calls": "", "reasoning": "", "include": ""}


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


class ResponsesReader(EventReader):
    """Takes the events of one stream, as they are on the wire."""

    def __init__(self, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._summaries: dict[str, int] = {}
        self._keys: dict[tuple[str, object], str] = {}
        """Of each item, by its id and its place in the answer."""
        self._ended: set[str] = set()
        self._refused = False

    def read(self, event: Wire) -> list[Delta]:
        kind = string(event.get("type"))
        self.begun = self.begun or kind.startswith("response.")
        more = string(event.get("delta"))
        match kind:
            case "response.output_item.added":
                return self._added(event, obj(event.get("item")))
            case "response.output_text.delta":
                return self.answer.add_text(self._key(event), more)
            case "response.refusal.delta":
                self._refused = True
                return self.answer.add_text(self._key(event), more)
            case "response.reasoning_summary_text.delta":
                return self._summary(self._key(event), number(event.get("summary_index")), more)
            case "response.reasoning_text.delta":
                return self.answer.add_thinking(self._key(event), more)
            case "response.function_call_arguments.delta":
                return self.answer.add_arguments(self._key(event), more)
            case "response.output_item.done":
                return self._done(event, obj(event.get("item")))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.done":
                return self._end(obj(event.get("response")))
            case "error":
                self.failure = event.get("error") or event
            case _:
                if error := event.get("error"):
                    self.failure = error
                elif event.get("object") == "response":  # the whole answer in place of its stream
                    self.begun = True
                    return self._end(event)
        return []

    def _key(self, event: Wire, item: Wire | None = None, *, begins: bool = False) -> str:
        """What an event, with an item in it perhaps, is about. Some servers give no ids or places, or one for all."""
        item_id = string(event.get("item_id")) or string((item or {}).get("id"))
        given = event.get("output_index")
        about = (item_id, given if isinstance(given, int | str) else None)
        known = self._keys.get(about) or next(
            (
                key
                for (one, place), key in reversed(self._keys.items())
                if (one == item_id if one and item_id else place == about[1] and place is not None)
            ),
            None,
        )
        if known is None or (begins and known in self._ended):
            known = f"item {len(self._keys)} {len(self._ended)}"
        self._keys[about] = known
        return known

    def _added(self, event: Wire, item: Wire) -> list[Delta]:
        key = self._key(event, item, begins=True)
        return self._begin_call(key, item) if item.get("type") == "function_call" else []

    def _begin_call(self, key: str, item: Wire) -> list[Delta]:
        call_id = string(item.get("call_id"))
        return self.answer.add_call(key, call_id=call_id, name=string(item.get("name")))

    def _summary(self, key: str, index: int, more: str) -> list[Delta]:
        before = self._summaries.setdefault(key, index)
        self._summaries[key] = index
        return self.answer.add_thinking(key, f"\n\n{more}" if index != before else more)

    def _done(self, event: Wire, item: Wire) -> list[Delta]:
        key = self._key(event, item, begins=not item.get("id"))
        self._ended.add(key)
        match item.get("type"):
            case "function_call":
                given = item.get("arguments")
                whole = given if isinstance(given, str) else json.dumps(given) if given is not None else ""
                return self._begin_call(key, item) + self.answer.set_call(key, whole)
            case "message":
                shown = self.answer.add_text(key, "")
                parts = [obj(part) for part in seq(item.get("content"))]
                whole = "".join(string(part.get("text")) or string(part.get("refusal")) for part in parts)
                if whole:
                    shown += self.answer.set_call(key, whole)
                if phase := string(item.get("phase")):
                    self.answer.set_opaque(key, "text", {"phase": phase})
                return shown
            case "reasoning":
                return self._reasoned(key, item)
            case _:
                return []

    def _reasoned(self, key: str, item: Wire) -> list[Delta]:
        shown = self.answer.add_thinking(key, "")
        parts = [obj(part) for part in seq(item.get("summary"))]
        if encrypted := item.get("encrypted_content"):
            summary = [{"type": "summary_text", "text": string(part.get("text"))} for part in parts]
            signed = {"id": string(item.get("id")), "encrypted": encrypted, "summary": summary}
            self.answer.set_opaque(key, "thinking", signed)
        return shown

    def _end(self, response: Wire) -> list[Delta]:
        self.usage = usage_of(obj(response.get("usage")))
        if response.get("status") == "failed":
            self.failure = response.get("error") or {"message": "it failed without a reason"}
            return []
        # What no event has brought is there once more, as a whole.
        items = [obj(item) for item in seq(response.get("output"))]
        brought = bool(self._keys)
        out = [
            delta
            for place, item in enumerate(items)
            if item.get("id") or not brought
            for delta in self._done({"output_index": place}, item)
        ]
        if response.get("status") == "incomplete":
            reason = obj(response.get("incomplete_details")).get("reason")
            self.stop = "refusal" if reason == "content_filter" else "max_tokens"
        else:
            self.stop = "refusal" if self._refused else "end"
        return out


def usage_of(counted: Wire) -> Usage:
    """The API's figures: its input includes the cache, ours does not."""
    details = obj(counted.get("input_tokens_details"))
    read, written = number(details.get("cached_tokens")), number(details.get("cache_write_tokens"))
    return Usage(
        input=max(0, number(counted.get("input_tokens")) - read - written),
        output=number(counted.get("output_tokens")),
        cache_read=read,
        cache_write=written,
        reasoning=number(obj(counted.get("output_tokens_details")).get("reasoning_tokens")),
    )


class OpenAIResponses(OpenAIAdapter):
    """See `port.Provider`."""

    api = API
    reader = ResponsesReader

    def __init__(self, place: Endpoint) -> None:
        refusals = Refusals(f"{API} {place.server}", API, FIELDS, ("encrypted", "reasoning"))
        super().__init__(place, refusals, tagged=bool(place.base_url))
        self._hearing = OpenAIChat(place)

    def capabilities(self, model: str) -> Capabilities:
        return self._place.capabilities(API, model)

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        if self._place.model(API, request.model).audio:
            return self._hearing.stream(request)
        return retried(self._attempt, self._refusals.usable(request), self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        if self._place.model(API, request.model).audio:
            return self._hearing.body(request)
        request = self._refusals.usable(request)
        body = request_body(request, self._place.model(API, request.model), wire_history.tool_names(request))
        return self._refusals.fitted(request.model, body)

    async def close(self) -> None:
        await super().close()
        await self._hearing.close()

    def _call(self, client: Any) -> Callable[..., Awaitable[Any]]:
        return partial(client.responses.create, input=[])
