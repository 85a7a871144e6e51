"""Keeps the doors for people elsewhere for the processes that asked for them (`features/ssh/ssh_process.py`).

Each has a hub of its own on the host's record, with the settings and the variables of its process, and is closed when
that says so or is gone. What people inside start on their own screens is theirs: a window there has this hub, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from gshtui.bus.bus import Bus
from gshtui.client.window_protocol import Surroundings
from gshtui.commands.shell_form import ALL_COMMANDS
from gshtui.hub.faces.face_host import FaceHost
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.contract import face
from gshtui.settings.loader import Loaded, load
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.line_stream import BadLine
from gshtui.system.caller_environment import working_for
from gshtui.system.tasks import end_all, start_job

_LINES_END_WITHIN = 30.0
"""Seconds for the lines of people inside, when this process makes way."""


class DoorOpening(Surroundings, frozen=True, kw_only=True):
    """What the process of a door asks for."""

    host: str = ""
    """Where it listens, see `PeopleDoor`."""
    port: int | None = None


def door_options(cwd: Path, loaded: Loaded) -> HubOptions:
    return HubOptions(
        cwd=cwd, loaded=loaded, respondent="nobody", parts=ALL_COMMANDS, visiting=True, where="gsh-tui serve"
    )


class _Shell(Protocol):
    """That of a person inside."""

    @property
    def running(self) -> asyncio.Task[Any] | None:
        """The line that runs."""
        ...


class AskedDoors(FaceHost):
    """Handles connections of the kind `ssh`."""

    def __init__(self, host: Hub) -> None:
        super().__init__(host)
        self._doors: dict[HubConnection, _Door] = {}
        self._serving: set[asyncio.Task[None]] = set()
        self._closing: set[asyncio.Task[None]] = set()
        """Those of them whose process is gone."""

    @property
    def open(self) -> bool:
        return bool(self._doors)

    @property
    def works(self) -> bool:
        return any(door.inside for door in self._doors.values())

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Open a door, or close it."""
        if (door := self._doors.get(connection)) is not None:
            if fields.get("stop") is not True:
                raise BadLine("a door is only closed")
            door.closing.set()
            return
        opening = self.opening(DoorOpening, fields)
        door = self._doors[connection] = _Door(connection)
        task = door.task = start_job(self._serve(door, opening), "a door for people elsewhere")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    def disconnected(self, connection: HubConnection) -> None:
        if (door := self._doors.pop(connection, None)) is not None:
            door.closing.set()
            if door.task is not None:
                self._closing.add(door.task)
                door.task.add_done_callback(self._closing.discard)

    async def finish(self) -> None:
        """Wait until nobody is inside."""
        while inside := {task for door in self._doors.values() for task in door.inside}:
            await asyncio.wait(inside)

    async def rest(self) -> None:
        """Wait a while until no line of theirs runs."""
        if lines := [shell.running for door in self._doors.values() for shell in door.inside.values() if shell.running]:
            await asyncio.wait(lines, timeout=_LINES_END_WITHIN)

    async def close(self) -> None:
        """Close all; their processes have the next hub open them again."""
        for door in self._doors.values():
            door.goes_on = True
            door.closing.set()
        while self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, door: _Door, opening: DoorOpening) -> None:
        try:
            why = await self.stranger(door.connection, "only a person opens a door")
            loaded = await asyncio.to_thread(load, Path(opening.cwd), environ=opening.environ)
            if why := why or self.difference(opening, loaded):
                door.connection.send_fields(declined=why)
                return
            if door.closing.is_set():
                return
            if self._closing:
                await asyncio.wait(self._closing)  # it may be one at the same port
            with working_for(opening.environ, inherited=self.inherited(opening)):
                await door.serve(self.host, opening, loaded)
        except Exception as error:
            door.complain(f"the door cannot be kept: {type(error).__name__}: {error}.")
            door.connection.send_fields(end=1)
            raise
        finally:
            self._doors.pop(door.connection, None)


class _Door:
    """A door, and its process at the other end of the connection."""

    def __init__(self, connection: HubConnection) -> None:
        self.connection = connection
        self.task: asyncio.Task[None] | None = None
        self.closing = asyncio.Event()
        self.goes_on = False
        """It closes with its hub alone."""
        self.inside: Mapping[asyncio.Task[Any], _Shell] = {}

    def complain(self, text: str, hint: str = "") -> None:
        self.connection.send_fields(complain=[text, hint])

    def opened(self, address: Mapping[str, str | int]) -> None:
        self.connection.send_fields(opened=dict(address))

    async def serve(self, host: Hub, opening: DoorOpening, loaded: Loaded) -> None:
        """Keep it until it is closed."""
        from gshtui.hub.composition import build_hub

        hub = build_hub(door_options(Path(opening.cwd), loaded), Bus(), host)
        make_door = await asyncio.to_thread(face, "ssh door", loaded.settings.features)
        door = make_door(hub, opening.host, opening.port, self)
        self.inside = door.inside
        self.connection.send_fields(begins=True, problems=[[each.level, str(each)] for each in loaded.problems])
        try:
            code = await door.serve(self.closing)
            if not self.goes_on:
                self.connection.send_fields(end=code)
        finally:
            await end_all("the end of a door", hub.stop, hub.bus.close)
