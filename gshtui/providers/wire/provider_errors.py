"""Turns failures on the wire into one clear sentence: `ProviderError` with a kind and a hint.

Pure. Classifies by the API's error code first, then by status. Never passes on control characters or a proxy's long
pages. Called by the adapters.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any

import msgspec

from gshtui.providers.port import ErrorKind, ProviderError
from gshtui.system.caller_environment import caller_environ
from gshtui.system.expected_error import ExpectedError
from gshtui.system.json_types import is_object
from gshtui.system.network import proxy_routes

_CONTEXT = (
    "context_length_exceeded",
    "prompt is too long",
    "maximum context length",
    "exceeds the maximum number of tokens",
    "exceed context limit",
    "exceeds the available context size",
    "exceed_context_size",
    "input length and `max_tokens`",
    "context window",
    "request_too_large",
)
_LONG = (
    "context length",
    "context size",
    "context limit",
    "token limit",
    "prompt too long",
    "prompt length",
    "prompt exceeds",
    "initial prompt",
    "input is too long",
    "input too long",
    "input length",
    "input exceeds",
    "inputs` tokens",
    "inputs` must have less than",
    "input token",
    "too many tokens",
    "tokens in the prompt",
    "maximum number of tokens",
    "reduce the length of",
    "request too large",
    "body too large",
    "conversation is too long",
    "messages are too long",
    "longer than the model",
)
"""How servers of many makes say, of a request that is wrong, that it is too long."""
_LIMITED = ("per minute", "per day", "per second", "tpm", "rpm")
_QUOTA = ("insufficient_quota", "credit balance", "billing", "spend_limit", "exceeded your current quota", "perday")
_AUTH = ("invalid_api_key", "api_key_invalid", "api key not valid", "authentication_error", "invalid x-api-key")
_MODEL = (
    "model_not_found",
    "is not found for api version",
    "not a valid model",
    "no such model",
    "does not exist",
    "invalid model name",
)
_RETRYABLE: frozenset[ErrorKind] = frozenset(
    {"rate_limit", "overloaded", "server", "network", "timeout", "truncated"},
)
_NUMBER = re.compile(r"\[Errno -?[0-9]++\] ")
"""The number of a system's error, before its words."""
_PAGE = re.compile(r"<(?:!doctype|html|head|\?xml)", re.IGNORECASE)
DETAIL_LENGTH = 300


class ErrorOrigin(msgspec.Struct, frozen=True):
    """Who failed, for the sentences."""

    label: str
    """Name for people: Anthropic."""
    key_variable: str = ""
    """Environment variable of the key."""
    address: str = ""
    """Where the API is, when it is not the provider's own place."""
    model: str = ""
    unknown_model_hint: str = "Run `model list` to see the available models."
    network_hint: str = "Check the network connection and proxy."

    @property
    def who(self) -> str:
        """The label, with the address where that says more."""
        return f"{self.label} at {self.address}" if self.address else self.label


