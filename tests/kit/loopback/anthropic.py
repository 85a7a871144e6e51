"""Anthropic's Messages API as a loopback speaks it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from gshtui.programs.check.anthropic_wire import AnthropicWire, event
from tests.kit.loopback.script import Fault, Step, Strange
from tests.kit.loopback.speech import Frame, base64_data, known, need, sign, sse, tool_name

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
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "thinking",
    "output_config",
    "temperature",
    "metadata",
    "stop_sequences",
}


class AnthropicSpeech(AnthropicWire):
    def block(self, step: Step, index: int, chunk: int) -> Iterator[Frame]:
        if not isinstance(step, Strange):
            yield from super().block(step, index, chunk)
            return
        hologram = {"type": "hologram", "shape": "cube"}
        yield event({"type": "weather_report", "sun": True})
        yield event({"type": "content_block_start", "index": index, "content_block": hologram})
        delta = {"type": "hologram_delta", "shape": "ball"}
        yield event({"type": "content_block_delta", "index": index, "delta": delta})
        yield event({"type": "content_block_stop", "index": index})

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
