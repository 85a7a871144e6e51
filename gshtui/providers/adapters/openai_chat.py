"""Servers that speak OpenAI's chat completions: vLLM, LM Studio, llama.cpp, OpenRouter, gateways.

Makes requests and reads answers and failures; never sends an unstreamed request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from gshtui.bus.messages import Audio, Block, Document, Image, Stop, Text, ToolCall, ToolResult, Usage
from gshtui.providers.adapters.openai_client import OpenAIAdapter
from gshtui.providers.catalog import Model
from gshtui.providers.port import Capabilities, Delta, Request
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.answer_builder import AnswerBuilder
from gshtui.providers.wire.event_stream import Wire, number, words
from gshtui.providers.wire.refusals import Refusals
from gshtui.providers.wire.retry import retried
from gshtui.providers.wire.sdk_connection import Endpoint, EventReader
from gshtui.providers.wire.wire_text import ToolNames, text
from gshtui.system.json_types import is_array, obj, seq, string

API = "openai-chat"
"""Key of `opaque`: reasoning of the Responses API means nothing to other servers."""
FIELDS = {"temperature": "", "reasoning_effort": "", "stream_options": "", "max_tokens": "max_completion_tokens"}
"""What some servers do not know, or not of each model, and what they want instead."""
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
    said = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
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
    out: dict[str, Any] = {"role": "assistant", "content": said or None}
    return {**out, "tool_calls": calls} if calls else out


class ChatReader(EventReader):
    """Takes the chunks of one stream, as they are on the wire. Keys are counted up, since text and calls may alternate.

    Servers differ most in their calls: without an index, without an id, with the same for all, with another id in each
    chunk, with the name in pieces or repeated, with arguments as text, as an object, or as nothing.
    """

    def __init__(self, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._run = ("", 0)
        self._choice: Any = None
        self._calls: list[str] = []
        """Keys of the calls in the order of their beginning."""
        self._named: dict[str, str] = {}
        """A call's index, also with its id → its key: the newest one where several say the same."""
        self._with_id: set[str] = set()

    def read(self, event: Wire) -> list[Delta]:
        if (error := event.get("error")) or event.get("object") == "error" or event.get("type") == "error":
            self.failure = error if error is not None else event
            return []
        self._count(event.get("usage"))
        out: list[Delta] = []
        for choice in map(obj, seq(event.get("choices"))):
            self.begun = True
            place = choice.get("index") or 0
            self._choice = place if self._choice is None else self._choice
            if place != self._choice:
                continue  # another answer to the same
            self._count(choice.get("usage"))
            out += self._delta(obj(choice.get("delta") or choice.get("message")))
            if text := string(choice.get("text")):
                out += self.answer.add_text(self._key("text"), text)
            if error := choice.get("error"):
                self.failure = error
            if reason := string(choice.get("finish_reason")):
                self.stop = STOPS.get(reason, "end")
        return out

    def _count(self, counted: Any) -> None:
        if obj(counted):
            self.usage = usage_of(obj(counted))

    def _delta(self, delta: Wire) -> list[Delta]:
        out: list[Delta] = []
        if thought := _thought(delta):
            out += self.answer.add_thinking(self._key("thinking"), thought)
        content = delta.get("content")
        for part in content if is_array(content) else [content]:
            kind = obj(part).get("type")
            if kind in ("thinking", "reasoning"):
                more = words(obj(part).get("thinking") or obj(part).get("text") or obj(part).get("content"))
                out += self.answer.add_thinking(self._key("thinking"), more) if more else []
            elif more := words(part):
                out += self.answer.add_text(self._key("text"), more)
        if refused := string(delta.get("refusal")):
            out += self.answer.add_text(self._key("text"), refused)
        for call in filter(None, map(obj, seq(delta.get("tool_calls")))):
            out += self._call(call)
        if legacy := obj(delta.get("function_call")):
            out += self._call({"index": 0, "function": legacy})
        return out

    def _key(self, kind: str) -> str:
        if self._run[0] != kind:
            self._run = (kind, self._run[1] + 1)
        return f"{kind} {self._run[1]}"

    def _call(self, call: Wire) -> list[Delta]:
        self._run = ("call", self._run[1])
        function = obj(call.get("function")) or call
        name, call_id = string(function.get("name")), string(call.get("id"))
        more = function.get("arguments", function.get("parameters"))
        key = self._place(call.get("index"), call_id, name, begins=bool(more))
        out = self.answer.add_call(key, call_id=call_id, name=name)
        if isinstance(more, str):
            return out + self.answer.add_arguments(key, more)
        return out + self.answer.set_call(key, json.dumps(more)) if more is not None else out

    def _place(self, index: Any, call_id: str, name: str, *, begins: bool) -> str:
        """The key of the call that this is of: by its index, else its id, else it may be more of the last one.
        `begins`: arguments came with it.
        """
        place, both = f"index {index}", f"index {index} id {call_id}"
        known = self._named.get(both) if call_id else None
        if known is None and index is not None:
            known = self._named.get(place)
            if known is not None and name and self._is_another(known, call_id):
                known = None
        elif known is None and self._calls and self._goes_on(self._calls[-1], call_id, name):
            known = self._calls[-1]
        if known is not None and name and begins and self.answer.is_whole(known):
            known = None
        if known is None:
            known = f"call {len(self._calls)}"
            self._calls.append(known)
        if call_id:
            self._named[both] = known
            self._with_id.add(known)
        if index is not None:
            self._named[place] = known
        return known

    def _is_another(self, key: str, call_id: str) -> bool:
        """Whether a name and another id, at an index that is known, are a call of their own: for all 0 is sent."""
        return bool(call_id) and key in self._with_id and not self.answer.needs_name(key)

    def _goes_on(self, key: str, call_id: str, name: str) -> bool:
        """Whether what has no index is more of the last call."""
        return not name or (not call_id and self.answer.needs_name(key) and not self.answer.is_whole(key))


