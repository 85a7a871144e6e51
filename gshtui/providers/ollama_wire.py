"""Ollama's own chat API: our request as its body, its lines as our answer.

Pure: no network. The window is set with every request, since the server's own default is small and it cuts silently.
Called by `ollama.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from gshtui.bus.messages import Block, Image, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers import history
from gshtui.providers.answer import Answer
from gshtui.providers.catalog import Model
from gshtui.providers.clean import ToolNames, data, text
from gshtui.providers.port import Capabilities, Delta, Request

API = "ollama"
WIDEST = 32_768
"""Tokens of window that we ask for unless told otherwise: memory grows with it."""
STOPS: dict[str, Stop] = {"stop": "end", "length": "max_tokens"}


def body(request: Request, abilities: Capabilities, names: ToolNames) -> dict[str, Any]:
    """The body of `POST /api/chat`."""
    messages: list[dict[str, Any]] = []
    if system := history.system(request):
        messages.append({"role": "system", "content": "\n\n".join(system)})
    for turn in history.turns(request.messages, API, abilities):
        messages += _user(turn.blocks, names) if turn.role == "user" else _assistant(turn.blocks, names)
    options: dict[str, Any] = {"num_ctx": abilities.window}
    if request.max_output:
        options["num_predict"] = request.max_output
    if request.temperature is not None:
        options["temperature"] = request.temperature
    out: dict[str, Any] = {"model": request.model, "messages": messages, "stream": True, "options": options}
    if request.tools and abilities.tools:
        out["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": names.to_wire(tool.name),
                    "description": text(tool.description),
                    "parameters": data(tool.schema),
                },
            }
            for tool in request.tools
        ]
    if abilities.thinking:
        # gpt-oss takes levels and cannot be told not to think; the others take yes or no.
        out["think"] = request.effort if request.effort and request.model.startswith("gpt-oss") else True
    return out


def _user(blocks: tuple[Block, ...], names: ToolNames) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    words: list[str] = []
    images: list[str] = []
    for block in blocks:
        match block:
            case ToolResult():
                out.append({"role": "tool", "tool_name": names.to_wire(block.name), "content": block.content})
            case Text():
                words.append(block.text)
            case Image():
                images.append(block.data)
            case _:
                pass
    if words or images:
        message: dict[str, Any] = {"role": "user", "content": "\n\n".join(words)}
        out.append({**message, "images": images} if images else message)
    return out


def _assistant(blocks: tuple[Block, ...], names: ToolNames) -> list[dict[str, Any]]:
    words = "\n\n".join(block.text for block in blocks if isinstance(block, Text))
    thoughts = "\n\n".join(block.text for block in blocks if isinstance(block, Thinking))
    calls = [
        {"function": {"name": names.to_wire(block.name), "arguments": block.arguments}}
        for block in blocks
        if isinstance(block, ToolCall)
    ]
    out: dict[str, Any] = {"role": "assistant", "content": words}
    if thoughts:
        out["thinking"] = thoughts
    if calls:
        out["tool_calls"] = calls
    return [out] if words.strip() or thoughts or calls else []


class Reader:
    """Takes the lines of one stream, decoded."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._kind = ""
        self._number = 0
        self.begun = False
        self.failure = ""
        """What the server said went wrong in the middle of the answer."""
        self.stop: Stop | None = None
        self.usage = Usage()

    def take(self, line: Any) -> list[Delta]:
        """The deltas of one line."""
        if not isinstance(line, dict):
            return []
        fields = cast("dict[str, Any]", line)
        if error := fields.get("error"):
            self.failure = str(error)
            return []
        out: list[Delta] = []
        message: Any = fields.get("message")
        if isinstance(message, dict):
            self.begun = True
            out = self._message(cast("dict[str, Any]", message))
        if fields.get("done"):
            self.begun = True
            self.stop = STOPS.get(str(fields.get("done_reason") or "stop"), "end")
            self.usage = Usage(input=_number(fields, "prompt_eval_count"), output=_number(fields, "eval_count"))
        return out

    def _message(self, message: dict[str, Any]) -> list[Delta]:
        out: list[Delta] = []
        if thought := message.get("thinking"):
            key = self._key("thinking")
            out += self._answer.thinking(key, str(thought))
            self._answer.keep(key, "thinking", True)
        if words := message.get("content"):
            out += self._answer.text(self._key("text"), str(words))
        for call in cast("list[Any]", message.get("tool_calls") or []):
            out += self._call(call)
        return out

    def _key(self, kind: str) -> int:
        if kind != self._kind:
            self._kind = kind
            self._number += 1
        return self._number

    def _call(self, call: Any) -> list[Delta]:
        self._kind = ""
        key = self._key("call")
        self._kind = ""
        fields = cast("dict[str, Any]", call) if isinstance(call, dict) else {}
        asked: Any = fields.get("function")
        function = cast("dict[str, Any]", asked) if isinstance(asked, dict) else {}
        arguments = function.get("arguments")
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments if arguments is not None else {})
        out = self._answer.call(key, call_id=str(fields.get("id") or ""), name=str(function.get("name") or ""))
        return out + self._answer.arguments(key, raw)


def _number(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def learned(shown: Any, known: Model | None) -> Capabilities:
    """What the server says of a model (`/api/show`), with what the catalog adds.

    The window is what the person's catalog says, else what the model was set up with, else what it can, within reason.
    """
    fields = cast("dict[str, Any]", shown) if isinstance(shown, dict) else {}
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
