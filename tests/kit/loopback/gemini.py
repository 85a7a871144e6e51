"""Gemini's generateContent as a loopback speaks it. Takes camelCase and snake_case, as the real one does."""

import base64
import re
from collections.abc import Iterator
from typing import Any

from gshtui.programs.check.gemini_wire import GeminiWire, PartFrame
from tests.kit.loopback.script import Fault, Step, Strange
from tests.kit.loopback.speech import Frame, base64_data, known, need, sign, sse, tool_name

STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND"}
STATUSES |= {429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 529: "UNAVAILABLE"}
UNSIGNED = base64.b64encode(b"skip_thought_signature_validator").decode()
DATA = {"text", "inlineData", "functionCall", "functionResponse"}


class GeminiSpeech(GeminiWire):
    def odd(self, step: Step, part: PartFrame) -> Iterator[Frame]:
        if isinstance(step, Strange):
            yield part({"hologram": {"shape": "cube"}})

    def key(self, headers: dict[str, str]) -> str:
        return headers.get("x-goog-api-key", "")

    def refusal(self, fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
        status, message, details = fault.status_code, fault.message, []
        match fault.kind, status:
            case "quota", _:
                status, message = 429, "You exceeded your current quota, please check your plan and billing details."
                quota = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
                details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": quota}]}]
            case "context", _:
                status = 400
                message = "The input token count (1300000) exceeds the maximum number of tokens allowed (1048576)."
            case "unsigned", _:
                status, message = 400, "Invalid thought signature."
            case _, 401:  # a wrong key is a bad request here
                status, message = 400, "API key not valid. Please pass a valid API key."
                details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]
            case _, 404:
                message = message or f"models/{model} is not found for API version v1."
            case _:
                message = message or "no luck"
        if fault.retry_after is not None:
            info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{fault.retry_after:g}s"}
            details.append(info)
        error = {"code": status, "message": message, "status": STATUSES.get(status, "UNKNOWN"), "details": details}
        return status, {}, {"error": error}

    def trouble(self) -> bytes:
        error = {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}
        return sse({"error": error})

    def check(self, path: str, headers: dict[str, str], body: Any) -> None:
        body = _camel(body)
        known(body, {"contents", "systemInstruction", "tools", "generationConfig"}, "body")
        known(
            body.get("generationConfig", {}),
            {"maxOutputTokens", "temperature", "thinkingConfig"},
            "generation_config",
        )
        for tool in body.get("tools", []):
            for number, declared in enumerate(tool["functionDeclarations"]):
                tool_name(declared["name"], f"function_declarations[{number}].name")
        signs = int((re.search(r"gemini-(\d+)", path) or ["", "0"])[1]) >= 3
        _check_contents(body["contents"], signs=signs)


def _camel(value: Any, *, inside: bool = False) -> Any:
    """Names as Google's JSON writes them; what people put in (arguments, schemas) stays as it is."""
    if isinstance(value, dict):
        out = {}
        for key, item in value.items():
            name = key if inside else re.sub(r"_(\w)", lambda m: m.group(1).upper(), key)
            theirs = inside or name in ("args", "response", "parametersJsonSchema")
            out[name] = _camel(item, inside=theirs)
        return out
    return [_camel(item, inside=inside) for item in value] if isinstance(value, list) else value


def _check_contents(contents: list[dict[str, Any]], *, signs: bool) -> None:
    need(contents, "contents: contents is not specified")
    need(contents[0]["role"] == "user", "Please ensure that the first content is from the user.")
    need(contents[-1]["role"] == "user", "Please ensure that the last content is from the user.")
    role = "model"
    waiting: list[str] = []
    for at, content in enumerate(contents):
        where = f"contents[{at}]"
        known(content, {"role", "parts"}, where)
        need(content["role"] in ("user", "model") and content["role"] != role, f"{where}: roles must alternate")
        role = content["role"]
        need(content.get("parts"), f"{where}.parts: must not be empty")
        for part in content["parts"]:
            known(part, {*DATA, "thought", "thoughtSignature"}, where)
            need(len(DATA & set(part)) == 1, f"{where}: oneof field 'data' must have one initialized field")
            if "inlineData" in part:
                base64_data(part["inlineData"]["data"].replace("-", "+").replace("_", "/"), where)
        answers = [p["functionResponse"]["name"] for p in content["parts"] if "functionResponse" in p]
        if role == "user":
            need(answers == waiting, f"{where}: function responses {answers} must match the function calls {waiting}")
        calls = [part for part in content["parts"] if "functionCall" in part]
        waiting = [part["functionCall"]["name"] for part in calls]
        need(not calls or role == "model", f"{where}: a function call is the model's")
        _check_signatures(content["parts"], where)
        need(
            not signs or not calls or "thoughtSignature" in calls[0],
            f"{where}: Function call is missing a thought_signature",
        )


def _check_signatures(parts: list[dict[str, Any]], where: str) -> None:
    for part in parts:
        if "functionCall" in part:
            tool_name(part["functionCall"]["name"], where)
            need(isinstance(part["functionCall"].get("args", {}), dict), f"{where}: args must be a Struct")
        if "thoughtSignature" in part:
            signature = part["thoughtSignature"].replace("-", "+").replace("_", "/")
            right = {UNSIGNED} | ({sign("gemini", part["functionCall"]["name"])} if "functionCall" in part else set())
            need(signature in right, f"{where}: Invalid thought signature.")
