"""The server: HTTP/1.1 on a loopback port, one scripted answer a request, with pace, faults and a record.

Knows no API: `Speech` tells it what to send. Sees when a client goes away.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.kit.loopback.script import Answer, Fault, Say, fault
from tests.kit.loopback.speech import Frame, Refused, Speech, dumps, well_formed

_ENDS_WITHIN = 10.0
"""Seconds that the connections have to end."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    kind: str
    raw: bytes = b""


@dataclass(slots=True)
class Loopback:
    """A provider on this machine. Use with `async with`; `url` is its base.

    Args:
        script: answers in the order of the requests; the last one is repeated when `repeat` is set.
        key: the only key that is accepted; empty: any.
        models: the only models that exist; empty: any.
        window: tokens (bytes / 4) that a request may have; 0: any.
        pace: deltas a second; 0: as fast as they are taken.
        chunk: characters a delta.
    """

    speech: Speech
    script: Sequence[Answer] = ()
    key: str = ""
    models: list[str] = field(default_factory=list[str])
    window: int = 0
    pace: float = 0.0
    chunk: int = 8
    repeat: bool = False
    strict: bool = True
    choose: Callable[[Asked], Answer | None] | None = None
    """The answer for one request, where it depends on what was asked; `None`: the next of the script."""
    finished: Callable[[Asked, Answer], None] | None = None
    """Called when an answer has been sent whole."""
    port: int = 0
    url: str = ""
    requests: list[Asked] = field(default_factory=list[Asked])
    refused: list[str] = field(default_factory=list[str])
    """Rules that requests broke, as they were told to the client."""
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """A client went away before its answer was whole."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """A request for an answer has come."""
    sent: asyncio.Event = field(default_factory=asyncio.Event)
    """The first delta of an answer is on its way."""
    answered: int = 0
    _server: asyncio.Server | None = None
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def __aenter__(self) -> Loopback:
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
    def chats(self) -> list[Asked]:
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
        asked = Asked(method, path, headers, body, kind, raw)
        self.requests.append(asked)
        if kind == "chat":
            self.asked.set()
        gone = asyncio.create_task(_end_of(reader))
        try:
            return await self._respond(asked, writer, gone) and version != "HTTP/1.0"
        finally:
            gone.cancel()
            await asyncio.wait({gone})  # unlike `await gone`, it lets our own cancellation be told from that of `gone`

    async def _respond(self, asked: Asked, writer: asyncio.StreamWriter, gone: asyncio.Task[None]) -> bool:
        model = self.speech.model(asked.path, asked.body) if asked.kind in ("chat", "show") else ""
        refusal = self._refusal(asked, model)
        if refusal is not None:
            return await self._whole(writer, *self.speech.refusal(refusal, model))
        if asked.kind != "chat":
            return await self._whole(writer, 200, {}, self.speech.other(asked.kind, self.models, asked.body))
        answer = (self.choose(asked) if self.choose is not None else None) or self._next()
        wrong = fault(answer)
        if wrong is not None and wrong.kind in ("status", "quota", "context", "unsigned"):
            status, headers, body = self.speech.refusal(wrong, model)
            return await self._whole(writer, status, {**headers, **wrong.headers}, body)
        if wrong is not None and wrong.kind == "garbage":
            page = b"<!doctype html><title>Welcome</title><h1>It works!</h1>"
            return await self._whole(writer, 200, {"content-type": "text/html"}, page)
        whole = await self._stream(writer, answer, wrong, model, gone)
        if whole and self.finished is not None:
            self.finished(asked, answer)
        return whole

    def _next(self) -> Answer:
        number = self.answered
        self.answered += 1
        if number < len(self.script):
            return self.script[number]
        if self.repeat and self.script:
            return self.script[-1]
        return [Fault.status(500, message="the script has no further answer")] if self.script else [Say("ok")]

    def _refusal(self, asked: Asked, model: str) -> Fault | None:
        if not asked.kind:
            return Fault.status(404, message=f"no such path: {asked.path}")
        if self.key and self.speech.key(asked.headers) != self.key:
            return Fault.status(401)
        if model and self.models and model not in self.models:
            return Fault.status(404)
        if asked.kind != "chat":
            return None
        if self.strict:
            try:
                well_formed(asked.body)
                self.speech.check(asked.path, asked.headers, asked.body)
            except Refused as error:
                self.refused.append(str(error))
                return Fault.status(400, message=str(error))
        if self.window and len(json.dumps(asked.body)) // 4 > self.window:
            return Fault.context()
        return None

    async def _whole(self, writer: asyncio.StreamWriter, status: int, headers: dict[str, str], body: Any) -> bool:
        data = body if isinstance(body, bytes) else dumps(body)
        fields = {"content-type": "application/json", **headers, "content-length": str(len(data))}
        writer.write(_head(status, fields) + data)
        await writer.drain()
        return True

    async def _stream(
        self, writer: asyncio.StreamWriter, answer: Answer, wrong: Fault | None, model: str, gone: asyncio.Task[None]
    ) -> bool:
        if wrong is not None and wrong.kind == "hang" and wrong.after < 0:
            return await self._hang(gone)
        writer.write(_head(200, {"content-type": self.speech.content_type, "transfer-encoding": "chunked"}))
        await writer.drain()
        loop = asyncio.get_running_loop()
        started, deltas = loop.time(), 0
        for frame in self.speech.frames(answer, model, self.chunk):
            if gone.done():
                self.disconnected.set()
                return False
            if wrong is not None and frame.delta and deltas >= wrong.after and wrong.kind not in ("empty",):
                return await self._break(writer, wrong, gone)
            await _write(writer, frame)
            if frame.delta:
                deltas += 1
                self.sent.set()
                if self.pace and (wait := started + deltas / self.pace - loop.time()) > 0:
                    await asyncio.wait({gone}, timeout=wait)
        if wrong is not None and wrong.kind not in ("empty",):
            return await self._break(writer, wrong, gone)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _break(self, writer: asyncio.StreamWriter, wrong: Fault, gone: asyncio.Task[None]) -> bool:
        match wrong.kind:
            case "cut":
                writer.transport.abort()
                return False
            case "hang":
                return await self._hang(gone)
            case "error":
                await _write(writer, Frame(self.speech.trouble()))
            case "noise":
                await _write(writer, Frame(b"event: x\ndata: {\xff\xfe not json\n\n\x00\x01{{{\n"))
            case _:
                pass
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _hang(self, gone: asyncio.Task[None]) -> bool:
        await asyncio.wait({gone})
        self.disconnected.set()
        return False


async def _write(writer: asyncio.StreamWriter, frame: Frame) -> None:
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
