"""What the adapters share: deadlines, an SDK imported on first use, one client, and the text of transport failures.

Never loads an SDK before the first request.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.messages import Stop, Usage
from gshtui.providers.catalog import Catalog, Model
from gshtui.providers.port import Capabilities, Completed, Delta, Provider, ProviderError, Request
from gshtui.providers.wire.answer_builder import AnswerBuilder
from gshtui.providers.wire.cloud_access import CloudAccess
from gshtui.providers.wire.event_stream import DecodedStream, EventStream, Wire
from gshtui.providers.wire.provider_errors import (
    ErrorOrigin,
    cut_short,
    garbled,
    hindered,
    in_stream,
    silent,
    timed_out,
    unreachable,
)
from gshtui.providers.wire.retry import Backoff
from gshtui.providers.wire.wire_text import ToolNames
from gshtui.system.network.proxy_routes import EnvironmentFaultError


class Deadlines(msgspec.Struct, frozen=True):
    """Seconds. A server's keep-alive bytes count as bytes, so a long thought is not a hang."""

    connect: float = 10.0
    """To a connection, with TLS."""
    silent: float = 120.0
    """From the request to its answer, and between two reads of that."""


STREAM = "x-gsh-stream"
"""A header that names a stream, for an SDK that does not hand out responses; removed before the request is sent."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and as whom to speak to an API; how patiently."""

    name: str
    """The provider's name in settings, for messages and events."""
    key: str = ""
    key_variable: str = ""
    base_url: str = ""
    """Empty: the provider's own."""
    catalog: Catalog = field(default_factory=Catalog)
    deadlines: Deadlines = field(default_factory=Deadlines)
    backoff: Backoff = field(default_factory=Backoff)
    host: str = ""
    """The name in the catalog of who serves others' models; empty: nobody else does."""
    cloud: CloudAccess = field(default_factory=CloudAccess)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """That each request carries besides."""

    @property
    def server(self) -> str:
        """Tells this server from all others."""
        return f"{self.host} {self.cloud.region} {self.base_url}" if self.host else self.base_url

    def model(self, api: str, name: str) -> Model:
        """The catalog's entry, or cautious defaults."""
        return self.catalog.served(name, api, self.host) or Model(name=name, provider=api)

    def capabilities(self, api: str, name: str) -> Capabilities:
        """What the catalog says of the model; the defaults where it says nothing."""
        found = self.catalog.served(name, api, self.host)
        return found.capabilities if found is not None else Capabilities()


async def imported(name: str, origin: ErrorOrigin) -> Any:
    """An SDK, imported in a thread. Raises `ProviderError` where it is not installed whole."""
    package = name.partition(".")[0]
    try:
        return await asyncio.to_thread(importlib.import_module, name)
    except ImportError as error:
        message = f"{origin.label} needs the Python package {name}, which cannot be loaded: {error}"
        hint = f"Install gsh-tui again, or run `pip install {package}` in its environment."
        raise ProviderError("missing", message, hint=hint) from error


class LazyClient:
    """A client made once, in a thread, by the first who needs it."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._made: Any = None
        self._lock = asyncio.Lock()

    async def get(self, origin: ErrorOrigin) -> Any:
        """The client. Raises `ProviderError`: it is made of settings and environment, so any fault is theirs."""
        if self._made is None:
            async with self._lock:
                if self._made is None:
                    try:
                        self._made = await asyncio.to_thread(self._make)
                    except ProviderError:
                        raise
                    except Exception as error:
                        raise hindered(origin, error) from error
        return self._made

    def detach(self) -> Any:
        """The client if there is one, given up: the caller closes it."""
        made, self._made = self._made, None
        return made


def transport_failure(origin: ErrorOrigin, error: BaseException) -> ProviderError | None:
    """The error for an `httpx2` failure, even if an SDK wrapped it; `None` if it is not one."""
    import httpx2

    cause: BaseException | None = error
    seen = 0
    while cause is not None and not isinstance(cause, httpx2.HTTPError | OSError | EnvironmentFaultError) and seen < 5:
        cause = cause.__cause__ or cause.__context__
        seen += 1
    if isinstance(cause, EnvironmentFaultError):
        return hindered(origin, cause)
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return unreachable(origin, "no connection in time")
    if isinstance(cause, httpx2.TimeoutException):
        return timed_out(origin, str(cause))
    if isinstance(cause, httpx2.RequestError):
        return unreachable(origin, str(cause))
    if isinstance(cause, OSError):
        return unreachable(origin, cause.strerror or str(cause))
    return None


class EventReader:
    """Takes the events of one stream, as they are on the wire, into an answer."""

    def __init__(self, answer: AnswerBuilder) -> None:
        self.answer = answer
        self.begun = False
        self.failure: Any = None
        """What the server said went wrong in the middle of the answer, in its own form; empty: nothing."""
        self.stop: Stop | None = None
        self.usage = Usage()

    def read(self, event: Wire) -> list[Delta]:
        """The deltas of one event; events and parts of unknown types are passed over."""
        raise NotImplementedError


def begun_answer(
    provider: Provider, api: str, request: Request, names: ToolNames, origin: ErrorOrigin, *, tagged: bool
) -> AnswerBuilder:
    """The answer to a request, still empty. `tagged`: reasoning may come in its text, between tags."""
    most = provider.capabilities(request.model).max_output
    return AnswerBuilder(
        provider=provider.name, api=api, model=request.model, names=names, origin=origin, most=most, tagged=tagged
    )


def ended(origin: ErrorOrigin, reader: EventReader, stream: EventStream | DecodedStream, sent: str = "") -> Completed:
    """The complete answer at the end of its stream. Raises `ProviderError` if it is incomplete, or empty for a reason.
    `sent`: the hash of the request's bytes.
    """
    answer = reader.answer
    if reader.failure:
        raise in_stream(origin, reader.failure)
    if reader.stop is None and stream.done and not answer.empty:
        reader.stop = "end"  # some servers never say why
    if reader.stop is None:
        raise garbled(origin) if stream.events + stream.bad and not reader.begun else cut_short(origin)
    if answer.empty and stream.bad:
        raise garbled(origin)
    if answer.empty and (error := silent(origin, reader.stop)) is not None:
        raise error
    return replace(answer.finish(reader.stop, reader.usage), sent=sent)
