"""Serves programs that use our commands by MCP, or our agent by ACP, for the processes that they started
(`program_relay`).

Each has a hub of its own on the host's record, with the settings and the variables of its process. What it says and is
answered is passed on as it is. An editor keeps the host from ending, as a window does; another program only while it
waits for an answer: its process comes back.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gshtui.bus.agent_data import GuardMode
from gshtui.client.window_protocol import Surroundings
from gshtui.headless.servers.program_relay import cancelled_id
from gshtui.hub.faces.face_host import FaceHost
from gshtui.hub.hub import Hub
from gshtui.settings.contract import FeatureOffError, face
from gshtui.settings.loader import Loaded, load
from gshtui.shell.event_table import ACP, KINDS
from gshtui.shell.hub_listener import HubConnection
from gshtui.system.caller_environment import working_for
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

_FINISHES_WITHIN = 30.0
"""Seconds for calls in progress, when this process makes way; most of them only wait for an agent."""


class ProgramOpening(Surroundings, frozen=True, kw_only=True):
    """What the process of a program asks for."""

    allowed: tuple[str, ...] = ()
    """By MCP: the writing commands that may be called."""
    provider: str = ""
    """By ACP, as the next ones: of every session; empty values come from the settings."""
    model: str = ""
    mode: GuardMode | None = None
    flags: dict[str, Any] = {}


class AskedPrograms(FaceHost):
    """Handles connections of the kinds `mcp` and `acp`."""

    def __init__(self, host: Hub) -> None:
        super().__init__(host)
        self._programs: dict[HubConnection, _Program] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._answered = asyncio.Event()

    @property
    def busy(self) -> bool:
        """Whether an editor has a session here, or another program waits for an answer."""
        return any(program.waiting or program.is_editor for program in self._programs.values())

    @property
    def works(self) -> bool:
        return any(program.waiting for program in self._programs.values())

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Open it, or take what it says."""
        if (program := self._programs.get(connection)) is not None:
            program.handle_message(fields)
            return
        opening = self.opening(ProgramOpening, fields)
        program = self._programs[connection] = _Program(connection, self._answered)
        program.task = start_job(self._serve(program, opening), "a program that uses our commands")

    def disconnected(self, connection: HubConnection) -> None:
        if (program := self._programs.pop(connection, None)) is not None and (task := program.task) is not None:
            task.cancel()
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            self._answered.set()

    async def finish(self) -> None:
        """Wait until no editor's turn is in progress, and a while until no other program waits for an answer."""
        try:
            async with time_limit(_FINISHES_WITHIN):
                await self._until_answered(editors=False)
        except TimeoutError:
            pass
        await self._until_answered(editors=True)

    async def _until_answered(self, *, editors: bool) -> None:
        while any(program.waiting and program.is_editor == editors for program in self._programs.values()):
            self._answered.clear()
            await self._answered.wait()

    async def close(self) -> None:
        """Serve none any more."""
        await cancel_and_wait(*self._ending, *(program.task for program in self._programs.values()))

    async def _serve(self, program: _Program, opening: ProgramOpening) -> None:
        connection = program.connection
        agents = "an editor answers questions, and an agent asks" if program.is_editor else ""
        if why := await self.stranger(connection, agents):
            connection.send_fields(declined=why)
            return
        try:
            loaded = await asyncio.to_thread(_settings, opening)
            if why := self.difference(opening, loaded):
                connection.send_fields(declined=why)
                return
            with working_for(opening.environ, connection.peer.pid, self.inherited(opening)):
                await program.serve(self.host, opening, loaded)
        except Exception:
            connection.close()  # whatever it waits for, the next connection may do
            if program.task is None or not program.task.cancelling():
                raise  # otherwise it has left, and the SDK was cut in the middle of a message


def _settings(opening: ProgramOpening) -> Loaded:
    folder = Path(opening.cwd)
    if not opening.allowed:
        return load(folder, flags=opening.flags, environ=opening.environ)
    own = load(folder, environ=opening.environ).settings
    return load(folder, flags=allowing(own.agent.auto_approve, opening.allowed), environ=opening.environ)


def allowing(approved: Sequence[str], allowed: Sequence[str]) -> dict[str, Any]:
    """The settings under which these writing commands may be called besides what the person has approved."""
    return {"agent.auto_approve": [*approved, *allowed]}


class _Program:
    """One program, at the other end of a connection. It is the other side's stream, too, for who writes lines."""

    def __init__(self, connection: HubConnection, answered: asyncio.Event) -> None:
        self.connection = connection
        self.task: asyncio.Task[None] | None = None
        self.loaded: Loaded | None = None
        """The settings of its folder, with what it asks for."""
        self.waiting: set[int | str] = set()
        """Ids of its requests without an answer."""
        self._answered = answered
        self._messages = asyncio.Queue[dict[str, Any]]()

    @property
    def is_editor(self) -> bool:
        """Whether it speaks ACP."""
        return self.connection.kind == KINDS[ACP]

    def handle_message(self, message: dict[str, Any]) -> None:
        """What it says. Raises `BadLine`."""
        id = message.get("id")
        if "method" in message and isinstance(id, int | str) and not isinstance(id, bool):
            self.waiting.add(id)
        elif (cancelled := cancelled_id(message)) is not None:
            self.waiting.discard(cancelled)
            self._answered.set()
        self._messages.put_nowait(message)

    async def receive(self) -> dict[str, Any] | None:
        """The next message; the connection ends by cancelling who waits for it."""
        return await self._messages.get()

    async def send(self, message: dict[str, Any]) -> None:
        """Send one. Raises nothing: a program that reads no more is cancelled."""
        self.connection.send(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        if "method" not in message:
            self.waiting.discard(message.get("id", ""))
            self._answered.set()
        await self.connection.sent()

    async def close(self) -> None:
        """The connection is closed by who has opened it."""

    async def serve(self, host: Hub, opening: ProgramOpening, loaded: Loaded) -> None:
        self.loaded = loaded
        try:
            if self.is_editor and importlib.util.find_spec("acp") is None:
                return  # its process says it
            serve = await asyncio.to_thread(face, "acp" if self.is_editor else "mcp_server", loaded.settings.features)
            await serve(host, opening, self, lambda: self._begin(loaded))
        except FeatureOffError:
            pass  # its process says it, too
        finally:
            self.connection.close()

    def _begin(self, loaded: Loaded) -> None:
        self.connection.send_fields(begins=True, problems=[[each.level, str(each)] for each in loaded.problems])
