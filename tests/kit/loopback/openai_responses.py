"""OpenAI's Responses API as a loopback speaks it."""

import json
import re
from typing import Any

from gshtui.programs.check.openai_wire import ResponseItem, ResponsesWire
from tests.kit.loopback import openai_errors
from tests.kit.loopback.script import Fault, Step, Strange
from tests.kit.loopback.speech import known, need, sign, sse, tool_name

FIELDS = {
    "model",
    "input",
    "instructions",
    "tools",
    "parallel_tool_calls",
    "max_output_tokens",
    "reasoning",
    "include",
    "temperature",
    "store",
    "stream",
}
REASONING = re.compile(r"gpt-[5-9]|o\d")


class ResponsesSpeech(ResponsesWire):
    def item(self, step: Step, at: int) -> ResponseItem:
        if isinstance(step, Strange):
            return {"type": "hologram", "id": f"ho_{at}", "shape": "cube"}, [("response.hologram.delta", "ball", {})]
        return super().item(step, at)

    def key(self, headers: dict[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        return openai_errors.refusal(fault, model)

    def trouble(self) -> bytes:
        message = "The server is overloaded or not ready yet."
        return sse({"type": "error", "code": "server_error", "message": message, "param": None, "sequence_number": 9})

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        known(body, FIELDS, "body")
        need(body.get("stream") is True and body.get("store") is False, "stream and store: as agreed")
        reasons = bool(REASONING.match(body["model"]))
        need(reasons or "reasoning" not in body, "Unsupported parameter: 'reasoning'")
        need(reasons or "include" not in body, "Encrypted content is not supported with this model.")
        need(not reasons or "temperature" not in body, "Unsupported parameter: 'temperature'")
        need(body.get("max_output_tokens", 16) >= 16, "max_output_tokens: must be at least 16")
        for number, tool in enumerate(body.get("tools", [])):
            known(tool, {"type", "name", "description", "parameters", "strict"}, f"tools[{number}]")
            tool_name(tool["name"], f"tools[{number}].name")
        _check_input(body["input"])


def _check_input(items: list[dict[str, Any]]) -> None:
    need(items, "input: must not be empty")
    asked: dict[str, bool] = {}
    for at, item in enumerate(items):
        where = f"input[{at}]"
        match item.get("type", "message"):
            case "message":
                _check_message(item, where)
            case "function_call":
                known(item, {"type", "call_id", "name", "arguments"}, where)
                need(0 < len(item["call_id"]) <= 64, f"{where}.call_id: string too long")
                need(item["call_id"] not in asked, f"{where}.call_id: duplicate")
                need(isinstance(json.loads(item["arguments"]), dict), f"{where}.arguments: must be a JSON object")
                tool_name(item["name"], f"{where}.name")
                asked[item["call_id"]] = False
            case "function_call_output":
                known(item, {"type", "call_id", "output"}, where)
                need(asked.get(item["call_id"]) is False, f"No tool call found for {item['call_id']}")
                asked[item["call_id"]] = True
            case "reasoning":
                known(item, {"type", "id", "summary", "encrypted_content"}, where)
                text = "".join(part["text"] for part in item["summary"])
                need(item["encrypted_content"] == sign("openai", text), "The encrypted content could not be verified.")
                follows = items[at + 1] if at + 1 < len(items) else {}
                mine = follows.get("type") in ("function_call", "reasoning") or follows.get("role") == "assistant"
                need(mine, f"Item {item['id']} of type 'reasoning' was provided without its required following item.")
            case kind:
                need(False, f"{where}: unknown type {kind}")
    missing = [call for call, answered in asked.items() if not answered]
    need(not missing, f"No tool output found for function call {missing}")


def _check_message(item: dict[str, Any], where: str) -> None:
    known(item, {"type", "role", "content", "phase"}, where)
    if item["role"] == "assistant":
        need(isinstance(item["content"], str) and item["content"], f"{where}: content must not be empty")
        need(item.get("phase", "final_answer") in ("commentary", "final_answer"), f"{where}.phase: invalid")
        return
    need(item["role"] == "user" and item["content"], f"{where}: content must not be empty")
    for part in item["content"]:
        fields = {
            "input_text": {"type", "text"},
            "input_image": {"type", "image_url", "detail"},
            "input_file": {"type", "filename", "file_data"},
        }
        need(part["type"] in fields, f"{where}: unknown part {part['type']}")
        known(part, fields[part["type"]], where)
        url = part.get("image_url") or part.get("file_data")
        need(url is None or re.match(r"data:[\w/+.-]+;base64,[A-Za-z0-9+/=]+\Z", url), f"{where}: invalid data URL")
