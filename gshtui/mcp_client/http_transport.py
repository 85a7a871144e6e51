"""MCP over HTTP, as a transport for the SDK: to the one configured address, with a limit on what an answer may have.

The SDK follows a redirect only on the same host; any other ends the call with an error.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.streamable_http import streamable_http_client

from gshtui.mcp_client.message_filter import filtered
from gshtui.mcp_client.server_definition import McpError, ResolvedServer, ServerDefinition
from gshtui.mcp_client.server_process import LONGEST
from gshtui.mcp_client.server_requests import ServerHost
from gshtui.mcp_client.sign_in import SignIn
from gshtui.system.network.proxy_routes import EnvironmentFaultError
from gshtui.system.network.routed_transport import RoutedTransport

_CONNECT = 10.0
_READ = 300.0
"""Seconds between two pieces of an answer; calls have their own limit."""


class _TooLargeError(httpx2.StreamError):
    def __init__(self) -> None:
        super().__init__(f"The answer is larger than {LONGEST:,} bytes")


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer, until it is too large. A stream of events may go on, for each is limited by the SDK."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > LONGEST:
                raise _TooLargeError
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        stream = response.stream
        is_events = "text/event-stream" in response.headers.get("content-type", "")
        if not is_events and isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _LimitedBody(stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_streams(
    definition: ServerDefinition,
    resolved: ResolvedServer,
    host: ServerHost,
    memory: MutableMapping[str, str],
    waits: Callable[[float], None],
    note_left_out: Callable[[str], None],
) -> AsyncGenerator[TransportStreams]:
    """The streams of messages from and to a server at an address; the person signs in where it asks for that.

    Args:
        memory: where tokens are, until this process ends.
        waits: called with the seconds that a person may take now.
        note_left_out: called with each item of a result that was left out, as a phrase.

    Raises `McpError`: the environment keeps requests from the address.
    """
    routed = RoutedTransport()
    try:
        await asyncio.to_thread(routed.prepare, resolved.url)
    except EnvironmentFaultError as error:
        raise McpError(f"The MCP server {definition.name} cannot be reached: {error.message}.", error.hint) from error
    signed = any(name.lower() == "authorization" for name in resolved.headers)
    sign_in = contextlib.nullcontext() if signed else SignIn(definition, resolved.url, host, memory, waits)
    async with (
        sign_in as auth,
        httpx2.AsyncClient(
            headers=resolved.headers,
            timeout=httpx2.Timeout(_CONNECT, read=_READ),
            transport=_LimitedTransport(routed),
            auth=auth,
        ) as client,
        streamable_http_client(resolved.url, http_client=client, max_sse_event_size=LONGEST) as (read, write),
    ):
        yield filtered(read, write, note_left_out)
