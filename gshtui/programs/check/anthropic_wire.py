"""Anthropic's Messages API as the model on this machine speaks it."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
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

STOPS = {"end": "end_turn", "tool_use": "tool_use", "max_tokens": "max_tokens", "refusal": "refusal"}


class AnthropicWire(PlainWire):
    """The wire of its messages."""

    ROUTES = {"POST /v1/messages": "chat", "POST /v1/messages/count_tokens": "count", "GET /v1/models": "models"}

    def __init__(self) -> None:
        self._numbers = itertools.count(1)  # some clients take two answers with one id for the same answer

    def other(self, kind: str, models: list[str], body: object) -> object:
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

    def frames(self, answer: ModelAnswer, model: str, chunk: int) -> Iterator[WireFrame]:
        used = model_wire.spent(answer)
        usage = {
            "input_tokens": used.input,
            "cache_read_input_tokens": used.cache_read,
            "cache_creation_input_tokens": used.cache_write,
            "output_tokens": 1,
        }
        message: dict[str, Any] = {
            "id": f"msg_{next(self._numbers)}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "usage": usage,
        }
        yield event({"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}})
        yield event({"type": "ping"})
        index = 0
        for step in answer:
            shown = False
            for frame in self.block(step, index, chunk):
                shown = True
                yield frame
            index += shown
        last = {"output_tokens": used.output, "output_tokens_details": {"thinking_tokens": used.reasoning}}
        stop = {"stop_reason": STOPS[model_wire.end(answer)], "stop_sequence": None}
        yield event({"type": "message_delta", "delta": stop, "usage": last})
        yield event({"type": "message_stop"})

    def block(self, step: AnswerStep, index: int, chunk: int) -> Iterator[WireFrame]:
        """One block of the answer; nothing for a step that is none."""

        def start(block: dict[str, Any]) -> WireFrame:
            return event({"type": "content_block_start", "index": index, "content_block": block})

        def more(delta: dict[str, Any], *, counts: bool = True) -> WireFrame:
            return event({"type": "content_block_delta", "index": index, "delta": delta}, delta=counts)

        match step:
            case Utterance(text):
                yield start({"type": "text", "text": ""})
                for piece in model_wire.pieces(text, chunk):
                    yield more({"type": "text_delta", "text": piece})
            case Reasoning(text):
                yield start({"type": "thinking", "thinking": "", "signature": ""})
                for piece in model_wire.pieces(text, chunk):
                    yield more({"type": "thinking_delta", "thinking": piece})
                yield more({"type": "signature_delta", "signature": sign("anthropic", text)}, counts=False)
            case ToolUse():
                yield start({"type": "tool_use", "id": step.id or f"toolu_{index}", "name": step.name, "input": {}})
                for piece in model_wire.pieces(step.json, chunk):
                    yield more({"type": "input_json_delta", "partial_json": piece})
            case _:
                return
        yield event({"type": "content_block_stop", "index": index})


def event(data: dict[str, Any], *, delta: bool = False) -> WireFrame:
    return WireFrame(sse(data, data["type"]), delta)
