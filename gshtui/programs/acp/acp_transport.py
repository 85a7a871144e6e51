"""The messages between us and an agent program: one JSON object a line over its standard input and output.

Keeps a bad peer from doing harm: a line that is no JSON object is skipped and counted, too many of them or one that is
too long end the connection, and a flood is read no faster than it is handled. Implements the SDK's `Transport`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from typing import Any

from gshtui.system.json_types import is_object, parse_foreign_json
from gshtui.text.sanitise import one_line

LONGEST = 32 * 1024 * 1024
"""Bytes of one message; a longer one ends the connection."""
MOST_GARBAGE = 100
"""Lines that are no messages, such as words of a launcher, before the connection ends."""
_CHUNK = 256 * 1024


class LineTransport:
    """See the module. `fault` says, once `receive` has returned `None`, why the connection ended; empty: the end.

    Args:
        pace: awaited before each message is read; it returns once the earlier ones are handled.
        longest: bytes of one message.
        noted: receives the first line that is no message, for a person.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        pace: Callable[[], Awaitable[None]],
        longest: int = LONGEST,
        noted: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.fault = ""
        self._reader = reader
        self._writer = writer
        self._pace = pace
        self._longest = longest
        self._noted = noted
        self._buffer = bytearray()
        self._garbage = 0
        self._sending = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Write one message. Raises `ConnectionError` if the program reads no more."""
        data = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        async with self._sending:
            self._writer.write(data)
            await self._writer.drain()

    async def receive(self) -> dict[str, Any] | None:
        """The next message; `None` at the end, whatever its reason. Raises nothing but a cancellation."""
        while not self.fault:
            await self._pace()
            await asyncio.sleep(0)  # what the last message started runs before the next one is read
            line = await self._line()
            if line is None:
                return None
            if not line.strip():
                continue
            message = _decoded(line)
            if message is not None:
                return message
            self._count_garbage(line)
        return None

    async def close(self) -> None:
        """Close the program's standard input."""
        with contextlib.suppress(OSError, RuntimeError):
            self._writer.close()

    async def _line(self) -> bytes | None:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self._longest:
                self.fault = f"sent a message of more than {self._longest // (1024 * 1024)} MB"
                self._buffer.clear()
                return None
            try:
                chunk = await self._reader.read(_CHUNK)
            except (OSError, ValueError):
                chunk = b""
            if not chunk:
                return None
            self._buffer += chunk
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        if len(line) > self._longest:
            self.fault = f"sent a message of more than {self._longest // (1024 * 1024)} MB"
            return None
        return line

    def _count_garbage(self, line: bytes) -> None:
        self._garbage += 1
        if self._garbage == 1:
            self._noted(one_line(line[:400].decode("utf-8", "replace")))
        if self._garbage > MOST_GARBAGE:
            self.fault = f"wrote more than {MOST_GARBAGE} lines that are no messages of the protocol"


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        value: object = parse_foreign_json(line)
    except ValueError:
        return None
    return value if is_object(value) else None
