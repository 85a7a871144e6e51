"""A window's hub in another process: what a window asks, over a connection.

Its bus has the events of that hub in their order; what is published here goes there first. A hub that ends is told as
an event, and every call then fails.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.client.linked_bus import LinkedBus
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import HubLost, error_of
from gshtui.system.json_types import is_object
from gshtui.system.plain_values import from_plain, to_plain
from gshtui.system.tasks import cancel_and_wait, report, start_job

if TYPE_CHECKING:
    from gshtui.commands.declaration import Question
    from gshtui.commands.evaluation import Ask
    from gshtui.settings.model import Settings
    from gshtui.tmux.server import TmuxServer

R = TypeVar("R")
_LONGEST = 256 * 1024 * 1024
"""Bytes of a line from the hub."""
_encoder = msgspec.json.Encoder()


class WindowLink(WindowCalls):
    """See the module's text."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        settings: Settings,
        terminals: Callable[[str], TmuxServer],
        end_hub: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._link = LinkedBus(self._publish, self.drained)
        super().__init__(self._link, settings, {})
        self._end_hub = end_hub
        self._lost = asyncio.Event()
        self._moved = ""
        self._reader = reader
        self._writer = writer
        self._terminals = terminals
        self._reading: asyncio.Task[None] | None = None
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._asks: dict[int, Ask] = {}
        """Of calls that may ask."""
        self._number = 0

    @classmethod
    async def over(
        cls,
        connected: socket.socket,
        settings: Settings,
        terminals: Callable[[str], TmuxServer],
        end_hub: Callable[[], Awaitable[None]] | None = None,
    ) -> WindowLink:
        """A link to the hub that takes this window. `end_hub`: ends the hub, which is this window's own."""
        connected.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connected, limit=_LONGEST)
        return cls(reader, writer, settings, terminals, end_hub)

    async def start(self) -> None:
        self._reading = asyncio.ensure_future(self._read())
        await self._ask("start")

    def cease(self) -> None:
        self._send(do="cease")

    async def stop(self) -> None:
        """Stop the hub in order, and hang up."""
        self._fail_calls()
        with suppress(HubLost):
            self.goes_on = await self._ask("stop")
        await cancel_and_wait(self._reading)
        self._writer.close()
        await self.bus.close()
        if self._end_hub is not None:
            self.goes_on = False
            await self._end_hub()

    async def ended(self) -> str:
        await self._lost.wait()
        return self._moved

    def terminal_server(self, socket: str) -> TmuxServer | None:
        return self._terminals(socket)

    # The connection

    async def _ask(self, do: str, ask: Ask | None = None, **given: object) -> Any:
        """Call, and wait for the result. Raises `HubLost`, and what the call raises there."""
        if self._lost.is_set() or self._writer.is_closing():
            raise HubLost
        self._number += 1
        number = self._number
        waiting = self._calls[number] = asyncio.get_running_loop().create_future()
        if ask is not None:
            self._asks[number] = ask
            given["asks"] = True
        self._send(id=number, do=do, **{"with": {name: to_plain(value) for name, value in given.items()}})
        try:
            return await waiting
        finally:
            self._asks.pop(number, None)
            if self._calls.pop(number, None) is not None and waiting.cancelled():
                self._send(cancel=number)

    def _publish(self, event: Event) -> bool:
        if self._lost.is_set() or self._writer.is_closing():
            return False
        self._writer.write(b'{"event":%b}\n' % wire.encode(event).rstrip(b"\n"))
        return True

    def _send(self, **fields: object) -> None:
        if not self._writer.is_closing():
            self._writer.write(_encoder.encode(fields) + b"\n")

    async def _next(self) -> dict[str, Any]:
        """The next line. Raises `HubLost`, `OSError`."""
        try:
            message: object = msgspec.json.decode(await self._reader.readline())
        except (msgspec.DecodeError, ValueError) as error:  # the end, in mid-line perhaps
            raise HubLost from error
        if not is_object(message):
            raise HubLost
        return message

    async def _read(self) -> None:
        """Take what the hub says, to its end."""
        with suppress(HubLost, OSError):
            while True:
                message = await self._next()
                if "bye" in message:
                    break
                if "move" in message:
                    self._moved = str(message["move"])
                    self._writer.close()
                    break
                try:
                    self._handle_message(message)
                except Exception as error:  # of this message alone
                    report("the connection to the hub", error)
        self._lost.set()
        self._fail_calls()

    def _fail_calls(self) -> None:
        for waiting in self._calls.values():
            if not waiting.done():
                waiting.set_exception(HubLost())

    def _handle_message(self, message: dict[str, Any]) -> None:
        match message:
            case {"event": event}:
                with suppress(wire.WireError):
                    self._link.arrive(wire.from_plain(event))
            case {"id": number, **result}:
                waiting = self._calls.get(number)
                if waiting is not None and not waiting.done():
                    _settle(waiting, result)
            case {"ask": number, "of": call, "question": question}:
                start_job(self._answer(number, self._asks.get(call), from_plain(question)), "a question of a command")
            case {"commands": commands}:
                self.commands = from_plain(commands)
            case _:
                pass

    async def _answer(self, number: int, ask: Ask | None, question: Question) -> None:
        yes = ask is not None and await ask(question)
        self._send(answer=number, yes=yes)


def _settle(waiting: asyncio.Future[Any], result: dict[str, Any]) -> None:
    match result:
        case {"failed": error}:
            waiting.set_exception(error_of(error))
        case {"fault": text}:
            waiting.set_exception(RuntimeError(text))
        case _:
            waiting.set_result(from_plain(result.get("value")))
