"""Gemini's generateContent as the model on this machine speaks it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

from gshtui.programs.check import model_wire
from gshtui.programs.check.model_wire import (
    AnswerStep,
    ModelAnswer,
    Reasoning,
    ToolUse,
    Utterance,
    WireFrame,
    sign,
    sse,
)

STOPS = {"end": "STOP", "tool_use": "STOP", "max_tokens": "MAX_TOKENS", "refusal": "SAFETY"}
PartFrame = Callable[[dict[str, Any]], WireFrame]
"""A frame with this part."""


class GeminiWire:
    """The wire of its contents."""

    content_type = "text/event-stream"

    def route(self, method: str, path: str) -> str:
        match = re.fullmatch(r"/v1(?:beta)?/models(?:/([^/:]+):(\w+))?", path)
        if match is None:
            return ""
        return {
            "streamGenerateContent": "chat",
            "generateContent": "whole",
            "countTokens": "count",
            None: "models",
        }.get(match.group(2), "")

    def model(self, path: str, body: object) -> str:
        return unquote(path.split("/models/", 1)[1].split(":", 1)[0])

    def other(self, kind: str, models: list[str], body: object) -> object:
        if kind == "count":
            return {"totalTokens": len(json.dumps(body)) // 4}
        if kind == "whole":  # what a program asks for its own use, such as a title
            content = {"role": "model", "parts": [{"text": "Small talk"}]}
            used = {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11}
            return {
                "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
                "usageMetadata": used,
            }
        can = ["generateContent", "countTokens"]
        return {"models": [{"name": f"models/{name}", "supportedGenerationMethods": can} for name in models]}

    def odd(self, step: AnswerStep, part: PartFrame) -> Iterator[WireFrame]:
        """The frames of any other step."""
        yield from ()

    def frames(self, answer: ModelAnswer, model: str, chunk: int) -> Iterator[WireFrame]:
        def part(fields: dict[str, Any]) -> WireFrame:
            content = {"role": "model", "parts": [fields]}
            return WireFrame(sse({"candidates": [{"content": content, "index": 0}], "modelVersion": model}), True)

        first = True
        for step in answer:
            match step:
                case Utterance(text):
                    for piece in model_wire.pieces(text, chunk):
                        yield part({"text": piece})
                case Reasoning(text):
                    for piece in model_wire.pieces(text, chunk):
                        yield part({"text": piece, "thought": True})
                case ToolUse() if step.raw is not None:
                    # Arguments are data here, never text: what comes broken is the frame.
                    yield WireFrame(f'data: {{"candidates": [{{"content": {{"parts": [{step.raw}\n\n'.encode(), True)
                case ToolUse():
                    call = {"functionCall": {"name": step.name, "args": step.arguments}}
                    signed = {"thoughtSignature": sign("gemini", step.name)} if first else {}
                    first = False
                    yield part({**call, **signed})
                case _:
                    yield from self.odd(step, part)
        final: dict[str, Any] = {"finishReason": STOPS[model_wire.end(answer)], "index": 0}
        if not any(isinstance(step, Utterance | Reasoning | ToolUse) for step in answer):
            final["content"] = {"role": "model"}
        yield WireFrame(sse({"candidates": [final], "usageMetadata": _usage(answer), "modelVersion": model}))


def _usage(answer: ModelAnswer) -> dict[str, Any]:
    used = model_wire.spent(answer)
    prompt = used.sent
    return {
        "promptTokenCount": prompt,
        "cachedContentTokenCount": used.cache_read,
        "candidatesTokenCount": used.output - used.reasoning,
        "thoughtsTokenCount": used.reasoning,
        "totalTokenCount": prompt + used.output,
    }
