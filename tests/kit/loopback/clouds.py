"""The clouds as a loopback speaks them: the APIs of Claude, Gemini and OpenAI at other addresses, in other frames."""

import base64
import binascii
import json
import re
import struct
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from tests.kit.loopback.anthropic import AnthropicSpeech
from tests.kit.loopback.gemini import GeminiSpeech
from tests.kit.loopback.openai_chat import ChatSpeech
from tests.kit.loopback.script import Answer, Fault
from tests.kit.loopback.speech import Frame, need

_EXCEPTIONS = {400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException"}
_EXCEPTIONS |= {429: "ThrottlingException", 503: "ServiceUnavailableException", 529: "ServiceUnavailableException"}


def aws_message(headers: dict[str, str], payload: bytes) -> bytes:
    """One message of Amazon's event streams: lengths, headers, payload, and two checksums."""
    fields = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack("!II", 16 + len(fields) + len(payload), len(fields))
    head = prelude + struct.pack("!I", binascii.crc32(prelude))
    whole = head + fields + payload
    return whole + struct.pack("!I", binascii.crc32(whole))


class BedrockSpeech(AnthropicSpeech):
    """Claude at Amazon: the model in the address, events in frames of bytes."""

    content_type = "application/vnd.amazon.eventstream"

    def route(self, method: str, path: str) -> str:
        return "chat" if re.fullmatch(r"/model/[^/]+/invoke-with-response-stream", path) else ""

    def model(self, path: str, body: Any) -> str:
        return unquote(path.split("/")[2])

    def frames(self, answer: Answer, model: str, chunk: int) -> Iterator[Frame]:
        for frame in super().frames(answer, model, chunk):
            yield Frame(_packed(frame.data), delta=frame.delta)

    def trouble(self) -> bytes:
        headers = {":exception-type": "throttlingException", ":content-type": "application/json"}
        return aws_message({**headers, ":message-type": "exception"}, b'{"message": "Too many tokens, please wait"}')

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        status, headers, body = super().refusal(fault, model)
        kind, message = _EXCEPTIONS.get(status, "InternalServerException"), body["error"]["message"]
        if fault.kind == "context":
            message = "Input is too long for requested model."
        elif status == 401:
            status, kind = 403, "UnrecognizedClientException"
            message = "The security token included in the request is invalid."
        return status, {**headers, "x-amzn-errortype": f"{kind}:http://internal.amazon.com/"}, {"message": message}

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        need(body.get("anthropic_version"), "anthropic_version: required")
        need("model" not in body and "stream" not in body, "model, stream: extraneous key is not permitted")
        plain = {name: value for name, value in body.items() if name != "anthropic_version"}
        super().check(
            path, {**headers, "anthropic-version": "x"}, {**plain, "model": "claude-sonnet-5", "stream": True}
        )


def _packed(events: bytes) -> bytes:
    packed = b""
    for line in events.split(b"\n"):
        if line.startswith(b"data: "):
            payload = json.dumps({"bytes": base64.b64encode(line[6:]).decode(), "p": "abcdef"}).encode()
            names = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
            packed += aws_message(names, payload)
    return packed


class VertexClaudeSpeech(AnthropicSpeech):
    """Claude at Google: the model in the address."""

    def route(self, method: str, path: str) -> str:
        known = re.fullmatch(r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/]+", path)
        return "chat" if known and path.endswith(":streamRawPredict") else ""

    def model(self, path: str, body: Any) -> str:
        return unquote(path.rpartition("/")[2].partition(":")[0])

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        need(body.get("anthropic_version"), "anthropic_version: required")
        need("model" not in body, "model: extra inputs are not permitted")
        plain = {name: value for name, value in body.items() if name != "anthropic_version"}
        super().check(path, {**headers, "anthropic-version": "x"}, {**plain, "model": "claude-sonnet-5"})


class VertexGeminiSpeech(GeminiSpeech):
    """Gemini in Google's cloud."""

    def route(self, method: str, path: str) -> str:
        known = re.fullmatch(r"/v1(beta1)?/projects/[^/]+/locations/[^/]+/publishers/google/models/[^/]+", path)
        return "chat" if known and path.endswith(":streamGenerateContent") else ""

    def key(self, headers: dict[str, str]) -> str:
        return headers.get("authorization", "").removeprefix("Bearer ")


class AzureSpeech(ChatSpeech):
    """Chat completions of a deployment at Azure, with versions and without."""

    def route(self, method: str, path: str) -> str:
        versioned = re.fullmatch(r"/openai/deployments/[^/]+/chat/completions", path)
        return "chat" if versioned or path == "/openai/v1/chat/completions" else ""

    def key(self, headers: dict[str, str]) -> str:
        return headers.get("api-key", "") or super().key(headers)

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        need("/v1/" in path or "api-version=" in path, "Resource not found")
        super().check(path, headers, body)
