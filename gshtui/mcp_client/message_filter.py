"""What of a server's messages reaches the SDK: valid results, no flood of notifications, nothing too large."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, JSONRPCError, JSONRPCNotification, JSONRPCResponse

from gshtui.mcp_client.result_repair import repair_result

_BURST = 400
"""Notifications that may come at once."""
_EACH_SECOND = 200
"""Notifications that may come in a second for as long as it likes."""


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

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, for the SDK."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message that passes. Raises as the transport's stream does."""
        while True:
            item: SessionMessage | Exception = await self._inner.receive()
            if not isinstance(item, SessionMessage):
                return item
            message = item.message
            if isinstance(message, JSONRPCNotification) and not self.limit.passes():
                continue
            if isinstance(message, JSONRPCResponse):
                repair_result(message.result, self._note_left_out)
            elif isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
                message.error.code = INTERNAL_ERROR  # the SDK uses that number for a connection that it lost
            return item

    async def aclose(self) -> None:
        """Close the transport's stream."""
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        import anyio

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
