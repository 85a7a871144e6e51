"""OpenAI's chat completions as the model on this machine speaks them, which most programs can be pointed at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gshtui.programs.check import model_answers
from gshtui.programs.check.model_answers import AnswerStep, ModelAnswer, Reasoning, ToolUse, Utterance
from gshtui.programs.check.model_wire import PlainWire, WireFrame, sse

STOPS = {"end": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
DeltaFrame = Callable[[dict[str, Any], bool], WireFrame]
"""A frame for a delta, which counts as one or does not."""


class ChatWire(PlainWire):
    """The wire of its chats."""

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
                    for piece in model_answers.pieces(text, chunk):
                        yield part({"content": piece})
                case Reasoning(text):
                    for piece in model_answers.pieces(text, chunk):
                        yield part({"reasoning_content": piece})
                case ToolUse():
                    begin = {"name": step.name, "arguments": ""}
                    call = {"index": number, "id": step.id or f"call_{number}", "type": "function", "function": begin}
                    yield part({"tool_calls": [call]}, counts=False)
                    for piece in model_answers.pieces(step.json, chunk):
                        yield part({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
                    number += 1
                case _:
                    yield from self.odd(step, part)
        yield part({}, finish=STOPS[model_answers.end(answer)], counts=False)
        yield WireFrame(sse({**base, "choices": [], "usage": _usage(answer)}))
        yield WireFrame(sse("[DONE]"))


def listed(names: list[str]) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": n, "object": "model", "created": 1, "owned_by": "me"} for n in names]}


def _usage(answer: ModelAnswer) -> dict[str, Any]:
    used = model_answers.spent(answer)
    prompt = used.sent
    return {
        "prompt_tokens": prompt,
        "completion_tokens": used.output,
        "total_tokens": prompt + used.output,
        "prompt_tokens_details": {"cached_tokens": used.cache_read},
        "completion_tokens_details": {"reasoning_tokens": used.reasoning},
    }
