"""Providers as tests use them: pointed at a loopback, patient for a moment only, without real waits."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from gshtui.bus.messages import Block, Message, Role, Text
from gshtui.providers.adapters.anthropic import Anthropic
from gshtui.providers.adapters.gemini import Gemini
from gshtui.providers.adapters.ollama import Ollama
from gshtui.providers.adapters.openai_chat import OpenAIChat
from gshtui.providers.adapters.openai_responses import OpenAIResponses
from gshtui.providers.catalog import Catalog
from gshtui.providers.port import (
    CallPart,
    Completed,
    Delta,
    Provider,
    Request,
    Retrying,
    TextPart,
    ThinkingPart,
    ToolSpec,
)
from gshtui.providers.wire.retry import Backoff
from gshtui.providers.wire.sdk_connection import Deadlines, Endpoint
from gshtui.system.ids import new_id
from tests.kit.endings import closing_async
from tests.kit.loopback.apis import base_url, loopback
from tests.kit.loopback.script import Answer
from tests.kit.loopback.server import Loopback

APIS = ("anthropic", "openai", "openai-chat", "gemini", "ollama")
MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai": "gpt-6.1-sol",
    "openai-chat": "gpt-4.1",
    "gemini": "gemini-3.8-flash",
    "ollama": "qwen3:8b",
}
READ = ToolSpec(
    "read", "Read a file", {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
)
GREP = ToolSpec("grep", "Search files", {"type": "object", "properties": {"pattern": {"type": "string"}}})
_MAKERS = {
    "anthropic": Anthropic,
    "openai": OpenAIResponses,
    "openai-chat": OpenAIChat,
    "gemini": Gemini,
    "ollama": Ollama,
}


@dataclass(slots=True)
class RecordedWaits:
    """Stands in for sleeping: keeps the seconds, takes none."""

    seconds: list[float] = field(default_factory=list[float])

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def make_provider(
    api: str, url: str, *, key: str = "secret", waits: RecordedWaits | None = None, deadlines: Deadlines | None = None
) -> Provider:
    place = Endpoint(
        name=api.removesuffix("-chat"),
        key=key,
        base_url=base_url(api, url),
        catalog=Catalog.load(),
        deadlines=deadlines or Deadlines(connect=5, silent=5),
        backoff=Backoff(sleep=waits or RecordedWaits(), jitter=lambda: 1.0),
    )
    return _MAKERS[api](place)


@contextlib.asynccontextmanager
async def provider_with_loopback(
    api: str,
    script: Sequence[Answer],
    *,
    waits: RecordedWaits | None = None,
    deadlines: Deadlines | None = None,
    key: str = "secret",
    **options: Any,
) -> AsyncIterator[tuple[Provider, Loopback]]:
    async with (
        loopback(api, script, **options) as server,
        closing_async(make_provider(api, server.url, key=key, waits=waits, deadlines=deadlines)) as provider,
    ):
        yield provider, server


def make_message(role: Role, *blocks: Block | str, provider: str = "", model: str = "") -> Message:
    """A message; strings are words."""
    whole = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    return Message(new_id(), role, whole, provider=provider, model=model)


def make_request(api: str, *messages: Message, tools: tuple[ToolSpec, ...] = (READ, GREP), **options: Any) -> Request:
    """A request; a greeting when there are no messages."""
    model = options.pop("model", MODELS[api])
    return Request(
        model, ("You are an agent.", "Today is Friday."), messages or (make_message("user", "Hello"),), tools, **options
    )


@dataclass(slots=True)
class ReceivedStream:
    """A stream, taken apart."""

    deltas: list[Delta] = field(default_factory=list[Delta])

    @property
    def text(self) -> str:
        return "".join(d.text for d in self.deltas if isinstance(d, TextPart))

    @property
    def thinking(self) -> str:
        return "".join(d.text for d in self.deltas if isinstance(d, ThinkingPart))

    @property
    def tool_names(self) -> list[str]:
        return [d.name for d in self.deltas if isinstance(d, CallPart) and d.name]

    @property
    def retries(self) -> list[Retrying]:
        return [d for d in self.deltas if isinstance(d, Retrying)]

    @property
    def completed(self) -> Completed:
        last = self.deltas[-1]
        assert isinstance(last, Completed)
        return last


async def receive_stream(provider: Provider, request: Request) -> ReceivedStream:
    return ReceivedStream([delta async for delta in provider.stream(request)])
