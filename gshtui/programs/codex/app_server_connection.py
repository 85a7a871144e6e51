"""One connection to a Codex app-server: JSON-RPC in the messages of a WebSocket over a Unix socket.

Talks only to a server of this user. What is no message of the protocol costs no more than itself; one that is larger
than `LARGEST` costs the connection.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gshtui.system.json_types import is_object, parse_foreign_json
from gshtui.system.network.peer import peer_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection

LARGEST = 32_000_000
"""Bytes of a message: a command's whole output and a change's whole text are in one."""
_OPEN_WITHIN, _ANSWER_WITHIN, _CLOSE_WITHIN = 5.0, 15.0, 1.0
"""Seconds for the handshake, an answer, and a farewell."""
RequestId = int | str


class ServerMessage(msgspec.Struct, frozen=True):
    """What the server says by itself. `id`: it is a request that waits for an answer."""

    method: str
    params: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    id: RequestId | None = None
    at: float = 0.0
    """When it was sent, in seconds since 1970; 0: it does not say."""


class AppServerError(Exception):
    """A request failed. gone: it was not sent. refused: the server said no. unsure: nobody knows what came of it."""

    def __init__(self, kind: Literal["gone", "refused", "unsure"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class AppServerConnection:
    """An open connection. `closed` is set once it is over."""

    def __init__(self, web: ClientConnection, on_message: Callable[[ServerMessage], None]) -> None:
        self.closed = asyncio.Event()
        self._web = web
        self._on_message = on_message
        self._numbers = itertools.count(1)
        self._waiting: dict[RequestId, asyncio.Future[Mapping[str, Any]]] = {}
        self._reader = start_job(self._read(), "the messages of Codex")

    @classmethod
    async def open(cls, path: Path, on_message: Callable[[ServerMessage], None]) -> AppServerConnection:
        """Connect. Raises `AppServerError` (gone)."""
        from websockets.asyncio.client import connect  # few agents are reached in this way
        from websockets.exceptions import WebSocketException

        way = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            way.setblocking(False)
            async with time_limit(_OPEN_WITHIN):
                await asyncio.get_running_loop().sock_connect(way, str(path))
                if not peer_of(way).is_us:
                    raise OSError("it belongs to another user")
                web = await connect(
                    "ws://localhost/",
                    sock=way,
                    proxy=None,
                    compression=None,
                    max_size=LARGEST,
                    open_timeout=None,
                    close_timeout=_CLOSE_WITHIN,
                    ping_interval=None,
                )
        except (OSError, WebSocketException, TimeoutError) as error:
            way.close()
            raise AppServerError("gone", f"its server cannot be reached: {one_line(str(error), 120)}") from error
        except BaseException:
            way.close()
            raise
        return cls(web, on_message)

    async def call(self, method: str, *, within: float = _ANSWER_WITHIN, **params: object) -> Mapping[str, Any]:
        """Ask for something, and wait so many seconds for the result. Raises `AppServerError`."""
        if self.closed.is_set():
            raise AppServerError("gone", "the connection to its server is closed")
        number = next(self._numbers)
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            await self._send({"id": number, "method": method, "params": params})
            async with time_limit(within):
                return await answer
        except TimeoutError as error:
            raise AppServerError("unsure", f"its server did not answer {method}") from error
        finally:
            del self._waiting[number]

    async def notify(self, method: str) -> None:
        """Tell something that needs no answer. Raises `AppServerError` (unsure)."""
        await self._send({"method": method})

    async def respond(self, id: RequestId, result: Mapping[str, Any]) -> None:
        """Answer a request of the server's. Raises `AppServerError` (unsure)."""
        await self._send({"id": id, "result": result})

    async def close(self) -> None:
        """End it."""
        await self._web.close()
        await cancel_and_wait(self._reader)

    async def _send(self, message: Mapping[str, Any]) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            await self._web.send(json.dumps(message))
        except (ConnectionClosed, OSError) as error:
            raise AppServerError("unsure", "the connection to its server has just been closed") from error

    async def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                self._take(await self._web.recv())
        except ConnectionClosed:
            pass
        finally:
            self.closed.set()
            for waits in self._waiting.values():
                if not waits.done():
                    waits.set_exception(AppServerError("unsure", "its server ended before it answered"))

    def _take(self, data: str | bytes) -> None:
        try:
            value = parse_foreign_json(data)
        except ValueError:
            return
        if not is_object(value):
            return
        method, id, params = value.get("method"), value.get("id"), value.get("params")
        known = id if isinstance(id, int | str) and not isinstance(id, bool) else None
        if isinstance(method, str):
            at = value.get("emittedAtMs")
            told = params if is_object(params) else {}
            sent = at / 1000 if isinstance(at, int | float) and not isinstance(at, bool) else 0.0
            self._on_message(ServerMessage(method, told, known, sent))
        elif known is not None and (waits := self._waiting.get(known)) is not None and not waits.done():
            result, error = value.get("result"), value.get("error")
            if is_object(error):
                why = error.get("message")
                waits.set_exception(AppServerError("refused", one_line(str(why), 200)))
            else:
                waits.set_result(result if is_object(result) else {})
