"""The HTTP API of one OpenCode server: requests with deadlines and limits, and the stream of its events.

What is no JSON of the expected kind is refused. An event that is malformed, or larger than `LARGEST`, costs that event.
Knows nothing of what the answers mean.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from gshtui.programs.opencode.server_address import ServerAddress
from gshtui.system.json_types import obj
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.foreign_json import parse_foreign_json
from gshtui.text.sanitise import one_line

LARGEST = 8_000_000
"""Bytes of an answer, and of an event."""
_ANSWER_WITHIN, _CONNECT_WITHIN = 20.0, 5.0
"""Seconds for an answer: some versions answer nothing while they start; and for a connection."""
_SILENT = 45.0
"""Seconds without anything after which a stream is broken: the server says every ten that it is there."""
_PIECE, _HEAD = b'"message.part.delta"', 200
"""The event of each piece of an answer, which nobody here needs, and where it says so."""
_PIECE_SIZE = 65_536
Trouble = Literal["gone", "refused", "missing", "unsure"]


class ServerError(Exception):
    """A request failed. gone: nothing was sent. refused: the server said no. missing: what it is about does not exist.
    unsure: it was sent, and nobody knows what came of it.
    """

    def __init__(self, kind: Trouble, message: str) -> None:
        super().__init__(message)
        self.kind: Trouble = kind


class _Head(msgspec.Struct, frozen=True):
    """How an answer begins."""

    status: int
    kind: str
    """The type of its body."""


class ServerClient:
    """Requests to one server, each on a connection of its own."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address

    async def get(self, path: str, **query: str) -> Any:
        """An answer's value. Raises `ServerError`."""
        return await self._call("GET", f"{path}?{urlencode(query)}" if query else path, None)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Have something done; the answer's value, `None` where there is none. Raises `ServerError`."""
        return await self._call("POST", path, {} if body is None else body)

    async def is_open_to_all(self) -> bool:
        """Whether it lets somebody in who does not know the secret. Raises `ServerError`."""
        head, _ = await self._exchange("GET", "/global/health", None, known=False)
        return head.status != 401

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        return _value(*await self._exchange(method, path, body))

    async def _exchange(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, known: bool = True
    ) -> tuple[_Head, bytes]:
        """The whole answer. Raises `ServerError`. `known`: with the secret."""
        head, data = _Head(0, ""), b""
        try:
            async with time_limit(_ANSWER_WITHIN), contextlib.aclosing(self._send(method, path, body, known)) as parts:
                async for part in parts:
                    if isinstance(part, _Head):
                        head = part
                    elif len(data := data + part) > LARGEST:
                        raise ServerError("refused", "its answer is too large")
        except TimeoutError as error:
            raise ServerError("unsure" if method == "POST" else "gone", "it does not answer") from error
        return head, data

    async def events(self) -> AsyncGenerator[dict[str, Any]]:
        """What the server says by itself, from now on, until the connection ends. Raises `ServerError`."""
        reader = ServerEventReader()
        async with contextlib.aclosing(self._send("GET", "/event", None, True)) as parts:
            async for part in parts:
                if not isinstance(part, _Head):
                    for event in reader.feed(part):
                        yield event
                elif part.status != 200 or part.kind != "text/event-stream":
                    raise ServerError("refused", f"it has no events ({part.status})")

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, known: bool
    ) -> AsyncGenerator[_Head | bytes]:
        """Send a request; how the answer begins, and then its body as it comes. Raises `ServerError`."""
        import h11  # without TLS, which the keeper does without

        host, port = self._address.host, self._address.port
        try:
            async with time_limit(_CONNECT_WITHIN):
                reader, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            raise ServerError("gone", "it cannot be reached") from error
        try:
            wire, data = h11.Connection(h11.CLIENT), b"" if body is None else json.dumps(body).encode()
            headers = [("Host", f"{host}:{port}"), ("Connection", "close"), ("Content-Length", str(len(data)))]
            headers += [("Content-Type", "application/json")] if body is not None else []
            headers += [("Authorization", self._address.authorization)] if known else []
            request = h11.Request(method=method, target=path, headers=headers)
            for event in (request, h11.Data(data=data), h11.EndOfMessage()):
                writer.write(wire.send(event) or b"")
            await writer.drain()
            while True:
                event = wire.next_event()
                if event is h11.NEED_DATA:
                    async with time_limit(_SILENT):
                        wire.receive_data(await reader.read(_PIECE_SIZE))
                elif isinstance(event, h11.Response):
                    kinds = [value for name, value in event.headers if name == b"content-type"]
                    yield _Head(event.status_code, kinds[0].decode("latin-1").partition(";")[0] if kinds else "")
                elif isinstance(event, h11.Data):
                    yield bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    return
                elif isinstance(event, h11.ConnectionClosed):
                    raise ServerError("unsure" if method == "POST" else "gone", "it ended the connection")
        except (h11.ProtocolError, OSError, TimeoutError) as error:
            raise ServerError("unsure" if method == "POST" else "gone", _words(error)) from error
        finally:
            writer.transport.abort()  # it notices that at once, while it sees a farewell with its next event


class ServerEventReader:
    """Takes a stream of events apart."""

    def __init__(self) -> None:
        self._held = b""
        self._data: list[bytes] = []
        self._size = 0
        self._skips = False
        """The line under way is too long: what is left of it, and its event, do not count."""

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The events that this piece of the stream completes."""
        found: list[dict[str, Any]] = []
        *lines, self._held = (self._held + piece).split(b"\n")
        for line in lines:
            if not line.rstrip(b"\r"):
                found += self._event()
            elif line.startswith(b"data:"):
                self._size += len(line)
                self._data.append(line[5:].strip())
        if len(self._held) + self._size > LARGEST:
            self._skips, self._held, self._data, self._size = True, b"", [], 0
        return found

    def _event(self) -> list[dict[str, Any]]:
        data, skips = b"\n".join(self._data), self._skips
        self._data, self._size, self._skips = [], 0, False
        if not data or skips or _PIECE in data[:_HEAD]:
            return []
        try:
            event = obj(parse_foreign_json(data))
        except ValueError:
            return []
        return [event] if event else []


def _value(head: _Head, data: bytes) -> Any:
    status, is_json = head.status, head.kind == "application/json"
    if status == 204 or (status < 300 and not data):
        return None
    try:
        value: object = parse_foreign_json(data) if is_json else None
    except ValueError as error:
        raise ServerError("refused", "its answer is no JSON") from error
    if status >= 300 or not is_json:  # an unknown path is answered with a page for browsers
        words = obj(value).get("message")
        why = words if isinstance(words, str) else f"it answers with {status}"
        raise ServerError("missing" if status == 404 else "refused", one_line(why, 200))
    return value


def _words(error: BaseException) -> str:
    return one_line(str(error) or type(error).__name__, 120)