def detail(message: str) -> str:
    """What a server said, as one short printable line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    # A proxy's or web server's page says nothing useful in one line.
    line = _PAGE.split(_NUMBER.sub("", line), maxsplit=1)[0].rstrip(" :(")
    return line if len(line) <= DETAIL_LENGTH else line[: DETAIL_LENGTH - 1] + "…"


def seconds(value: str | None) -> float | None:
    """The seconds in a `retry-after` header or a duration such as `1.5s`; `None` if unusable."""
    if not value:
        return None
    match = re.fullmatch(r"\s*+(\d++(?:\.\d++)?)\s*+s?\s*+", value)
    if match:
        return float(match.group(1))
    return _until(value)


def _until(date: str) -> float | None:
    import time
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def duration(wait: float) -> str:
    if wait < 120:
        return f"{wait:.0f} seconds"
    if wait < 7200:
        return f"{wait / 60:.0f} minutes"
    return f"{wait / 3600:.0f} hours"


def _kind(status: int, said: str) -> ErrorKind:
    said = said.lower()
    if status == 413 or any(sign in said for sign in _CONTEXT):
        return "context"
    wrong = status in (400, 422, 500) and not any(sign in said for sign in _LIMITED)
    if wrong and any(sign in said for sign in _LONG):
        return "context"
    if status == 402 or any(sign in said for sign in _QUOTA):
        return "quota"
    if status in (401, 403) or any(sign in said for sign in _AUTH):
        return "auth"
    if status == 404 or (status == 400 and any(sign in said for sign in _MODEL)):
        return "unknown_model"
    if status == 529 or status == 503 or "overloaded" in said:
        return "overloaded"
    if status == 429 or "rate_limit" in said or "rate limit" in said or "too many requests" in said:
        return "rate_limit"
    if status >= 500 or status in (408, 409, 425):
        return "server"
    return "bad_request"


def _sentence(kind: ErrorKind, origin: ErrorOrigin, status: int, said: str) -> str:
    tail = f": {said}" if said else ""
    match kind:
        case "context":
            return f"The conversation is too long for {origin.model or origin.label}{tail}"
        case "quota":
            return f"{origin.who} refuses because the account's quota or credit is used up{tail}"
        case "auth" if status == 403:
            return f"{origin.who} does not permit this API key to do that{tail}"
        case "auth":
            return f"{origin.who} does not accept the API key{tail}"
        case "unknown_model":
            return f"{origin.who} has no model “{origin.model}”{tail}"
        case "overloaded":
            return f"{origin.who} is overloaded{tail}"
        case "rate_limit":
            return f"{origin.who} received too many requests{tail}"
        case "server":
            return f"{origin.who} failed with status {status}{tail}" if status else f"{origin.who} failed{tail}"
        case _:
            return f"{origin.who} refused the request{tail}"


def _news(said: str, sentence: str, status: int) -> str:
    """What a server said, unless it is only what our sentence says, or the name of its status."""
    name = next((each.phrase for each in HTTPStatus if each == status), "")
    known = set(re.findall(r"\w+", f"{sentence} {name} error".lower()))
    return said if set(re.findall(r"\w+", said.lower())) - known else ""


def _hint(kind: ErrorKind, origin: ErrorOrigin, wait: float | None) -> str:
    again = f"Try again in {duration(wait)}." if wait is not None and wait > 0 else "Try again in a moment."
    key = f"environment variable {origin.key_variable}" if origin.key_variable else "API key"
    match kind:
        case "context":
            return "Start a new conversation, or switch to a model with a larger window (`model list`)."
        case "quota":
            return "Check the account's plan and billing, or switch to another provider with `/model`."
        case "auth":
            return f"Check the {key} and restart gsh-tui, or paste another key with `/model`."
        case "unknown_model":
            return origin.unknown_model_hint
        case "rate_limit" | "overloaded" | "server":
            return again + " Or switch to another model with `/model`."
        case _:
            return "Switching to another model with `/model` may help."


STATUS_OF_CODE = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "rate_limited": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "throttlingexception": 429,
    "internalserverexception": 500,
    "modelstreamerrorexception": 500,
    "modeltimeoutexception": 504,
    "serviceunavailableexception": 503,
    "validationexception": 400,
    "accessdeniedexception": 403,
    "insufficient_quota": 429,
    "billing_error": 402,
    "payment_required": 402,
    "insufficient_credits": 402,
    "server_error": 500,
    "internal_server_error": 500,
    "internal": 500,
    "api_error": 500,
    "overloaded_error": 529,
    "overloaded": 529,
    "engine_overloaded_error": 529,
    "unavailable": 503,
    "service_unavailable": 503,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "invalid_prompt": 400,
    "bad_request": 400,
    "failed_precondition": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "unauthenticated": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "not_found": 404,
    "request_too_large": 413,
    "timeout_error": 504,
    "deadline_exceeded": 504,
}
"""What a failure inside an answer, which has status 200, would have been as a status: the names of all APIs."""


def in_stream(origin: ErrorOrigin, error: Any, retry_after: float | None = None) -> ProviderError:
    """The error for a failure that a server reports inside its answer: an object in its API's form, or a text."""
    fields = error if is_object(error) else {"message": error}
    message = fields.get("message") or fields.get("detail") or fields.get("error") or fields.get("msg") or ""
    if is_object(message):
        return in_stream(origin, {**fields, **message, "message": message.get("message", "")}, retry_after)
    named = [str(fields[name]) for name in ("code", "status", "status_code", "type") if fields.get(name) is not None]
    statuses = [
        int(name) if re.fullmatch("[45][0-9][0-9]", name) else STATUS_OF_CODE.get(name.lower()) for name in named
    ]
    status = next((status for status in statuses if status), 500)
    return from_status(origin, status, code=" ".join(named), message=str(message), retry_after=retry_after)


