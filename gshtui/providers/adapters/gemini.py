"""Gemini, through Google's SDK over our own HTTP client: generateContent, always streamed.

Makes requests and reads answers and failures; never sends an unstreamed request.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Literal, cast

from gshtui.bus.messages import Audio, Block, Document, Image, Stop, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.providers.adapters.claude_clouds import GOOGLE_HINT, google_credentials, unusable
from gshtui.providers.catalog import Model
from gshtui.providers.port import Capabilities, Delta, ProviderError, Request
from gshtui.providers.wire import wire_history
from gshtui.providers.wire.answer_builder import AnswerBuilder
from gshtui.providers.wire.event_stream import EventStream, Wire, number
from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status, garbled, in_stream, no_key, seconds
from gshtui.providers.wire.refusals import Refusals
from gshtui.providers.wire.request_hash import hash_of_response
from gshtui.providers.wire.retry import retried
from gshtui.providers.wire.sdk_connection import (
    STREAM,
    Endpoint,
    EventReader,
    LazyClient,
    begun_answer,
    ended,
    imported,
    transport_failure,
)
from gshtui.providers.wire.wire_text import ToolNames, data, text
from gshtui.settings.known_providers import label_of
from gshtui.system.ids import new_id
from gshtui.system.json_types import is_array, is_object, obj, seq, string

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


def request_body(request: Request, model: Model, names: ToolNames) -> dict[str, Any]:
    """The body of `POST …:streamGenerateContent`. The order of its keys is that of the SDK."""
    out: dict[str, Any] = {"contents": contents_of(request, model, names), "generationConfig": _config(request, model)}
    if system := wire_history.system(request):
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


def contents_of(request: Request, model: Model, names: ToolNames) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    signs = _wants_signatures(request.model)
    for turn in wire_history.turns(request.messages, API, model.capabilities):
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
        case Image() | Document() | Audio():
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


class GeminiReader(EventReader):
    """Reads the chunks of one stream, as they are on the wire. A part continues while its kind is the same; a signature
    ends it."""

    def __init__(self, answer: AnswerBuilder) -> None:
        super().__init__(answer)
        self._kind = ""
        self._number = 0
        self.blocked = ""
        self.malformed = ""

    def read(self, event: Wire) -> list[Delta]:
        if error := event.get("error"):
            self.failure = error
            return []
        if counted := obj(event.get("usageMetadata")):
            self.usage = usage_of(counted)
        self.blocked = string(obj(event.get("promptFeedback")).get("blockReason")) or self.blocked
        out: list[Delta] = []
        for candidate in map(obj, seq(event.get("candidates"))[:1]):
            self.begun = True
            content = candidate.get("content")
            for part in map(obj, seq(obj(content).get("parts") or content)):
                out += self._part(part)
            if reason := string(candidate.get("finishReason")):
                self._finish(reason)
        return out

    def _finish(self, reason: str) -> None:
        if reason in MALFORMED:
            self.malformed = reason
        if reason != "FINISH_REASON_UNSPECIFIED":
            self.stop = "refusal" if reason in REFUSALS else STOPS.get(reason, "end")

    def _part(self, part: Wire) -> list[Delta]:
        signature = string(part.get("thoughtSignature"))
        if "functionCall" in part:
            return self._call(obj(part["functionCall"]), signature)
        if not isinstance(part.get("text"), str):
            return []
        kind: Literal["text", "thinking"] = "thinking" if part.get("thought") else "text"
        if kind != self._kind:
            self._kind = kind
            self._number += 1
        key = self._number
        more = string(part["text"])
        out = self.answer.add_thinking(key, more) if kind == "thinking" else self.answer.add_text(key, more)
        if signature:
            self.answer.set_opaque(key, kind, {"signature": signature})
            self._kind = ""
        return out

    def _call(self, call: Wire, signature: str) -> list[Delta]:
        self._kind = ""
        self._number += 1
        key = self._number
        given = call.get("args")
        arguments = (
            given if isinstance(given, str) else json.dumps(given if given is not None else {}, ensure_ascii=False)
        )
        out = self.answer.add_call(key, call_id=string(call.get("id")), name=string(call.get("name")))
        out += self.answer.add_arguments(key, arguments)
        if signature:
            self.answer.set_opaque(key, "call", {"signature": signature})
        return out


def usage_of(counted: Wire) -> Usage:
    """Google's figures: its prompt includes the cache, its candidates leave the thoughts out; ours are the opposite."""
    read, thoughts = number(counted.get("cachedContentTokenCount")), number(counted.get("thoughtsTokenCount"))
    prompt = number(counted.get("promptTokenCount")) + number(counted.get("toolUsePromptTokenCount"))
    output = number(counted.get("candidatesTokenCount")) + thoughts
    return Usage(input=max(0, prompt - read), output=output, cache_read=read, reasoning=thoughts)


KEY = "GEMINI_API_KEY"
ADDRESS = "https://generativelanguage.googleapis.com"
_STAND_IN = "."
"""The SDK requires a conversation, but ours is in the body, which is sent unchanged."""


