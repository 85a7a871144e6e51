"""Takes turns for faces without a window that ask for it: `gsh WORDS` beside a resident hub.

Each turn has a hub of its own on the host's record, with the settings, the variables and the folder of its face. The
face is told all events, answers the questions of that turn alone, and interrupts it by hanging up. What this process
would run in another way than the face's own (other folders, limits that it cannot give) is declined before anything is
done.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.bus import wire
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.hub.faces.face_host import FaceHost
from gshtui.hub.faces.turn import PromptTurn
from gshtui.hub.faces.turn_request import HostedWork, TurnSubmission
from gshtui.hub.hub import Hub
from gshtui.settings.contract import FeatureOffError, face
from gshtui.settings.loader import Loaded, load
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.line_stream import BadLine
from gshtui.system.caller_environment import working_for
from gshtui.system.tasks import cancel_and_wait, end_all, start_job

if TYPE_CHECKING:
    from gshtui.tools.shell.shell_process import Start

ALIVE_EVERY = 2.0
"""Seconds after which a face is told that its turn goes on."""


class AskedTurns(FaceHost):
    """Handles connections of the kind `turn`."""

    def __init__(self, host: Hub) -> None:
        super().__init__(host)
        self._turns: dict[HubConnection, _HostedTurn] = {}
        self._is_ending = False

    @property
    def busy(self) -> bool:
        """Whether a turn is in progress."""
        return bool(self._turns)

    @property
    def works(self) -> bool:
        """The same."""
        return self.busy

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Take a turn, the answer to one of its questions, or its interruption."""
        turn = self._turns.get(connection)
        if turn is not None:
            turn.handle_message(fields)
            return
        if self._is_ending:
            connection.close()  # its face asks the next hub
            return
        call = self.opening(TurnSubmission, fields)
        turn = self._turns[connection] = _HostedTurn(self.host, connection)
        turn.task = start_job(self._serve(connection, turn, call), "a turn for another process")

    def disconnected(self, connection: HubConnection) -> None:
        """Nobody is there any more: interrupt its turn."""
        if (turn := self._turns.get(connection)) is not None:
            turn.interrupted.set()

    async def finish(self) -> None:
        """Begin none any more, and wait until no turn is in progress."""
        self._is_ending = True
        while tasks := {turn.task for turn in self._turns.values() if turn.task is not None}:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Interrupt all turns, and wait until they have recorded what they have."""
        for turn in self._turns.values():
            turn.interrupted.set()
        await self.finish()

    async def _serve(self, connection: HubConnection, turn: _HostedTurn, call: TurnSubmission) -> None:
        try:
            if why := await self.stranger(connection):
                turn.send(declined=why)
                return
            loaded = await asyncio.to_thread(load, Path(call.cwd), flags=call.turn.flags, environ=call.environ)
            if why := self.difference(call, loaded):
                turn.send(declined=why)
                return
            with working_for(call.environ, connection.peer.pid, self.inherited(call)):
                turn.send(end=await turn.run(call, loaded))
        except FeatureOffError as error:
            turn.send(declined=error.message.rstrip("."))
        finally:
            self._turns.pop(connection, None)


class _HostedTurn:
    """One turn, and its face at the other end of the connection."""

    def __init__(self, host: Hub, connection: HubConnection) -> None:
        self.task: asyncio.Task[None] | None = None
        self.interrupted = asyncio.Event()
        self._host = host
        self._connection = connection
        self._bus = Bus()
        self._asked: set[str] = set()
        """The questions that its face may answer."""
        self._waiting: dict[int, asyncio.Future[object]] = {}
        """What its face was asked to do, by numbers."""
        self._numbers = itertools.count()

    def send(self, **fields: object) -> None:
        """Send whatever it holds as one line of ASCII."""
        self._connection.send(json.dumps(fields, default=str).encode() + b"\n")

    def complain(self, text: str, hint: str = "") -> None:
        """Have it printed."""
        self.send(complain=[text, hint])

    def note(self, text: str) -> None:
        """Have it printed for a person who watches."""
        self.send(note=text)

    def show(self, text: str) -> None:
        """Have it printed in front of the answer."""
        self.send(show=text)

    def opened(self, session: str) -> None:
        """Have the conversation kept for the next question."""
        self.send(opened=session)

    async def agrees(self, question: str) -> bool:
        return await self._done(agrees=question) is True

    async def lend(self, start: Start) -> int:
        code = await self._done(lend=msgspec.to_builtins(start, enc_hook=str))
        return code if isinstance(code, int) else 1

    async def _done(self, **wanted: object) -> object:
        """What the face answers, once it has done this."""
        number = next(self._numbers)
        self._waiting[number] = asyncio.get_running_loop().create_future()
        self.send(do=number, **wanted)
        try:
            return await self._waiting[number]
        finally:
            del self._waiting[number]
            self.send(leave=number)

    def handle_message(self, fields: dict[str, Any]) -> None:
        """What the face says during the turn. Raises `BadLine`."""
        if fields.get("interrupt") is True:
            self.interrupted.set()
            return
        if isinstance(done := fields.get("done"), int):
            if done in self._waiting and not self._waiting[done].done():
                self._waiting[done].set_result(fields.get("with"))
            return
        with suppress(wire.WireError):
            event = wire.from_plain(fields.get("answer") or {})
            if isinstance(event, ApprovalAnswered) and event.approval in self._asked:
                self._bus.publish(event)
                return
        raise BadLine("during a turn, a face answers or interrupts")

    async def run(self, call: TurnSubmission, loaded: Loaded) -> str:
        """Take the turn; how it went."""
        from gshtui.hub.composition import build_hub

        turn: HostedWork = PromptTurn(call.turn, loaded, self)
        if call.work:
            make = await asyncio.to_thread(face, call.work, loaded.settings.features)
            turn = make(call.asked, loaded, self)
        hub = build_hub(turn.options, self._bus, self._host)
        self.send(begins=True, problems=[[problem.level, str(problem)] for problem in loaded.problems])
        self._bus.subscribe(self._pass_on, name="face")
        running = asyncio.ensure_future(turn.run(hub))
        alive = asyncio.ensure_future(self._tell_alive())
        interrupted = asyncio.ensure_future(self.interrupted.wait())
        try:
            await asyncio.wait({running, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                await turn.interrupt()
            await self._bus.drained()
            return running.result() if running.done() else "interrupted"
        finally:
            await cancel_and_wait(running, interrupted, alive)
            await end_all("the end of a turn", hub.stop, self._bus.close)

    async def _tell_alive(self) -> None:
        while True:
            await asyncio.sleep(ALIVE_EVERY)
            self.send(alive=True)

    def _pass_on(self, batch: Sequence[Event]) -> None:
        """Send the events, but for the face's own."""
        self._asked.update(event.approval for event in batch if isinstance(event, ApprovalRequested))
        told = (wire.encode(event).rstrip(b"\n") for event in batch if not isinstance(event, ApprovalAnswered))
        self._connection.send(b"".join(b'{"event":%b}\n' % event for event in told))
