"""Ollama's chat API as a loopback speaks it."""

import json
from collections.abc import Iterator
from typing import Any

from tests.kit.loopback.script import Answer, Call, Fault, Say, Strange, Think, end, pieces, spent
from tests.kit.loopback.speech import Frame, base64_data, dumps, known, need, tool_name

FIELDS = {"model", "messages", "stream", "options", "tools", "think", "keep_alive"}


class OllamaSpeech:
    content_type = "application/x-ndjson"

    def route(self, method: str, path: str) -> str:
        routes = {"POST /api/chat": "chat", "GET /api/tags": "models", "POST /api/show": "show"}
        return routes.get(f"{method} {path}", "")

    def model(self, path: str, body: Any) -> str:
        return str(body.get("model", ""))

    def key(self, headers: dict[str, str]) -> str:
        return ""

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        status, message = fault.status_code, fault.message
        match fault.kind, status:
            case "quota", _:
                status, message = 402, "you have reached your usage limit"
            case "context", _:
                status, message = 400, "the request exceeds the available context size, try increasing it"
            case "unsigned", _:
                status, message = 400, "invalid thinking"
            case _, 404:
                message = message or f"model '{model}' not found"
            case _:
                message = message or "no luck"
        headers = {"retry-after": f"{fault.retry_after:g}"} if fault.retry_after is not None else {}
        return status, headers, {"error": message}

    def trouble(self) -> bytes:
        return dumps({"error": "the model runner is overloaded"}) + b"\n"

    def other(self, kind: str, models: list[str], body: Any) -> Any:
        if kind == "models":
            return {"models": [{"name": name, "model": name, "size": 1} for name in models]}
        return {
            "parameters": 'stop "<|end|>"\nnum_ctx                        16384',
            "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 262144},
            "capabilities": ["completion", "tools", "thinking", "vision"],
        }

    def frames(self, answer: Answer, model: str, chunk: int) -> Iterator[Frame]:
        def line(message: dict[str, Any], *, delta: bool = True, **more: Any) -> Frame:
            fields = {"model": model, "created_at": "2026-11-20T00:00:00Z"}
            fields |= {"message": {"role": "assistant", "content": "", **message}, "done": False, **more}
            return Frame(dumps(fields) + b"\n", delta)

        for step in answer:
            match step:
                case Say(text):
                    for piece in pieces(text, chunk):
                        yield line({"content": piece})
                case Think(text):
                    for piece in pieces(text, chunk):
                        yield line({"thinking": piece})
                case Call():
                    arguments = step.arguments if step.raw is None else step.raw
                    yield line({"tool_calls": [{"function": {"name": step.name, "arguments": arguments}}]})
                case Strange():
                    yield line({"hologram": "cube"}, delta=False)
                case _:
                    pass
        used = spent(answer)
        reason = "length" if end(answer) == "max_tokens" else "stop"
        counted = {"prompt_eval_count": used.input, "eval_count": used.output}
        yield line({}, delta=False, done=True, done_reason=reason, **counted)

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        known(body, FIELDS, "body")
        need(isinstance(body.get("options", {}).get("num_ctx"), int), "options.num_ctx: the window must be set")
        for tool in body.get("tools", []):
            tool_name(tool["function"]["name"], "tools")
        waiting: list[str] = []
        for at, message in enumerate(body["messages"]):
            where = f"messages[{at}]"
            known(message, {"role", "content", "images", "thinking", "tool_calls", "tool_name"}, where)
            need(isinstance(message["content"], str), f"{where}: content must be text")
            if message["role"] == "tool":
                need(waiting and message["tool_name"] == waiting.pop(0), f"{where}: results must follow their calls")
                continue
            need(not waiting, f"{where}: a call has no result")
            for image in message.get("images", []):
                base64_data(image, where)
            calls = message.get("tool_calls", [])
            full = message["content"].strip() or calls or message.get("images") or message.get("thinking")
            need(full, f"{where}: empty message")
            need(all(isinstance(call["function"]["arguments"], dict) for call in calls), f"{where}: arguments")
            waiting = [call["function"]["name"] for call in calls]
        need(not waiting, f"calls without results: {json.dumps(waiting)}")
