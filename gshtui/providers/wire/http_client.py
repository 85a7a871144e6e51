"""The HTTP client under every SDK: it enforces our deadlines, whatever the SDK asks for.

Connects and waits; knows no API. Raises only `httpx2` errors (`ConnectTimeout`, `ReadTimeout`, …) and
`EnvironmentFaultError`, which the adapters translate. Imported on first use, in a thread, because `httpx2` is slow to
load. Proxies and certificates come from the environment (`system/network/proxy_routes.py`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from gshtui.providers.wire.sdk_connection import STREAM, Deadlines
from gshtui.system.network.routed_transport import RoutedTransport
from gshtui.system.processes.time_limit import time_limit

_AT_ONCE = 16
"""Reads of a body before they are paced: a short answer is over as soon as it can be."""
_PACE = 0.03
"""Seconds between the reads of a long one: a screen shows no more, and each read costs as much as its tokens do."""
_WAITED = 0.0003
"""Seconds that tell a piece that was waited for from one that came with the piece before it."""


class _Paced(httpx2.AsyncByteStream):
    """A body that is read about as often as a screen is drawn."""

    def __init__(self, stream: httpx2.AsyncByteStream, request: httpx2.Request, silent: float) -> None:
        self._stream = stream
        self._request = request
        self._silent = silent

    async def __aiter__(self) -> AsyncIterator[bytes]:
        reads, began = 0, time.monotonic()
        try:
            async for piece in self._stream:
                if time.monotonic() - began >= _WAITED and (reads := reads + 1) > _AT_ONCE:
                    await asyncio.sleep(_PACE)  # what comes meanwhile is read with it
                yield piece
                began = time.monotonic()
        except httpx2.ReadTimeout as error:
            raise httpx2.ReadTimeout(f"no data for {self._silent:g} s", request=self._request) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


class WatchedClient(httpx2.AsyncClient):
    """An `httpx2` client with our deadlines in place of those that the caller passes."""

    def __init__(self, deadlines: Deadlines, url: str) -> None:
        """`url`: where it will be used. Raises `EnvironmentFaultError` where the environment keeps it from there."""
        self._deadlines = deadlines
        self._named: dict[str, httpx2.Response] = {}
        connect, silent = deadlines.connect, deadlines.silent
        self._limits_of_phases = httpx2.Timeout(connect=connect, pool=connect, read=silent, write=None)
        # A redirect would take keys in headers of the APIs' own to wherever it points.
        transport = RoutedTransport()
        transport.prepare(url)
        super().__init__(timeout=self._limits_of_phases, follow_redirects=False, transport=transport)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send; the response's body is watched. Raises `httpx2.ReadTimeout` where no answer begins in time."""
        request.extensions = {**request.extensions, "timeout": self._limits_of_phases.as_dict()}
        name = request.headers.pop(STREAM, "")
        wait = self._deadlines.silent
        stream = bool(options.pop("stream", False))
        options["follow_redirects"] = False
        try:
            async with time_limit(self._deadlines.connect + wait):
                response = await super().send(request, stream=True, **options)
        except (TimeoutError, httpx2.ReadTimeout) as error:
            raise httpx2.ReadTimeout(f"no answer for {wait:g} s", request=request) from error
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Paced(response.stream, request, self._deadlines.silent)
        if name and response.is_success:
            # Its reader is the adapter, which takes the events as they really are: the SDK gets none.
            self._named[name] = response
            return httpx2.Response(response.status_code, headers={"content-type": "text/event-stream"}, request=request)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response

    def response(self, name: str) -> httpx2.Response:
        """The response to the request with this name, until its stream is closed."""
        return self._named[name]

    async def close_stream(self, name: str) -> None:
        """Close the response of the request that had this name, if there is one: the connection goes with it."""
        if (response := self._named.pop(name, None)) is not None:
            await response.aclose()
