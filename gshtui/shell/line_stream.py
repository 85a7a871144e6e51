"""JSON lines over a stream, with limits on a line's length and on the time until it is complete.

Splits lines and reports what is wrong with one; whether to disconnect is the caller's decision. Called by the
listener's connections and the link.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import msgspec

from gshtui.bus import wire
from gshtui.system.processes.time_limit import time_limit

_CHUNK = 64 * 1024
_encoder = msgspec.json.Encoder(enc_hook=str)


class BadLine(Exception):
    """An invalid line; the text says why. The connection may continue."""


class LineStream:
    """Splits input into lines. `limit`: bytes, changeable between lines; `within`: seconds to complete a line."""

    def __init__(self, reader: asyncio.StreamReader, limit: int, within: float) -> None:
        self.limit = limit
        self._reader = reader
        self._within = within
        self._rest = bytearray()
        self._skipping = False

    async def more(self) -> bool:
        """Wait for input; returns false at the end. Then get the complete lines from `whole`. Raises `TimeoutError`: a
        started line was not complete in time; `OSError`: the connection broke.
        """
        try:
            if self._rest or self._skipping:
                async with time_limit(self._within):
                    chunk = await self._reader.read(_CHUNK)
            else:
                chunk = await self._reader.read(_CHUNK)
        except asyncio.IncompleteReadError:
            return False
        self._rest += chunk
        return bool(chunk)

    def drop(self) -> None:
        """Discard the input so far."""
        self._rest.clear()

    def whole(self) -> Iterator[bytes | BadLine]:
        """The lines that are whole now, without their newlines; empty ones are left out."""
        start = 0
        while (end := self._rest.find(b"\n", start)) >= 0:
            line, start = bytes(self._rest[start:end]), end + 1
            if self._skipping:
                self._skipping = False
            elif len(line) > self.limit:
                yield BadLine(f"a line of {len(line)} bytes; the limit is {self.limit}")
            elif line.strip():
                yield line
        del self._rest[:start]
        if len(self._rest) > self.limit:
            if not self._skipping:
                self._skipping = True
                yield BadLine(f"a line of more than {self.limit} bytes")
            self._rest.clear()


def to_line(fields: dict[str, Any]) -> bytes:
    """A line of the protocol's own: hello, welcome, ack, error."""
    return _encoder.encode(fields) + b"\n"


def of_line(line: bytes) -> dict[str, Any]:
    """Parse a line into fields. Raises `BadLine`: it is not a JSON object."""
    try:
        return wire.fields_of(line)
    except wire.WireError as error:
        raise BadLine(str(error)) from error


def numbered(event_line: bytes, number: int) -> bytes:
    """An encoded event with its place in the stream, as the field `seq`."""
    return b'%b,"seq":%d}\n' % (event_line.rstrip()[:-1], number)


def number_of(fields: dict[str, Any]) -> int:
    """Remove the position in the stream from an event's fields and return it; 0 if there is none. Raises `BadLine`: it
    is not a valid position.
    """
    number = fields.pop("seq", 0)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 2**53:
        raise BadLine("`seq` is not a number")
    return number