class Gemini:
    """See `port.Provider`."""

    def __init__(self, place: Endpoint) -> None:
        self._place = place
        self._client = LazyClient(self._made)
        self._refusals = Refusals(f"{API} {place.server}", API, {}, ("thought", "signature"))

    @property
    def name(self) -> str:
        return self._place.name

    def capabilities(self, model: str) -> Capabilities:
        return self._place.capabilities(API, model.removeprefix("models/"))

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        return retried(self._attempt, self._refusals.usable(request), self._place.backoff, self._relieved)

    def body(self, request: Request) -> dict[str, Any]:
        model = self._place.model(API, request.model.removeprefix("models/"))
        return request_body(self._refusals.usable(request), model, wire_history.tool_names(request))

    async def warm_up(self) -> None:
        await self._ready(self._origin(""))

    async def close(self) -> None:
        if (made := self._client.detach()) is not None:
            client, http = made
            await client.aio.aclose()
            await http.aclose()

    def _made(self) -> Any:
        import httpx2
        from google import genai
        from google.genai import types

        from gshtui.providers.wire.http_client import WatchedClient

        address = self._address
        http = WatchedClient(self._place.deadlines, address)
        options = types.HttpOptions(
            base_url=address,
            httpx_async_client=cast("Any", http),
            # What only its other calls use. It would make them all from the environment, and fail with them.
            httpx_client=cast("Any", httpx2.Client(transport=httpx2.BaseTransport())),
            async_client_args={"ssl": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)},
        )
        if self._place.host:
            try:
                credentials, project = google_credentials(self._place)
            except Exception as error:
                raise unusable(label_of("vertex"), error, GOOGLE_HINT) from error
            cloud = self._place.cloud
            client = genai.Client(
                vertexai=True,
                credentials=credentials,
                project=cloud.project or project or None,
                location=cloud.region,
                http_options=options,
            )
        else:
            client = genai.Client(api_key=self._place.key, vertexai=False, http_options=options)
        return client, http

    @property
    def _address(self) -> str:
        place = self._place
        if not place.host:
            return place.base_url or ADDRESS
        region = place.cloud.region
        # Its address for Claude ends in a version, which this SDK adds itself.
        return place.base_url.removesuffix("/v1") or (
            "https://aiplatform.googleapis.com" if region == "global" else f"https://{region}-aiplatform.googleapis.com"
        )

    async def _ready(self, origin: ErrorOrigin) -> Any:
        if not self._place.key and not self._place.host:
            raise no_key(origin.label, self._place.key_variable or KEY)
        await imported("google.genai", origin)
        return await self._client.get(origin)

    def _origin(self, model: str) -> ErrorOrigin:
        if self._place.host:
            return ErrorOrigin(label_of("vertex"), "", self._place.base_url, model)
        return ErrorOrigin("Gemini", self._place.key_variable or KEY, self._place.base_url, model)

    async def _attempt(self, request: Request) -> AsyncGenerator[Delta, None]:
        origin = self._origin(request.model)
        names = wire_history.tool_names(request)
        answer = begun_answer(self, API, request, names, origin, tagged=bool(self._place.base_url))
        reader = GeminiReader(answer)
        client, http = await self._ready(origin)
        name = new_id()
        options = {"headers": {STREAM: name}, "extra_body": self.body(request)}
        config = {"automatic_function_calling": {"disable": True}, "http_options": options}
        try:
            chunks = await client.aio.models.generate_content_stream(
                model=request.model, contents=_STAND_IN, config=config
            )
            async for _ in chunks:  # this sends the request
                pass
            answered = http.response(name)
            sent = hash_of_response(answered)
            stream = EventStream(origin, answered)
            async for chunk in stream:
                for delta in reader.read(chunk):
                    yield delta
                if reader.failure:
                    break
        except Exception as error:
            raise self._failure(origin, error) from error
        finally:
            await http.close_stream(name)
        if reader.failure:
            _, wait = _details({"error": reader.failure})
            raise in_stream(origin, reader.failure, wait)
        if reader.blocked and reader.stop is None:
            raise _blocked(origin, reader.blocked)
        if reader.malformed and answer.empty:
            raise _malformed(origin, reader.malformed)
        yield ended(origin, reader, stream, sent)

    def _failure(self, origin: ErrorOrigin, error: Exception) -> ProviderError:
        from google.genai import errors

        if isinstance(error, ProviderError):
            return error
        if isinstance(error, errors.APIError):
            reasons, wait = _details(cast("Any", error).details)
            code = f"{error.status or ''} {reasons}"
            headers: Any = getattr(cast("Any", error).response, "headers", None) or {}
            wait = wait if wait is not None else seconds(headers.get("retry-after"))
            return from_status(origin, error.code or 500, code=code, message=error.message or "", retry_after=wait)
        return transport_failure(origin, error) or garbled(origin, str(error))

    def _relieved(self, error: ProviderError, request: Request) -> Request | None:
        """A signature is valid only where it was made; the conversation can continue without it."""
        return self._refusals.relieve(error, request, {})


def _blocked(origin: ErrorOrigin, reason: str) -> ProviderError:
    message = f"{origin.who} refused the prompt ({reason.lower()})"
    return ProviderError("refusal", message, hint="Rephrase the prompt, or switch to another model with `/model`.")


def _malformed(origin: ErrorOrigin, reason: str) -> ProviderError:
    message = f"{origin.who} produced an invalid tool call ({reason.lower()})"
    return ProviderError("truncated", message, hint="Send the prompt again to retry.", retryable=True)


def _details(body: Any) -> tuple[str, float | None]:
    """Reasons and quotas that the error names, and how long it asks to wait."""
    reasons: list[str] = []
    wait: float | None = None
    error: Any = body.get("error") if is_object(body) else None
    entries: Any = error.get("details") if is_object(error) else None
    for entry in entries if is_array(entries) else []:
        if not is_object(entry):
            continue
        reasons.append(str(entry.get("reason", "")))
        violations = cast("list[Any]", entry.get("violations") or [])
        reasons += [str(v.get("quotaId", "")) for v in violations if is_object(v)]
        wait = seconds(str(entry["retryDelay"])) if "retryDelay" in entry else wait
    return " ".join(reasons), wait
