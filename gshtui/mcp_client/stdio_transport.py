"""MCP over a process's standard input and output, as a transport for the SDK that bad servers cannot harm.

A line that is too long costs its own call, lines that are no messages are counted and left out, and too many of them
end the connection.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import logging
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import anyio
import mcp_types
import msgspec
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage

from gshtui.guard.sandbox.stdio_server import ServerProcess
from gshtui.mcp_client.message_filter import filtered
from gshtui.mcp_client.server_process import LONGEST
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

_PIECE = 1 << 16
_MOST_NOISE = 1_000
"""Lines in a row that are no messages, after which it is no MCP server."""
_HEAD = 4_096
"""Bytes at either end of an oversized line in which its id is looked for."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[^"\\]{1,200}")')
_IS_ANSWER = re.compile(rb'"(?:result|error)"\s*:')
_FLUSHED_WITHIN = 0.5

logging.getLogger("mcp").setLevel(logging.CRITICAL)
logging.getLogger("client").setLevel(logging.CRITICAL)


class StdioState(msgspec.Struct):
    """What became of a connection.

    Attributes:
        fault: why it was ended from here, as the end of a sentence; empty: it was not.
        noise: lines that were no messages.
    """

    fault: str = ""
    noise: int = 0


@asynccontextmanager
async def stdio_streams(
    server: ServerProcess, state: StdioState, lost: asyncio.Event, note_left_out: Callable[[str], None]
) -> AsyncGenerator[TransportStreams]:
    """The streams of messages from and to a process; the process itself is ended by who started it.

    Args:
        lost: set once nothing can be read from it any more.
        note_left_out: called with each item of a result that was left out, as a phrase.
    """
    incoming, read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write_stream, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    stdin, stdout = server.process.stdin, server.process.stdout
    assert stdin is not None and stdout is not None

    async def read() -> None:
        try:
            async with incoming:
                await _read_messages(stdout, incoming, state)
        finally:
            lost.set()

    async def write() -> None:
        with contextlib.suppress(OSError):
            async with outgoing:
                async for message in outgoing:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    stdin.write(text.encode() + b"\n")
                    await stdin.drain()
        await incoming.aclose()  # nothing can be asked any more, so nobody must wait for an answer

    reading = start_job(read(), "an MCP server's messages")
    writing = start_job(write(), "messages to an MCP server")
    try:
        yield filtered(read_stream, write_stream, note_left_out)
    finally:
        await write_stream.aclose()
        with contextlib.suppress(TimeoutError):
            async with time_limit(_FLUSHED_WITHIN):
                await asyncio.wait([writing])
        await cancel_and_wait(writing, reading)
        await read_stream.aclose()


async def _read_messages(
    stdout: asyncio.StreamReader, incoming: MemoryObjectSendStream[SessionMessage | Exception], state: StdioState
) -> None:
    lines = LineSplitter()
    noise = 0
    while piece := await stdout.read(_PIECE):
        for line in lines.feed(piece):
            message = _parsed(line)
            if message is None:
                noise, state.noise = noise + 1, state.noise + 1
                if noise > _MOST_NOISE:
                    state.fault = f"it wrote {noise:,} lines that are no messages of MCP"
                    return
                continue
            noise = 0
            try:
                await incoming.send(message)
            except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                return


class LineSplitter:
    """Splits bytes into lines. Of a line that is too long only both ends are kept, as an `OversizedLine`."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, piece: bytes) -> list[bytes | OversizedLine]:
        *ended, rest = piece.split(b"\n")
        found: list[bytes | OversizedLine] = []
        for part in ended:
            self._add(part)
            found.append(self._line())
            self._parts, self._size = [], 0
        self._add(rest)
        return found

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        self._parts.append(part)
        if self._size > LONGEST:
            whole = b"".join(self._parts)
            self._parts = [whole[:_HEAD], whole[-_HEAD:]]

    def _line(self) -> bytes | OversizedLine:
        if self._size > LONGEST:
            whole = b"".join(self._parts)
            return OversizedLine(whole[:_HEAD], whole[-_HEAD:], self._size)
        return b"".join(self._parts)


class OversizedLine(msgspec.Struct, frozen=True):
    """The ends of a line that is too long, and its size in bytes."""

    head: bytes
    tail: bytes
    size: int


def _parsed(line: bytes | OversizedLine) -> SessionMessage | None:
    """A line as a message; `None`: it is none. In place of an answer that is too long, its call gets an error."""
    if isinstance(line, OversizedLine):
        return _refusal(line)
    try:
        text = line.removeprefix(codecs.BOM_UTF8)
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except (ValueError, RecursionError):
        return None


def _refusal(line: OversizedLine) -> SessionMessage | None:
    # Programs write the id first or last; within an answer there may be other things that are called so.
    found = _ID.search(line.head) or next(reversed(list(_ID.finditer(line.tail))), None)
    if found is None or not (_IS_ANSWER.search(line.head) or _IS_ANSWER.search(line.tail)):
        return None
    text = found[1].decode("utf-8", "replace")
    number = text.strip('"') if text.startswith('"') else int(text)
    said = f"The answer has {line.size:,} bytes; more than {LONGEST:,} are not read."
    error = mcp_types.ErrorData(code=mcp_types.INTERNAL_ERROR, message=said)
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error))
