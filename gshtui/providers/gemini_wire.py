"""Gemini's generateContent: our request as contents and config, its chunks as our answer.

Pure: no network, no SDK. Thought signatures go back on the part on which they came. Called by `gemini.py`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Literal

from gshtui.bus.messages import Block, Document, Image, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers import history
from gshtui.providers.answer import Answer
from gshtui.providers.catalog import Model
from gshtui.providers.clean import ToolNames, data, text
from gshtui.providers.port import Delta, Request

API = "gemini"
UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
"""What Google says to send with a call that another model made, in place of its signature."""
BUDGETS = {"low": 1_024, "medium": 8_192, "high": 24_576}
STOPS: dict[str, Stop] = {"STOP": "end", "MAX_TOKENS": "max_tokens"}
REFUSALS = {
    "SAFETY",
    "RECITATION",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "LANGUAGE",
    "MODEL_ARMOR",
    "IMAGE_SAFETY",
    "ESCALATION",
}
MALFORMED = {"MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}


def body(request: Request, model: Model, names: ToolNames) -> dict[str, Any]:
    """The body of `POST …:streamGenerateContent`. The order of its keys is that of the SDK."""
    out: dict[str, Any] = {"contents": contents(request, model, names), "generationConfig": _config(request, model)}
    if system := history.system(request):
        out["systemInstruction"] = {"parts": [{"text": block} for block in system], "role": "user"}
    if request.tools:
        declarations = [
            {
                "name": names.to_wire(tool.name),
                "description": text(tool.description),
                "parametersJsonSchema": data(tool.schema),
            }
            for tool in request.tools
        ]
        out["tools"] = [{"functionDeclarations": declarations}]
    return out


def contents(request: Request, model: Model, names: ToolNames) -> list[dict[str, Any]]:
    """The conversation."""
    out: list[dict[str, Any]] = []
    signs = _wants_signatures(request.model)
    for turn in history.turns(request.messages, API, model.capabilities):
        parts = [part for block in turn.blocks if (part := _part(block, names)) is not None]
        if turn.role == "assistant" and signs:
            _sign_first_call(parts)
        out.append({"role": "model" if turn.role == "assistant" else "user", "parts": parts})
    return out


def _wants_signatures(model: str) -> bool:
    """From the third generation on, a call without a signature is refused."""
    match = re.match(r"(?:models/)?gemini-(\d+)", model)
    return match is not None and int(match.group(1)) >= 3


def _sign_first_call(parts: list[dict[str, Any]]) -> None:
    first = next((part for part in parts if "functionCall" in part), None)
    if first is not None and "thoughtSignature" not in first:
        first["thoughtSignature"] = UNSIGNED


def _part(block: Block, names: ToolNames) -> dict[str, Any] | None:
    match block:
        case Text():
            return _signed({"text": block.text}, block.opaque)
        case Thinking():
            return _signed({"text": block.text, "thought": True}, block.opaque)
        case Image() | Document():
            return {"inlineData": {"mimeType": block.media_type, "data": block.data}}
        case ToolCall():
            return _signed({"functionCall": {"name": names.to_wire(block.name), "args": block.arguments}}, block.opaque)
        case ToolResult():
            said = {"output" if block.status == "ok" else "error": block.content}
            return {"functionResponse": {"name": names.to_wire(block.name), "response": said}}


def _signed(part: dict[str, Any], opaque: dict[str, Any]) -> dict[str, Any]:
    signature = opaque.get(API, {}).get("signature", "")
    return {**part, "thoughtSignature": signature} if _is_base64(signature) else part


def _is_base64(encoded: str) -> bool:
    try:
        return bool(base64.b64decode(encoded, validate=True))
    except (binascii.Error, ValueError):
        return False


def _config(request: Request, model: Model) -> dict[str, Any]:
    """How to answer."""
    out: dict[str, Any] = {}
    if request.temperature is not None and model.temperature:
        out["temperature"] = request.temperature
    if request.max_output:
        out["maxOutputTokens"] = min(request.max_output, model.max_output)
    if model.thinking in ("level", "budget"):
        thinking: dict[str, Any] = {"includeThoughts": True}
        if request.effort and model.thinking == "level":
            thinking["thinkingLevel"] = request.effort.upper()
        elif request.effort:
            thinking["thinkingBudget"] = BUDGETS[request.effort]
        out["thinkingConfig"] = thinking
    return out


class Reader:
    """Takes the chunks of one stream. A part that goes on is told by its kind; a signature ends it."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._kind = ""
        self._number = 0
        self.begun = False
        self.blocked = ""
        self.malformed = ""
        self.stop: Stop | None = None
        self.usage = Usage()

    def take(self, chunk: Any) -> list[Delta]:
        """The deltas of one chunk."""
        if (counted := chunk.usage_metadata) is not None:
            self.usage = usage(counted)
        if (feedback := chunk.prompt_feedback) is not None and feedback.block_reason:
            self.blocked = _name(feedback.block_reason)
        out: list[Delta] = []
        candidates: list[Any] = chunk.candidates or []
        for candidate in candidates[:1]:
            self.begun = True
            parts: list[Any] = (candidate.content.parts if candidate.content else None) or []
            for part in parts:
                out += self._part(part)
            if candidate.finish_reason:
                self._finish(_name(candidate.finish_reason))
        return out

    def _finish(self, reason: str) -> None:
        if reason in MALFORMED:
            self.malformed = reason
        self.stop = "refusal" if reason in REFUSALS else STOPS.get(reason, "end")

    def _part(self, part: Any) -> list[Delta]:
        signature = base64.b64encode(part.thought_signature).decode() if part.thought_signature else ""
        if part.function_call is not None:
            return self._call(part.function_call, signature)
        if part.text is None:
            return []
        kind: Literal["text", "thinking"] = "thinking" if part.thought else "text"
        if kind != self._kind:
            self._kind = kind
            self._number += 1
        key = self._number
        out = self._answer.thinking(key, part.text) if part.thought else self._answer.text(key, part.text)
        if signature:
            self._answer.keep(key, kind, {"signature": signature})
            self._kind = ""
        return out

    def _call(self, call: Any, signature: str) -> list[Delta]:
        self._kind = ""
        self._number += 1
        key = self._number
        arguments = json.dumps(call.args if call.args is not None else {}, ensure_ascii=False)
        out = self._answer.call(key, call_id=call.id or "", name=call.name or "")
        out += self._answer.arguments(key, arguments)
        if signature:
            self._answer.keep(key, "call", {"signature": signature})
        return out


def _name(value: Any) -> str:
    return str(getattr(value, "value", value))


def usage(counted: Any) -> Usage:
    """Google's figures: its prompt includes the cache, its candidates leave the thoughts out; ours are the opposite."""
    read = int(counted.cached_content_token_count or 0)
    thoughts = int(counted.thoughts_token_count or 0)
    prompt = int(counted.prompt_token_count or 0) + int(counted.tool_use_prompt_token_count or 0)
    output = int(counted.candidates_token_count or 0) + thoughts
    return Usage(input=max(0, prompt - read), output=output, cache_read=read, reasoning=thoughts)
