"""OpenAI's two APIs as the model on this machine speaks them: chat completions, which most programs can be pointed at,
and responses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from gshtui.programs.check import model_wire
from gshtui.programs.check.model_wire import (
    AnswerStep,
    ModelAnswer,
    PlainWire,
    Reasoning,
    ToolUse,
    Utterance,
    WireFrame,
    sign,
    sse,
)

STOPS = {"end": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
DeltaFrame = Callable[[dict[str, Any], bool], WireFrame]
"""A frame for a delta, which counts as one or does not."""


class ChatWire(PlainWire):
    """The wire of chat completions."""

    content_type = "text/event-stream"
    ROUTES = {"POST /v1/chat/completions": "chat", "GET /v1/models": "models"}

    def other(self, kind: str, models: list[str], body: object) -> object:
        return listed(models)

    def odd(self, step: AnswerStep, part: DeltaFrame) -> Iterator[WireFrame]:
        """The frames of any other step."""
        yield from ()

    def frames(self, answer: ModelAnswer, model: str, chunk: int) -> Iterator[WireFrame]:
        def part(delta: dict[str, Any], counts: bool = True, finish: str | None = None) -> WireFrame:
            choice = {"index": 0, "delta": delta, "finish_reason": finish}
            return WireFrame(sse({**base, "choices": [choice]}), counts)

        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}
        yield part({"role": "assistant", "content": ""}, counts=False)
        number = 0
        for step in answer:
            match step:
                case Utterance(text):
                    for piece in model_wire.pieces(text, chunk):
                        yield part({"content": piece})
                case Reasoning(text):
                    for piece in model_wire.pieces(text, chunk):
                        yield part({"reasoning_content": piece})
                case ToolUse():
                    begin = {"name": step.name, "arguments": ""}
                    call = {"index": number, "id": step.id or f"call_{number}", "type": "function", "function": begin}
                    yield part({"tool_calls": [call]}, counts=False)
                    for piece in model_wire.pieces(step.json, chunk):
                        yield part({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
                    number += 1
                case _:
                    yield from self.odd(step, part)
        yield part({}, finish=STOPS[model_wire.end(answer)], counts=False)
        yield WireFrame(sse({**base, "choices": [], "usage": _usage(answer)}))
        yield WireFrame(sse("[DONE]"))


def listed(names: list[str]) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": n, "object": "model", "created": 1, "owned_by": "me"} for n in names]}


def _usage(answer: ModelAnswer) -> dict[str, Any]:
    used = model_wire.spent(answer)
    prompt = used.sent
    return {
        "prompt_tokens": prompt,
        "completion_tokens": used.output,
        "total_tokens": prompt + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cache_read},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
    }


ResponseItem = tuple[dict[str, Any] | None, list[tuple[str, str, dict[str, Any]]]]
"""An item, and the kind, text and further fields of its deltas."""


class ResponsesWire(PlainWire):
    """The wire of its responses."""

    ROUTES = {
        "POST /v1/responses": "chat",
        "POST /v1/responses/input_tokens": "count",
        "GET /v1/models": "models",
    }

    def other(self, kind: str, models: list[str], body: object) -> object:
        if kind == "count":
            return {"object": "response.input_tokens", "input_tokens": len(json.dumps(body)) // 4}
        return listed(models)

    def frames(self, answer: ModelAnswer, model: str, chunk: int) -> Iterator[WireFrame]:
        numbers = count()
        response: dict[str, Any] = {"id": "resp_1", "object": "response", "model": model, "output": []}

        def event(kind: str, *, counts: bool = False, **fields: object) -> WireFrame:
            return WireFrame(sse({"type": kind, "sequence_number": next(numbers), **fields}, kind), counts)

        yield event("response.created", response={**response, "status": "in_progress"})
        done: list[dict[str, Any]] = []
        for step in answer:
            at = len(done)
            item, texts = self.item(step, at)
            if item is None:
                continue
            yield event("response.output_item.added", output_index=at, item={**item, **_blank(item)})
            for kind, text, extra in texts:
                for piece in model_wire.pieces(text, chunk):
                    yield event(kind, counts=True, item_id=item["id"], output_index=at, delta=piece, **extra)
            yield event("response.output_item.done", output_index=at, item=item)
            done.append(item)
        kind, more = _last(answer)
        yield event(kind, response={**response, "output": done, "usage": _responses_usage(answer), **more})

    def item(self, step: AnswerStep, at: int) -> ResponseItem:
        """The item of a step, and its deltas; `None`: it has none."""
        item: dict[str, Any]
        match step:
            case Utterance(text):
                content: list[dict[str, Any]] = [{"type": "output_text", "text": text, "annotations": []}]
                item = {"type": "message", "id": f"msg_{at}", "role": "assistant", "status": "completed"}
                item = {**item, "content": content, "phase": "final_answer"}
                return item, [("response.output_text.delta", text, {"content_index": 0})]
            case Reasoning(text):
                summary = [{"type": "summary_text", "text": text}]
                item = {
                    "type": "reasoning",
                    "id": f"rs_{at}",
                    "summary": summary,
                    "encrypted_content": sign("openai", text),
                }
                return item, [("response.reasoning_summary_text.delta", text, {"summary_index": 0})]
            case ToolUse():
                item = {
                    "type": "function_call",
                    "id": f"fc_{at}",
                    "call_id": step.id or f"call_{at}",
                    "name": step.name,
                }
                item = {**item, "arguments": step.json, "status": "completed"}
                item |= {"namespace": step.namespace} if step.namespace else {}
                return item, [("response.function_call_arguments.delta", step.json, {})]
            case _:
                return None, []


def _blank(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"arguments": "", "content": [], "summary": [], "encrypted_content": "unfinished"}
    return {key: value for key, value in empty.items() if key in item}


def _last(answer: ModelAnswer) -> tuple[str, dict[str, Any]]:
    why = model_wire.end(answer)
    if why in ("end", "tool_use"):
        return "response.completed", {"status": "completed"}
    reason = "max_output_tokens" if why == "max_tokens" else "content_filter"
    return "response.incomplete", {"status": "incomplete", "incomplete_details": {"reason": reason}}


def _responses_usage(answer: ModelAnswer) -> dict[str, Any]:
    used = model_wire.spent(answer)
    prompt = used.sent
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": used.cache_read, "cache_write_tokens": used.cache_write},
        "output_tokens": used.output,
        "output_tokens_details": {"reasoning_tokens": used.reasoning},
        "total_tokens": prompt + used.output,
    }
