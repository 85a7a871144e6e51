"""Chat completions as a loopback speaks them."""

import json
import re
from collections.abc import Iterator
from typing import Any

from gshtui.programs.check.openai_wire import ChatWire, DeltaFrame
from tests.kit.loopback import openai_errors
from tests.kit.loopback.script import Fault, Step, Strange
from tests.kit.loopback.speech import Frame, known, need, sse, tool_name

FIELDS = {
    "model",
    "messages",
    "stream",
    "stream_options",
    "tools",
    "max_tokens",
    "reasoning_effort",
    "temperature",
}


class ChatSpeech(ChatWire):
    def odd(self, step: Step, part: DeltaFrame) -> Iterator[Frame]:
        if isinstance(step, Strange):
            yield part({"hologram": "cube"}, False)
            yield Frame(sse({"object": "weather.report", "sun": True}))

    def key(self, headers: dict[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        return openai_errors.refusal(fault, model)

    def trouble(self) -> bytes:
        return sse({"error": {"message": "The engine is overloaded.", "type": "server_error", "code": None}})

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        known(body, FIELDS, "body")
        need(body.get("stream") is True, "stream: only streams here")
        for number, tool in enumerate(body.get("tools", [])):
            known(tool, {"type", "function"}, f"tools[{number}]")
            tool_name(tool["function"]["name"], f"tools[{number}].function.name")
        _check_messages(body["messages"])


def _check_messages(messages: list[dict[str, Any]]) -> None:
    need(any(message["role"] == "user" for message in messages), "messages: needs a user message")
    need(messages[-1]["role"] in ("user", "tool"), "messages: must end with a user or tool message")
    waiting: list[str] = []
    seen: set[str] = set()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        role = message["role"]
        if role != "tool":
            need(not waiting, f"{where}: tool_calls must be followed by tool messages responding to {waiting}")
        match role:
            case "system":
                known(message, {"role", "content"}, where)
                need(at == 0 and message["content"], f"{where}: the system message comes first")
            case "user":
                known(message, {"role", "content"}, where)
                _check_content(message["content"], where)
            case "assistant":
                waiting = _check_assistant(message, seen, where)
            case "tool":
                known(message, {"role", "content", "tool_call_id"}, where)
                need(message["tool_call_id"] in waiting, f"{where}: no preceding call {message['tool_call_id']}")
                need(isinstance(message["content"], str), f"{where}: content must be text")
                waiting.remove(message["tool_call_id"])
            case _:
                need(False, f"{where}: unknown role {role}")
    need(not waiting, f"tool_calls must be followed by tool messages responding to {waiting}")


def _check_content(content: Any, where: str) -> None:
    if isinstance(content, str):
        need(content.strip(), f"{where}: empty content")
        return
    need(content, f"{where}: empty content")
    for part in content:
        need(part["type"] in ("text", "image_url", "file", "input_audio"), f"{where}: unknown part {part['type']}")
        if part["type"] == "input_audio":
            need(part["input_audio"]["format"] in ("wav", "mp3"), f"{where}: unknown format of a sound")
        if part["type"] == "image_url":
            url = part["image_url"]["url"]
            need(re.match(r"data:image/\w+;base64,[A-Za-z0-9+/=]+\Z", url), f"{where}: invalid image")


def _check_assistant(message: dict[str, Any], seen: set[str], where: str) -> list[str]:
    known(message, {"role", "content", "tool_calls"}, where)
    calls = message.get("tool_calls")
    need(message["content"] or calls, f"{where}: content or tool_calls must be set")
    need(calls is None or calls, f"{where}: tool_calls must not be empty")
    ids: list[str] = []
    for call in calls or []:
        known(call, {"id", "type", "function"}, where)
        need(0 < len(call["id"]) <= 40, f"{where}: id too long")
        need(call["id"] not in seen, f"{where}: duplicate id")
        need(isinstance(json.loads(call["function"]["arguments"]), dict), f"{where}: arguments must be an object")
        tool_name(call["function"]["name"], where)
        seen.add(call["id"])
        ids.append(call["id"])
    return ids
