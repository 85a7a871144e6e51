"""An agent that runs in the hub's process, for the pane in its terminal: a connection, and what is said over it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.client.window_protocol import HubLost, error_of
from gshtui.system.json_types import is_object
from gshtui.system.tasks import cancel_and_wait, report

_LONGEST = 256 * 1024 * 1024
"""Bytes of a line from the hub."""


class LinkEnd(msgspec.Struct, frozen=True):
    """How a link ended.

    Attributes:
        exit: the agent's exit status; `None`: it has not ended, but is to go on in another process.
        comes_again: another hub is to follow. `None`: this one ended without a word.
        cut: a turn of it was cut, or may have been.
    """

    exit: int | None = None
    comes_again: bool | None = None
    cut: bool = True


class AgentLink:
    """See the module's text. `over` makes it."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        arrived: Callable[[Event], None],
        connected: Callable[[bool], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._arrived = arrived
        self._connected = connected
        self._lines: dict[int, asyncio.Future[str]] = {}
        self._number = 0
        self._typed = False
        self._end = LinkEnd()
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def over(
        cls, connected: socket.socket, arrived: Callable[[Event], None], linked: Callable[[bool], None]
    ) -> AgentLink:
        """A link over a connection of `hub_dial`.

        Args:
            arrived: gets each event of the agent's hub.
            linked: told whether a window's hub is connected to the agent.
        """
        connected.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connected, limit=_LONGEST)
        return cls(reader, writer, arrived, linked)

    def take_event(self, event: Event) -> None:
        """Say what the person does."""
        self._write(b'{"event":%b}\n' % wire.encode(event).rstrip(b"\n"))

    async def run_line(self, line: str) -> str:
        """Run a command there; gives its text. Raises `HubLost`, and what the command raises."""
        if self._reading.done():
            raise HubLost
        self._number += 1
        waiting = self._lines[self._number] = asyncio.get_running_loop().create_future()
        self._send(id=self._number, run=line)
        try:
            return await waiting
        finally:
            self._lines.pop(self._number, None)

    def typed(self, something: bool) -> None:
        """Say whether the person has typed something that they have not sent."""
        if something or self._typed:
            self._typed = something
            self._send(typed=something)

    def leave(self) -> None:
        """Say that the person wants the agent to end."""
        self._send(leave=True)

    def end_by_signal(self, number: int) -> None:
        """Say that the terminal's process got this signal."""
        self._send(signal=int(number))

    async def live(self) -> LinkEnd:
        """Wait for its end."""
        try:
            await asyncio.shield(self._reading)
        finally:
            await cancel_and_wait(self._reading)
            self._writer.close()
        return self._end

    def _send(self, **fields: object) -> None:
        self._write(json.dumps(fields).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    async def _read(self) -> None:
        with suppress(OSError, ValueError):  # the end, in mid-line perhaps
            while self._end == LinkEnd() and (line := await self._reader.readline()):
                message: object = msgspec.json.decode(line)
                if not is_object(message):
                    break
                try:
                    self._handle_message(message)
                except Exception as error:  # of this message alone
                    report("the connection to the hub", error)
        self._connected(False)
        for waiting in self._lines.values():
            if not waiting.done():
                waiting.set_exception(HubLost())

    def _handle_message(self, message: dict[str, Any]) -> None:
        match message:
            case {"event": event}:
                with suppress(wire.WireError):
                    self._arrived(wire.from_plain(event))
            case {"linked": bool() as linked}:
                self._connected(linked)
            case {"id": int() as number, **result} if (waiting := self._lines.get(number)) and not waiting.done():
                match result:
                    case {"failed": error}:
                        waiting.set_exception(error_of(error))
                    case {"fault": text}:
                        waiting.set_exception(RuntimeError(text))
                    case _:
                        waiting.set_result(str(result.get("value")))
            case {"ended": int() as status}:
                self._end = LinkEnd(exit=status)
            case {"detached": bool() as comes_again, "cut": bool() as cut}:
                self._end = LinkEnd(comes_again=comes_again, cut=cut)
            case _:
                pass
