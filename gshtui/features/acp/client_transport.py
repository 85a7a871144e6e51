"""The messages between our agent and its client: as between us and a program, with what a server needs besides.

A client that asks faster than it is answered, or reads no answers, is read no further until it has fewer unanswered
requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gshtui.programs.acp.acp_transport import LineTransport

MOST_UNANSWERED = 128


class ClientTransport:
    """Implements the SDK's `Transport`."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        noted: Callable[[str], None],
    ) -> None:
        """
        Args:
            noted: receives the first line that is no message, for a person.
        """
        self._lines = LineTransport(reader, writer, pace=self._pace, noted=noted)
        self._unanswered = 0
        self._room = asyncio.Event()
        self._room.set()

    @property
    def fault(self) -> str:
        """Why the connection ended; empty: the client has gone."""
        return self._lines.fault

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message. Raises `ConnectionError` if the client reads no more."""
        try:
            await self._lines.send(message)
        finally:
            if "method" not in message:
                self._unanswered -= 1
                self._room.set()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; `None` at the end."""
        message = await self._lines.receive()
        if message is not None and "method" in message and "id" in message:
            self._unanswered += 1
            if self._unanswered >= MOST_UNANSWERED:
                self._room.clear()
        return message

    async def close(self) -> None:
        await self._lines.close()

    async def _pace(self) -> None:
        await self._room.wait()