def _thought(delta: Wire) -> str:
    """The reasoning: `reasoning_content` of vLLM and DeepSeek, `reasoning` of Ollama and OpenRouter, or its details."""
    for name in ("reasoning_content", "reasoning", "thinking"):
        if thought := words(delta.get(name)):
            return thought
    details = map(obj, seq(delta.get("reasoning_details")))
    return "".join(string(part.get("text")) or string(part.get("summary")) for part in details)


def usage_of(counted: Wire) -> Usage:
    """The server's figures: its prompt includes the cache, our input does not."""
    prompt_details, output_details = (
        obj(counted.get("prompt_tokens_details")),
        obj(counted.get("completion_tokens_details")),
    )
    read = number(prompt_details.get("cached_tokens"))
    return Usage(
        input=max(0, number(counted.get("prompt_tokens")) - read),
        output=number(counted.get("completion_tokens")),
        cache_read=read,
        reasoning=number(output_details.get("reasoning_tokens")),
    )


class OpenAIChat(OpenAIAdapter):
    """See `port.Provider`."""

    api = API
    reader = ChatReader

    def __init__(self, place: Endpoint) -> None:
        super().__init__(place, Refusals(f"{API} {place.server}", "", FIELDS), tagged=True)

    def capabilities(self, model: str) -> Capabilities:
        found = self._model(model)
        return found.capabilities if found.label else Capabilities()

    def _model(self, name: str) -> Model:
        """Gateways put the vendor before the name, as in `openai/gpt-4o`."""
        place = self._place
        host = place.host or urlsplit(place.base_url).netloc
        return place.catalog.served(name, "", host) or Model(name=name, provider="openai")

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, request, self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        body = request_body(request, self._model(request.model), wire_history.tool_names(request))
        return self._refusals.fitted(request.model, body)

    def _call(self, client: Any) -> Callable[..., Awaitable[Any]]:
        return partial(client.chat.completions.create, messages=[])
