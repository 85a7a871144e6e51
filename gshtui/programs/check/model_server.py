"""The server of a model on this machine: HTTP/1.1 on a loopback port, with pace and a record of what was asked.

Knows no API: a `ModelWire` tells it what to send. Sees when a client goes away.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterable
from typing import Any, Generic, Self, TypeVar

import msgspec

from gshtui.programs.check.model_wire import ModelAnswer, ModelWire, Utterance, WireFrame, dumps

_ENDS_WITHIN = 10.0
"""Seconds that the connections have to end."""
W = TypeVar("W", bound=ModelWire)


class ModelRequest(msgspec.Struct, frozen=True):
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    kind: str
    raw: bytes = b""


class ModelServer(msgspec.Struct, Generic[W]):
    """A model on this machine. Use with `async with`; `url` is its base.

    Args:
        pace: deltas a second; 0: as fast as they are taken.
        chunk: characters a delta.
    """

    speech: W
    choose: Callable[[ModelRequest], ModelAnswer | None] | None = None
    """The answer for one request; `None`: it is a short one."""
    pace: float = 0.0
    chunk: int = 8
    models: list[str] = msgspec.field(default_factory=list[str])
    port: int = 0
    url: str = ""
    requests: list[ModelRequest] = msgspec.field(default_factory=list[ModelRequest])
    finished: Callable[[ModelRequest, ModelAnswer], None] | None = None
    """Called when an answer has been sent whole."""
    disconnected: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """A client went away before its answer was whole."""
    asked: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """A request for an answer has come."""
    sent: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """The first delta of an answer is on its way."""
    unanswered: list[ModelRequest] = msgspec.field(default_factory=list[ModelRequest])
    """The requests for an answer that is not yet sent whole."""
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = msgspec.field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port, limit=64_000_000)
        self.port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in tuple(self._tasks):
            task.cancel()
        if self._tasks:
            left = (await asyncio.wait(self._tasks, timeout=_ENDS_WITHIN))[1]
            assert not left, f"connections that do not end: {left}"

    @property
    def chats(self) -> list[ModelRequest]:
        """The requests for an answer."""
        return [asked for asked in self.requests if asked.kind == "chat"]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        top, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        method, path, version = top.split()
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines if line)}
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        body = json.loads(raw) if raw else None
        kind = self.speech.route(method, path.split("?")[0])
        asked = ModelRequest(method, path, headers, body, kind, raw)
        self.requests.append(asked)
        if kind == "chat":
            self.asked.set()
        gone = asyncio.create_task(_end_of(reader))
        if kind == "chat":
            self.unanswered.append(asked)
        try:
            return await self._respond(asked, writer, gone) and version != "HTTP/1.0"
        finally:
            self.unanswered = [each for each in self.unanswered if each is not asked]
            gone.cancel()
            await asyncio.wait({gone})  # unlike `await gone`, it lets our own cancellation be told from that of `gone`

    async def _respond(self, asked: ModelRequest, writer: asyncio.StreamWriter, gone: asyncio.Task[None]) -> bool:
        if not asked.kind:
            return await self._whole(writer, 404, {}, {"error": {"message": f"no such path: {asked.path}"}})
        if asked.kind != "chat":
            return await self._whole(writer, 200, {}, self.speech.other(asked.kind, self.models, asked.body))
        answer = (self.choose(asked) if self.choose is not None else None) or [Utterance("ok")]
        frames = self.speech.frames(answer, self.speech.model(asked.path, asked.body), self.chunk)
        return await self._stream(writer, frames, gone) and await self._ended(writer, asked, answer)

    async def _ended(self, writer: asyncio.StreamWriter, asked: ModelRequest, answer: ModelAnswer) -> bool:
        """End a streamed answer."""
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        if self.finished is not None:
            self.finished(asked, answer)
        return True

    async def _whole(self, writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: object) -> bool:
        data = body if isinstance(body, bytes) else dumps(body)
        fields = {"content-type": "application/json", **headers, "content-length": str(len(data))}
        writer.write(_head(status, fields) + data)
        await writer.drain()
        return True

    async def _stream(
        self, writer: asyncio.StreamWriter, frames: Iterable[WireFrame], gone: asyncio.Task[None]
    ) -> bool:
        """Send these frames at the pace; whether the client stayed."""
        writer.write(_head(200, {"content-type": self.speech.content_type, "transfer-encoding": "chunked"}))
        await writer.drain()
        loop = asyncio.get_running_loop()
        started, deltas = loop.time(), 0
        for frame in frames:
            if gone.done():
                self.disconnected.set()
                return False
            await send_frame(writer, frame)
            if frame.delta:
                deltas += 1
                self.sent.set()
                if self.pace and (wait := started + deltas / self.pace - loop.time()) > 0:
                    await asyncio.wait({gone}, timeout=wait)
        return True


async def send_frame(writer: asyncio.StreamWriter, frame: WireFrame) -> None:
    """Send one frame of a streamed answer."""
    writer.write(f"{len(frame.data):x}\r\n".encode() + frame.data + b"\r\n")
    await writer.drain()


async def _end_of(reader: asyncio.StreamReader) -> None:
    """Returns when the client has gone. A client sends nothing while it waits for an answer."""
    with contextlib.suppress(ConnectionError):
        while not reader.at_eof() and not await reader.read(1):
            break


def _head(status: int, headers: dict[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode()
