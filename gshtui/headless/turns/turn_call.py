"""Has the resident hub take a turn, where one runs and may: this process is then a face, and starts no hub.

A hub that ends in mid-turn is told of: what the
conversation had until then is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.client.hub_greeting import check_declined, greeted, line_from, surroundings
from gshtui.system.json_types import is_object
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gshtui.hub.faces.turn_request import TurnFace, TurnRequest, WorkFace
    from gshtui.settings.loader import Loaded

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
        self._doing: dict[int, asyncio.Task[None]] = {}
        self.problems: list[tuple[str, str]] = []
        """Of the settings there, each with its level."""

    @classmethod
    async def begin(
        cls, request: TurnRequest, work: str = "", asked: object = None, at: Sequence[Path] = ()
    ) -> TurnCall | None:
        """Have the hub begin it; `None`: none does. Raises `HubUnavailable`.

        Args:
            work: what a feature does in its place, which is `asked` for.
            at: where the hub listens, if that is known.
        """
        import msgspec

        try:
            cwd = os.getcwd()  # noqa: PTH109
        except OSError:
            return None  # it is gone, which is said here
        fields = {"turn": msgspec.to_builtins(request), **surroundings(cwd)}
        if work:
            fields |= {"work": work, "asked": msgspec.to_builtins(asked)}
        line = json.dumps(fields).encode() + b"\n"
        if (taken := await asyncio.to_thread(_begin, line, at)) is None:
            return None
        connected, answer = taken
        connected.setblocking(False)
        call = cls(*await asyncio.open_unix_connection(sock=connected, limit=_LONGEST))
        call.problems = [(str(level), str(text)) for level, text in answer.get("problems", ())]
        return call

    async def run(self, face: TurnFace, publish: Callable[[Event], None], asked: WorkFace | None = None) -> str:
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
                    case {"do": int() as number} if asked is not None:
                        self._doing[number] = start_job(self._do(number, message, asked), "what the hub asks for")
                    case {"leave": int() as number}:
                        await cancel_and_wait(self._doing.pop(number, None))
                    case {"end": end}:
                        return str(end)
                    case {"bye": _}:
                        raise HubEnded
                    case _:
                        pass  # a sign of life
        except (OSError, TimeoutError) as error:
            raise HubEnded from error
        finally:
            await cancel_and_wait(*self._doing.values())

    async def _do(self, number: int, wanted: Mapping[str, Any], face: WorkFace) -> None:
        """Do what the hub cannot do itself, and say with what result."""
        match wanted:
            case {"agrees": str() as question}:
                self._send(done=number, **{"with": await face.agrees(question)})
            case {"lend": lent}:
                import msgspec

                from gshtui.system.struct_types import learned
                from gshtui.tools.shell.shell_process import Start

                self._send(
                    done=number, **{"with": await face.lend(msgspec.convert(lent, learned(Start), dec_hook=_made))}
                )
            case _:
                pass

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


@asynccontextmanager
async def begun(loaded: Loaded, request: TurnRequest, work: str = "", asked: object = None) -> AsyncGenerator[TurnCall]:
    """It at the hub, which is started unless it runs, or which this process is meanwhile. Raises `HubUnavailable`.
    `work`, `asked`: as for `begin`.
    """
    from gshtui.fleet.keeper.keeper import running_keeper
    from gshtui.headless.commands.command_hub import HubTaken, bring_hub, own_hub, unreached

    async with AsyncExitStack() as stack:
        call = await TurnCall.begin(request, work, asked)
        if call is None:
            at: Sequence[Path] = ()
            if not await bring_hub(loaded.settings):
                with suppress(HubTaken):
                    at = ((await stack.enter_async_context(own_hub(loaded))).socket,)
            call = await TurnCall.begin(request, work, asked, at)
        if call is None:
            raise unreached(await asyncio.to_thread(running_keeper, loaded.settings.general.session_dir))
        stack.callback(call.close)
        yield call


def _made(kind: type[Any], plain: str) -> Any:
    """A path, from how it is on the wire."""
    return kind(plain)


def _begin(line: bytes, at: Sequence[Path]) -> tuple[socket.socket, dict[str, Any]] | None:
    """The connection to the hub that begins this turn, and what it said; `None`: none does. Raises `HubUnavailable`."""
    for connected in greeted("turn", ANSWER_WITHIN, at=at):
        with suppress(OSError, ValueError):
            connected.sendall(line)
            answer = line_from(connected)
            check_declined(answer)
            if answer.get("begins") is True:
                return connected, answer
        connected.close()
    return None