def from_status(
    origin: ErrorOrigin, status: int, *, code: str = "", message: str = "", retry_after: float | None = None
) -> ProviderError:
    """The error for an API's failure.

    Args:
        status: the HTTP status; 0 if the API reported the failure inside a stream.
        code: the API's own code or type, if it has one.
        retry_after: the wait that the API asks for, in seconds.
    """
    if 300 <= status < 400:
        return _elsewhere(origin)
    kind = _kind(status, f"{code} {message}")
    return ProviderError(
        kind,
        _sentence(kind, origin, status, _news(detail(message), _sentence(kind, origin, status, ""), status)),
        hint=_hint(kind, origin, retry_after),
        retryable=kind in _RETRYABLE,
        retry_after=retry_after,
    )


def _elsewhere(origin: ErrorOrigin) -> ProviderError:
    """A redirect: the key is not carried to wherever it points."""
    message = f"{origin.who} redirects requests to another address"
    return ProviderError("bad_request", message, hint="Set the provider's base_url to the API's real address.")


def timed_out(origin: ErrorOrigin, why: str = "") -> ProviderError:
    """The provider went silent for longer than a deadline."""
    tail = f" ({detail(why)})" if why else ""
    return ProviderError(
        "timeout", f"{origin.who} stopped answering{tail}", hint="Send the prompt again to retry.", retryable=True
    )


def unreachable(origin: ErrorOrigin, why: str = "") -> ProviderError:
    """No connection, or one that broke before or within the answer."""
    tail = f": {detail(why)}" if why else ""
    return ProviderError(
        "network", f"The connection to {origin.who} failed{tail}", hint=origin.network_hint, retryable=True
    )


def hindered(origin: ErrorOrigin, error: Exception) -> ProviderError:
    """No request can be made: something in the environment, or in the settings, does not let the client be made."""
    if isinstance(error, ExpectedError):
        return ProviderError("missing", f"{origin.who} cannot be asked: {error.message}", hint=error.hint)
    why = detail(getattr(error, "strerror", "") or str(error))
    named = ", ".join(proxy_routes.in_use(caller_environ()))
    hint = f"Check the address and these variables: {detail(named)}." if named else "Check the provider's base_url."
    return ProviderError("missing", f"{origin.who} cannot be asked{f': {why}' if why else ''}", hint=hint)


def cut_short(origin: ErrorOrigin) -> ProviderError:
    """The answer ended without its end."""
    return ProviderError(
        "truncated",
        f"{origin.who} broke off its answer",
        hint="Send the prompt again to retry.",
        retryable=True,
    )


_SIZES = ("token", "length", "context", "limit", "too long", "too large", "size", "exceed")


def may_be_too_long(error: ProviderError) -> bool:
    """Whether a request that was refused as wrong may be too long, by words that say nothing for sure."""
    said = error.message.lower()
    return error.kind == "bad_request" and any(sign in said for sign in _SIZES)


def endless(origin: ErrorOrigin) -> ProviderError:
    """The answer goes on after everything that a model can mean."""
    message = f"{origin.who} did not stop: the answer is longer than any that the model can give, so it was ended"
    return ProviderError("garbage", message, hint="Send the prompt again, or switch to another model with `/model`.")


def garbled(origin: ErrorOrigin, why: str = "") -> ProviderError:
    """The answer is not what the API speaks."""
    tail = f" ({detail(why)})" if why else ""
    hint = "Send the prompt again to retry."
    if origin.address:
        hint = f"Check that {origin.address} is the right address and speaks the right API."
    return ProviderError("garbage", f"{origin.who} sent an answer that cannot be understood{tail}", hint=hint)


def silent(origin: ErrorOrigin, stop: str) -> ProviderError | None:
    """The error for an empty answer that ended like this; `None` if an empty answer is fine."""
    match stop:
        case "refusal":
            message, hint = f"{origin.who} declined to answer", "Rephrase the prompt, or switch models with `/model`."
            return ProviderError("refusal", message, hint=hint)
        case "max_tokens":
            message = f"{origin.who} reached the answer's token limit before it said anything"
            return ProviderError("truncated", message, hint="Raise the provider's max_tokens, or set it to 0.")
        case "context":
            message = f"The conversation fills the context window of {origin.model}"
            return ProviderError("context", message, hint=_hint("context", origin, None))
        case _:
            return None


def no_key(label: str, variable: str) -> ProviderError:
    """The provider cannot be used without its key."""
    return ProviderError(
        "missing",
        f"{label} needs an API key, and {variable} is not set",
        hint=f"Run `export {variable}=…` and restart gsh-tui, or switch to another provider with `/model`.",
    )
