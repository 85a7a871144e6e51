"""What of a server's messages reaches the SDK: valid results, no flood of notifications, nothing too large."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import anyio
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from gshtui.mcp_client.result_repair import repair_result

_BURST = 400
"""Notifications that may come at once."""
_EACH_SECOND = 200
"""Notifications that may come in a second for as long as it likes."""
GREETS_WITHIN = 2.0
"""Seconds that a server has to answer the first question, which servers of earlier versions of MCP may not know. A
later answer is not lost: such a server refuses the handshake that follows, and is asked again."""


def filtered(read: Any, write: Any, note_left_out: Callable[[str], None]) -> TransportStreams:
    """The streams of a transport as the SDK gets them. `note_left_out`: called with each item of a result that was left
    out, as a phrase.
    """
    stream = FilteredStream(read, note_left_out)
    return stream, _NotingStream(write, stream)


class NotificationLimit:
    """Lets a burst through, then so many a second."""

    def __init__(self) -> None:
        self._left = float(_BURST)
        self._at = time.monotonic()
        self.dropped = 0

    def passes(self) -> bool:
        """Whether one more may pass now."""
        now = time.monotonic()
        self._left = min(float(_BURST), self._left + (now - self._at) * _EACH_SECOND)
        self._at = now
        if self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True


class FilteredStream:
    """The SDK's stream of messages from a server, filtered."""

    def __init__(self, inner: Any, note_left_out: Callable[[str], None]) -> None:
        """
        Args:
            inner: the transport's own stream.
            note_left_out: called with each item of a result that was left out, as a phrase.
        """
        self._inner = inner
        self._note_left_out = note_left_out
        self.limit = NotificationLimit()
        self._greeting: int | str | None = None
        """Id of the first question."""
        self._greeted = False
        self._greets_until = math.inf
        self._waiting = anyio.CancelScope()

    def note_sent(self, message: Any) -> None:
        """A message that goes to the server: its time to answer the first question begins."""
        if not self._greeted and isinstance(message, JSONRPCRequest):
            self._greeted = True
            if message.method == "server/discover":
                self._greeting, self._greets_until = message.id, anyio.current_time() + GREETS_WITHIN
                self._waiting.deadline = self._greets_until  # of the reader that is there already

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, for the SDK."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message that passes. Raises as the transport's stream does."""
        while True:
            item = await self._next()
            if not isinstance(item, SessionMessage):
                return item
            message = item.message
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id == self._greeting:
                self._greets_until = math.inf
            if isinstance(message, JSONRPCNotification) and not self.limit.passes():
                continue
            if isinstance(message, JSONRPCResponse):
                repair_result(message.result, self._note_left_out)
            elif isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
                message.error.code = INTERNAL_ERROR  # the SDK uses that number for a connection that it lost
            return item

    async def _next(self) -> SessionMessage | Exception:
        """The next message; in place of an answer to the first question that does not come, that it is not known."""
        with anyio.CancelScope(deadline=self._greets_until) as self._waiting:
            return await self._inner.receive()
        self._greets_until = math.inf
        error = ErrorData(code=METHOD_NOT_FOUND, message="There is no answer.")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=self._greeting, error=error))

    async def aclose(self) -> None:
        """Close the transport's stream."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _NotingStream:
    """The SDK's stream of messages to a server; what reads its answers hears of each."""

    def __init__(self, inner: Any, reader: FilteredStream) -> None:
        self._inner = inner
        self._reader = reader

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message. Raises as the transport's stream does."""
        self._reader.note_sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        """Close the transport's stream."""
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()
