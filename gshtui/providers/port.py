"""The port that every provider implements: capabilities, and a stream of typed deltas.

A request is plain data made of the conversation's messages; an adapter converts it to its API's form and back. An
adapter retries only before the first byte of the answer, announces that with `Retrying`, and raises only
`ProviderError` (and `asyncio.CancelledError`, on which it closes the connection).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal, Protocol

import msgspec

from gshtui.bus.agent_data import EffortChoice
from gshtui.bus.messages import Message, Stop, Usage
from gshtui.system.expected_error import ExpectedError

ErrorKind = Literal[
    "auth",
    "bad_request",
    "context",
    "unknown_model",
    "rate_limit",
    "quota",
    "overloaded",
    "server",
    "network",
    "timeout",
    "truncated",
    "garbage",
    "refusal",
    "missing",
    "bug",
]


class ProviderError(ExpectedError):
    """A provider could not answer.

    Args:
        kind: what sort of failure; `truncated` and `network` may come after part of the answer.
        message: one clear sentence that names the provider.
        hint: what to do about it.
        retryable: whether the same request may succeed later.
        retry_after: seconds that the provider asked to wait, if it did.
        started: whether part of the answer was already delivered; then nobody may repeat the request silently.
    """

    def __init__(
        self,
        kind: ErrorKind,
        message: str,
        *,
        hint: str = "",
        retryable: bool = False,
        retry_after: float | None = None,
        started: bool = False,
    ) -> None:
        super().__init__(message, hint)
        self.kind: ErrorKind = kind
        self.retryable = retryable
        self.retry_after = retry_after
        self.started = started


class Capabilities(msgspec.Struct, frozen=True):
    """A model's capabilities and costs. Windows in tokens, prices in US dollars per million tokens, `None`: unknown."""

    window: int = 100_000
    max_output: int = 8_192
    tools: bool = True
    images: bool = False
    documents: bool = False
    audio: bool = False
    api: str = ""
    """The catalog's name of the provider whose rules for pictures, documents and sounds hold; empty: unknown."""
    thinking: bool = False
    caching: bool = False
    effort: bool = False
    """It takes a reasoning effort."""
    price_input: float | None = None
    price_output: float | None = None
    price_cache_read: float | None = None
    price_cache_write: float | None = None
    known: bool = False
    """From the catalog or the provider, not a guess."""

    def cost(self, usage: Usage) -> float | None:
        """US dollars for this usage; `None` if a price is unknown."""
        if self.price_input is None or self.price_output is None:
            return None
        read = self.price_input if self.price_cache_read is None else self.price_cache_read
        write = self.price_input if self.price_cache_write is None else self.price_cache_write
        return (
            usage.input * self.price_input
            + usage.output * self.price_output
            + usage.cache_read * read
            + usage.cache_write * write
        ) / 1_000_000


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as described to a model. `schema` is the JSON schema of an object."""

    name: str
    description: str
    schema: dict[str, Any]


class Request(msgspec.Struct, frozen=True):
    """One model request, independent of any API. Messages are already valid: every call has its result."""

    model: str
    system: tuple[str, ...]
    """System blocks in order: stable ones first, so that a cache breakpoint can follow them."""
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output: int = 0
    """Tokens; 0: the model's maximum."""
    temperature: float | None = None
    effort: EffortChoice = ""
    """Reasoning effort, where the model has such a thing; empty: the provider's default."""


class TextPart(msgspec.Struct, frozen=True):
    """A piece of the answer's text."""

    text: str


class ThinkingPart(msgspec.Struct, frozen=True):
    """A piece of the model's reasoning."""

    text: str


class CallPart(msgspec.Struct, frozen=True):
    """A tool call starts (`name` is set) or continues (`arguments` is more of its JSON text). For display only."""

    index: int
    name: str = ""
    arguments: str = ""


class Retrying(msgspec.Struct, frozen=True):
    """The request failed before the first byte and is sent again after `wait` seconds; `attempt` counts from 1."""

    attempt: int
    wait: float
    error: ProviderError
    most: int
    """Attempts after which it is given up."""


class Completed(msgspec.Struct, frozen=True):
    """The whole answer; always the last delta of a stream that did not raise.

    `message.blocks` hold everything in order. A call whose arguments did not arrive as a JSON object has `broken` set.
    """

    message: Message
    stop: Stop
    usage: Usage = msgspec.field(default_factory=Usage)
    sent: str = ""
    """Hash of the request's bytes, see `sent.py`; empty where nothing was sent."""


Delta = TextPart | ThinkingPart | CallPart | Retrying | Completed


class Provider(Protocol):
    """One provider's API. Created without network; the SDK is imported on first use."""

    @property
    def name(self) -> str:
        """The name in settings and catalog: that of its API (anthropic, bedrock …), of its table, or offline."""
        ...

    def capabilities(self, model: str) -> Capabilities:
        """What is known about the model now, without network access."""
        ...

    def body(self, request: Request) -> dict[str, Any]:
        """What `stream` sends, as the JSON object on the wire, without key or headers. Uses no network, raises nothing.

        If the server's capabilities are fetched before the first request (Ollama), that request may differ.
        """
        ...

    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Send the request. See the module's text for the failure contract."""
        ...

    async def close(self) -> None: ...


def estimate(text_bytes: int, messages: int = 0) -> int:
    """The house's estimate of tokens: bytes / 4, and 4 a message."""
    return (text_bytes + 3) // 4 + 4 * messages
