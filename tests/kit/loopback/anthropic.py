"""Anthropic's Messages API as a loopback speaks it."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.kit.loopback.script import Answer, Call, Fault, Say, Strange, Think, end, pieces, spent
from tests.kit.loopback.speech import Frame, base64_data, known, need, sign, sse, tool_name

STOPS = {"end": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens", "refusal": "refusal"}
TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
FIELDS = {
    "model", "max_tokens", "messages", "system", "tools", "tool_choice", "stream", "thinking", "output_config",
    "temperature", "metadata", "stop_sequences",
}  # fmt: skip


class AnthropicSpeech:
    content_type = "text/event-stream; charset=utf-8"

    def __init__(self) -> None:
        self._numbers = itertools.count(1)  # some clients take two answers with one id for the same answer

    def route(self, method: str, path: str) -> str:
        routes = {"POST /v1/messages": "chat", "POST /v1/messages/count_tokens": "count", "GET /v1/models": "models"}
        return routes.get(f"{method} {path}", "")

    def model(self, path: str, body: Any) -> str:
        return str(body.get("model", ""))

    def key(self, headers: dict[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ") or headers.get("x-api-key", "")

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        status, message, kind = fault.status_code, fault.message, ""
        match fault.kind:
            case "quota":
                status, message = 400, "Your credit balance is too low to access the Anthropic API."
            case "context":
                status, message = 400, "prompt is too long: 208310 tokens > 200000 maximum"
            case "unsigned":
                status = 400
                message = "messages.1.content.0: Invalid `signature` in `thinking` block."
            case _:
                message = message or {401: "invalid x-api-key", 404: f"model: {model}"}.get(status, "no luck")
        kind = TYPES.get(status, "api_error")
        headers = {"retry-after": f"{fault.retry_after:g}"} if fault.retry_after is not None else {}
        body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
        return status, headers, body

    def trouble(self) -> bytes:
        return sse({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")

    def other(self, kind: str, models: list[str], body: Any) -> Any:
        if kind == "count":
            return {"input_tokens": len(json.dumps(body)) // 4}
        entries = [
            {
                "type": "model",
                "id": name,
                "display_name": name,
                "created_at": "2026-10-01T00:00:00Z",
                "lifecycle": "active",
            }
            for name in models
        ]
        return {"data": entries, "has_more": False, "first_id": None, "last_id": None}

    def frames(self, answer: Answer, model: str, chunk: int) -> Iterator[Frame]:
        used = spent(answer)
        usage = {
            "input_tokens": used.input,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write,
            "output_tokens": 1,
        }
        message = {
            "id": f"msg_{next(self._numbers)}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "usage": usage,
        }
        yield _event({"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}})
        yield _event({"type": "ping"})
        index = 0
        for step in answer:
            yield from _block(step, index, chunk)
            index += isinstance(step, Say | Think | Call | Strange)
        last = {"output_tokens": used.output, "output_tokens_details": {"thinking_tokens": used.reasoning}}
        stop = {"stop_reason": STOPS[end(answer)], "stop_sequence": None}
        yield _event({"type": "message_delta", "delta": stop, "usage": last})
        yield _event({"type": "message_stop"})

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        known(body, FIELDS, "body")
        need("anthropic-version" in headers, "anthropic-version: header is required")
        need(body.get("stream") is True, "stream: only streams here")
        need(isinstance(body.get("max_tokens"), int) and body["max_tokens"] >= 1, "max_tokens: must be at least 1")
        _check_thinking(body)
        _check_tools(body)
        _check_system(body)
        _check_messages(body["messages"])
        marks = json.dumps(body).count('"cache_control"')
        need(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _event(data: dict[str, Any], *, delta: bool = False) -> Frame:
    return Frame(sse(data, data["type"]), delta)


def _block(step: object, index: int, chunk: int) -> Iterator[Frame]:
    def start(block: dict[str, Any]) -> Frame:
        return _event({"type": "content_block_start", "index": index, "content_block": block})

    def more(delta: dict[str, Any], *, counts: bool = True) -> Frame:
        return _event({"type": "content_block_delta", "index": index, "delta": delta}, delta=counts)

    match step:
        case Say(text):
            yield start({"type": "text", "text": ""})
            for piece in pieces(text, chunk):
                yield more({"type": "text_delta", "text": piece})
        case Think(text):
            yield start({"type": "thinking", "thinking": "", "signature": ""})
            for piece in pieces(text, chunk):
                yield more({"type": "thinking_delta", "thinking": piece})
            yield more({"type": "signature_delta", "signature": sign("anthropic", text)}, counts=False)
        case Call():
            yield start({"type": "tool_use", "id": step.id or f"toolu_{index}", "name": step.name, "input": {}})
            raw = step.raw if step.raw is not None else json.dumps(step.arguments)
            for piece in pieces(raw, chunk):
                yield more({"type": "input_json_delta", "partial_json": piece})
        case Strange():
            yield _event({"type": "weather_report", "sun": True})
            yield start({"type": "hologram", "shape": "cube"})
            yield more({"type": "hologram_delta", "shape": "ball"}, counts=False)
        case _:
            return
    yield _event({"type": "content_block_stop", "index": index})


def _check_thinking(body: dict[str, Any]) -> None:
    thinking = body.get("thinking") or {}
    new = re.match(r"claude-(sonnet|opus|haiku|fable)-5", body["model"])
    if thinking.get("type") == "enabled":
        need(not new, '"thinking.type.enabled" is not supported for this model')
        need(1024 <= thinking["budget_tokens"] < body["max_tokens"], "thinking.budget_tokens: out of range")
    if "temperature" in body:
        need(not new, "temperature: not supported on this model")
        need(not thinking, "temperature: may only be 1 when thinking is enabled")
    if "output_config" in body:
        need(body["output_config"].get("effort") in ("low", "medium", "high"), "output_config.effort: invalid")


def _check_tools(body: dict[str, Any]) -> None:
    names = [tool["name"] for tool in body.get("tools", [])]
    need(len(names) == len(set(names)), "tools: Tool names must be unique.")
    for number, tool in enumerate(body.get("tools", [])):
        known(tool, {"name", "description", "input_schema", "cache_control"}, f"tools.{number}")
        tool_name(tool["name"], f"tools.{number}.name")
        need(tool["input_schema"].get("type") == "object", f"tools.{number}.input_schema.type: must be object")


def _check_system(body: dict[str, Any]) -> None:
    for number, block in enumerate(body.get("system", [])):
        known(block, {"type", "text", "cache_control"}, f"system.{number}")
        need(block["text"].strip(), "system: text content blocks must be non-empty")


def _check_messages(messages: list[dict[str, Any]]) -> None:
    need(messages, "messages: at least one message is required")
    need(messages[0]["role"] == "user", "messages: first message must use the user role")
    need(messages[-1]["role"] == "user", "This model does not support assistant message prefill.")
    open_calls: list[str] = []
    seen: set[str] = set()
    role = "assistant"
    for at, message in enumerate(messages):
        where = f"messages.{at}"
        known(message, {"role", "content"}, where)
        need(message["role"] in ("user", "assistant") and message["role"] != role, f"{where}: roles must alternate")
        role = message["role"]
        need(message["content"], f"{where}: content must be non-empty")
        if role == "user":
            _check_user(message["content"], open_calls, where)
            open_calls = []
        else:
            open_calls = _check_assistant(message["content"], seen, where)


def _check_user(content: list[dict[str, Any]], open_calls: list[str], where: str) -> None:
    results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
    need(len(results) == len(set(results)), f"{where}: each tool_use must have a single result")
    need(set(results) <= set(open_calls), f"{where}: unexpected tool_use_id found in tool_result blocks")
    missing = set(open_calls) - set(results)
    need(not missing, f"{where}: tool_use ids were found without tool_result blocks immediately after: {missing}")
    kinds = [block["type"] == "tool_result" for block in content]
    need(kinds == sorted(kinds, reverse=True), f"{where}: tool_result blocks must come first")
    for block in content:
        kind = block["type"]
        need(kind in ("text", "image", "document", "tool_result"), f"{where}: {kind} is not allowed in a user message")
        if kind == "text":
            known(block, {"type", "text", "cache_control"}, where)
            need(block["text"].strip(), f"{where}: text content blocks must contain non-whitespace text")
        elif kind == "tool_result":
            known(block, {"type", "tool_use_id", "content", "is_error", "cache_control"}, where)
            need(isinstance(block["content"], str), f"{where}: content must be text here")
        else:
            base64_data(block["source"]["data"], where)
            allowed = (
                ("image/png", "image/jpeg", "image/gif", "image/webp") if kind == "image" else ("application/pdf",)
            )
            need(block["source"]["media_type"] in allowed, f"{where}: media_type not supported")


def _check_assistant(content: list[dict[str, Any]], seen: set[str], where: str) -> list[str]:
    calls: list[str] = []
    for block in content:
        match block["type"]:
            case "text":
                known(block, {"type", "text"}, where)
                need(block["text"].strip(), f"{where}: text content blocks must contain non-whitespace text")
            case "thinking":
                known(block, {"type", "thinking", "signature"}, where)
                need(
                    block["signature"] == sign("anthropic", block["thinking"]),
                    f"{where}: Invalid `signature` in `thinking` block",
                )
            case "tool_use":
                known(block, {"type", "id", "name", "input"}, where)
                need(re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]), f"{where}: tool_use.id: String should match pattern")
                need(block["id"] not in seen, f"{where}: `tool_use` ids must be unique")
                need(isinstance(block["input"], dict), f"{where}: tool_use.input: Input should be a valid dictionary")
                tool_name(block["name"], where, 128)
                seen.add(block["id"])
                calls.append(block["id"])
            case kind:
                need(False, f"{where}: {kind} is not allowed in an assistant message")
    return calls
