"""`gsh-tui mcp serve` beside a resident hub: messages between a program and the hub, which serves it.

This process has no hub, no record and no SDK. A hub that ends, as when a newer program replaces it, is followed by the
next one: its greeting is said again there, and what waited for an answer is told that it has none, and is not repeated.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from gshtui.client.hub_greeting import greeted, line_from
from gshtui.headless import exits, streams
from gshtui.headless.runner import Stop
from gshtui.system.processes import process_limits
from gshtui.system.processes.processes import start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait

_ANSWER_WITHIN = 10.0
"""Seconds for the hub to take a program: it loads the SDK for the first one."""
_COMES_WITHIN, _LOOK_EVERY = 10.0, 0.02
"""Seconds for a hub that is being started."""
_LONGEST = 8 * 1024 * 1024
"""Bytes of a message."""
_ENDED = "The hub ended before it answered, so it is not known whether this was done."
_PARSE_ERROR, _SERVER_ERROR = -32700, -32000
"""JSON-RPC 2.0, section 5.1."""


async def relayed(allowed: Sequence[str], source: int, sink: int, stop: Stop, *, comes: bool = False) -> int | None:
    """Pass messages on until the program leaves; returns the exit code, `None` where no hub takes it.

    Args:
        allowed: the writing commands that may be called.
        source: descriptor of what the program says; `sink`: of what it is told.
        comes: a hub is being started, which is waited for.
    """
    if not streams.is_pipe(source):
        return None
    fields = {
        "allowed": list(allowed),
        "cwd": os.getcwd(),  # noqa: PTH109
        "environ": dict(os.environ),
        "umask": process_limits.umask(),
        "limits": process_limits.limits(),
    }
    relay = _Relay(json.dumps(fields).encode() + b"\n", sink)
    try:
        async with time_limit(_COMES_WITHIN if comes else None):
            while not await relay.connect():
                if not comes:
                    return None
                await asyncio.sleep(_LOOK_EVERY)
    except TimeoutError:
        return None
    lines = asyncio.StreamReader(limit=_LONGEST)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(source, "rb", closefd=False)
    )
    passing, stopping = asyncio.ensure_future(relay.run(lines)), asyncio.ensure_future(stop.asked.wait())
    await asyncio.wait([passing, stopping], return_when=asyncio.FIRST_COMPLETED)
    await cancel_and_wait(passing, stopping)
    relay.close()
    return exits.DONE


class _Relay:
    """See the module's text."""

    def __init__(self, opening: bytes, sink: int) -> None:
        self._opening = opening
        self._sink = sink
        self._writer: asyncio.StreamWriter | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._greeting: list[bytes] = []
        """What the program said first, which each hub has to hear."""
        self._waiting: dict[int | str, bool] = {}
        """Ids of requests without an answer."""
        self._answered = asyncio.Event()
        self._telling = asyncio.Lock()

    async def connect(self) -> bool:
        """Be taken by a hub, and greet it."""
        connected = await asyncio.to_thread(_taken, self._opening)
        if connected is None:
            return False
        connected.setblocking(False)
        reader, self._writer = await asyncio.open_unix_connection(sock=connected, limit=_LONGEST)
        if self._greeting:
            self._writer.writelines(self._greeting)
            await reader.readline()  # it says what the one before has said
        self._hearing = asyncio.ensure_future(self._hear(reader, self._writer))
        return True

    def close(self) -> None:
        """Hang up."""
        if self._hearing is not None:
            self._hearing.cancel()
        if self._writer is not None:
            self._writer.close()

    async def run(self, lines: asyncio.StreamReader) -> None:
        """Pass on what the program says, until it ends and all of it is answered."""
        while line := await _next(lines):
            await self._pass(line)
        while self._waiting:
            self._answered.clear()
            await self._answered.wait()

    async def _pass(self, line: bytes) -> None:
        message = _parsed(line)
        if message is None:
            await self._refuse(None, _PARSE_ERROR, "This is no message: an object of JSON on one line.")
            return
        id = message.get("id")
        method = message.get("method")
        asks = isinstance(method, str) and isinstance(id, int | str)
        if asks:
            self._waiting[cast("int | str", id)] = True
        try:
            if self._writer is None and not await self.connect():
                await _start_hub()
                if not await self.connect():
                    raise ConnectionError
            assert self._writer is not None
            self._writer.write(line)
            await self._writer.drain()
        except OSError:
            if asks and self._waiting.pop(cast("int | str", id), False):
                await self._refuse(
                    id, _SERVER_ERROR, "No hub runs, and none could be started: `gsh-tui hub start` says why."
                )
        if method in ("initialize", "notifications/initialized"):
            self._greeting.append(line)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while line := await _next(reader):
                message = _parsed(line) or {}
                if "jsonrpc" not in message:
                    continue  # the hub's own, as its goodbye
                await self._tell(line)
                if "method" not in message:
                    self._waiting.pop(cast("Any", message.get("id")), None)
                    self._answered.set()
        writer.close()
        self._writer = None
        for id in tuple(self._waiting):
            if self._waiting.pop(id, False):
                await self._refuse(id, _SERVER_ERROR, _ENDED)
        self._answered.set()

    async def _refuse(self, id: object, code: int, text: str) -> None:
        answer = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}
        await self._tell(json.dumps(answer).encode() + b"\n")

    async def _tell(self, line: bytes) -> None:
        async with self._telling:
            await asyncio.to_thread(streams.pass_on, self._sink, line)


async def _start_hub() -> None:
    """Start the hub, which has ended since because nothing went on."""
    nothing = asyncio.subprocess.DEVNULL
    words = [sys.executable, "-m", "gshtui", "hub", "start"]
    process = await start_child(*words, stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        async with time_limit(_COMES_WITHIN):
            await process.wait()
    except TimeoutError:
        pass  # it goes on by itself, and the next call finds it


def _taken(opening: bytes) -> socket.socket | None:
    """A connection to the hub that takes the program; `None`: none does."""
    with suppress(TimeoutError):
        for connected in greeted("mcp", _ANSWER_WITHIN):
            with suppress(OSError, ValueError):
                connected.sendall(opening)
                answer = line_from(connected)
                if answer.get("begins") is True:
                    for _, text in answer.get("problems", ()):
                        streams.complain(str(text))
                    return connected
            connected.close()
    return None


async def _next(lines: asyncio.StreamReader) -> bytes:
    """The next line, empty at the end; one that is too long ends it, too."""
    try:
        return await lines.readline()
    except ValueError:
        return b""


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", message) if isinstance(message, dict) else None
