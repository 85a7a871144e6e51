"""Has the resident hub take a turn, where one runs and may: this process is then a face, and starts no hub.

What the hub declines is done here, and nothing was done before. A hub that ends in mid-turn is told of: what the
conversation had until then is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gshtui import __version__
from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.settings import paths
from gshtui.system.installation import INSTALLED_AT
from gshtui.system.network.peer import peer_of
from gshtui.system.processes import process_limits
from gshtui.system.processes.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from gshtui.hub.faces.turn_request import TurnFace, TurnRequest

SILENT_FOR = 20.0
"""Seconds without a sign of life from the hub, after which it is given up."""
ANSWER_WITHIN = 1.0
"""Seconds for the hub to say that it takes the turn; it opens the conversation afterwards."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a line from the hub."""
_TAKEN = 4 * 1024 * 1024
"""Bytes of a request; a longer one is done here."""


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
        """Have the hub begin it; `None`: none does, and it is to be done here."""
        for path in paths.keeper_sockets():
            if (call := await cls._connected(path)) is None:
                continue
            try:
                async with time_limit(ANSWER_WITHIN):
                    if await call._accepted(request):
                        return call
            except (OSError, TimeoutError, HubEnded):
                pass
            call.close()
        return None

    @classmethod
    async def _connected(cls, path: Path) -> TurnCall | None:
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=_LONGEST)
        except OSError:
            return None
        if peer_of(writer.get_extra_info("socket")).is_us:
            return cls(reader, writer)
        writer.close()
        return None

    async def _accepted(self, request: TurnRequest) -> bool:
        import msgspec

        self._send(hello="turn", pid=os.getpid())
        welcome = await self._next()
        if (welcome.get("serves"), welcome.get("installed")) != (__version__, INSTALLED_AT):
            return False
        surroundings = {"umask": process_limits.umask(), "limits": process_limits.limits()}
        fields = {"turn": msgspec.to_builtins(request), "cwd": os.getcwd(), "environ": dict(os.environ)}  # noqa: PTH109
        line = json.dumps(fields | surroundings).encode() + b"\n"
        if len(line) > _TAKEN:
            return False
        self._writer.write(line)
        answer = await self._next()
        self.problems = [(str(level), str(text)) for level, text in answer.get("problems", ())]
        return answer.get("begins") is True

    async def run(self, face: TurnFace, publish: Callable[[Event], None]) -> str:
        """Tell the face what happens, until the turn has ended; how it went.

        Raises:
            HubEnded: the hub ended before, or hangs.
        """
        try:
            while True:
                async with time_limit(SILENT_FOR):
                    message = await self._next()
                match message:
                    case {"event": event}:
                        with suppress(wire.WireError):
                            publish(wire.from_plain(cast("dict[str, Any]", event)))
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
        """Answer questions of the turn."""
        for event in batch:
            self._send(answer=wire.to_plain(event))

    def interrupt(self) -> None:
        """Have it interrupted; `run` then returns."""
        self._send(interrupt=True)

    def close(self) -> None:
        """Hang up, which interrupts a turn in progress."""
        self._writer.close()

    def _send(self, **fields: Any) -> None:
        self._writer.write(json.dumps(fields).encode() + b"\n")

    async def _next(self) -> Mapping[str, Any]:
        """The next line. Raises `HubEnded`, `OSError`."""
        try:
            line = await self._reader.readline()
            message: object = json.loads(line)
        except ValueError as error:
            raise HubEnded from error
        if not isinstance(message, dict):
            raise HubEnded
        return cast("dict[str, Any]", message)
