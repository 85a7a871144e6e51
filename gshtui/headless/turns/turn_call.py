"""Has the resident hub take a turn, where one runs and may: this process is then a face, and starts no hub.

A hub that ends in mid-turn is told of: what the
conversation had until then is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.client.hub_greeting import check_declined, greeted, line_from, surroundings
from gshtui.system.json_types import is_object
from gshtui.system.processes.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from gshtui.hub.faces.turn_request import TurnFace, TurnRequest

SILENT_FOR = 20.0
"""Seconds without a sign of life from the hub, after which it is given up."""
ANSWER_WITHIN = 4.0
"""Seconds for the hub to say that it takes the turn; it opens the conversation afterwards."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a line from the hub."""


class HubEnded(Exception):
    """The hub ended, or said nothing more, before the turn ended."""


class TurnCall:
    """A turn at the hub, from `begin` on."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.problems: list[tuple[str, str]] = []
        """Of the settings there, each with its level."""

    @classmethod
    async def begin(cls, request: TurnRequest) -> TurnCall | None:
        """Have the hub begin it; `None`: none does. Raises `HubUnavailable`."""
        import msgspec

        try:
            cwd = os.getcwd()  # noqa: PTH109
        except OSError:
            return None  # it is gone, which is said here
        fields = {"turn": msgspec.to_builtins(request), **surroundings(cwd)}
        line = json.dumps(fields).encode() + b"\n"
        if (begun := await asyncio.to_thread(_begin, line)) is None:
            return None
        connected, answer = begun
        connected.setblocking(False)
        call = cls(*await asyncio.open_unix_connection(sock=connected, limit=_LONGEST))
        call.problems = [(str(level), str(text)) for level, text in answer.get("problems", ())]
        return call

    async def run(self, face: TurnFace, publish: Callable[[Event], None]) -> str:
        """Tell the face what happens, until the turn has ended; how it went. Raises `HubEnded`: the hub ended before,
        or hangs.
        """
        try:
            while True:
                async with time_limit(SILENT_FOR):
                    message = await self._next()
                match message:
                    case {"event": event}:
                        with suppress(wire.WireError):
                            publish(wire.from_plain(event))
                    case {"complain": [text, hint]}:
                        face.complain(str(text), str(hint))
                    case {"note": text}:
                        face.note(str(text))
                    case {"show": text}:
                        face.show(str(text))
                    case {"opened": session}:
                        face.opened(str(session))
                    case {"end": end}:
                        return str(end)
                    case {"bye": _}:
                        raise HubEnded
                    case _:
                        pass  # a sign of life
        except (OSError, TimeoutError) as error:
            raise HubEnded from error

    def answer(self, batch: Sequence[Event]) -> None:
        for event in batch:
            self._send(answer=wire.to_plain(event))

    def interrupt(self) -> None:
        """Have it interrupted; `run` then returns."""
        self._send(interrupt=True)

    def close(self) -> None:
        """Hang up, which interrupts a turn in progress."""
        self._writer.close()

    def _send(self, **fields: object) -> None:
        self._writer.write(json.dumps(fields).encode() + b"\n")

    async def _next(self) -> Mapping[str, Any]:
        """The next line. Raises `HubEnded`, `OSError`."""
        try:
            line = await self._reader.readline()
            message: object = json.loads(line)
        except ValueError as error:
            raise HubEnded from error
        if not is_object(message):
            raise HubEnded
        return message


def _begin(line: bytes) -> tuple[socket.socket, dict[str, Any]] | None:
    """The connection to the hub that begins this turn, and what it said; `None`: none does. Raises `HubUnavailable`."""
    for connected in greeted("turn", ANSWER_WITHIN):
        with suppress(OSError, ValueError):
            connected.sendall(line)
            answer = line_from(connected)
            check_declined(answer)
            if answer.get("begins") is True:
                return connected, answer
        connected.close()
    return None
