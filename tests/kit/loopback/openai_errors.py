"""OpenAI's errors, the same for both of its APIs."""

from typing import Any

from tests.kit.loopback.script import Fault


def refusal(fault: Fault, model: str) -> tuple[int, dict[str, str], Any]:
    """Status, headers and body."""
    status, message, code, kind = fault.status_code, fault.message, "", "invalid_request_error"
    match fault.kind, status:
        case "quota", _:
            status, code, kind = 429, "insufficient_quota", "insufficient_quota"
            message = "You exceeded your current quota, please check your plan and billing details."
        case "context", _:
            status, code = 400, "context_length_exceeded"
            message = "Your input exceeds the context window of this model. Please adjust your input and try again."
        case "unsigned", _:
            status, code = 400, "invalid_encrypted_content"
            message = "The encrypted content for item rs_1 could not be verified."
        case _, 401:
            code, message = "invalid_api_key", "Incorrect API key provided: wrong."
        case _, 404:
            code, message = "model_not_found", message or f"The model `{model}` does not exist."
        case _, 429:
            code, kind, message = "rate_limit_exceeded", "requests", message or "Rate limit reached."
        case _:
            kind = "server_error" if status >= 500 else kind
            message = message or "The server had an error while processing your request."
    headers = {"retry-after": f"{fault.retry_after:g}"} if fault.retry_after is not None else {}
    return status, headers, {"error": {"message": message, "type": kind, "param": None, "code": code or None}}
