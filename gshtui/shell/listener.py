"""The hub's ear: a Unix socket of its own, many connections, each as its own kind of visitor.

Owns the socket, its entry for those who look for a hub, and the counts; knows nothing of agents and shells, those are
the visitors' hosts. Started and stopped by the hub.
"""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from gshtui.bus.event import Event
from gshtui.bus.ids import new_id
from gshtui.shell import place
from gshtui.shell.connection import Connection
from gshtui.shell.lines import to_line
from gshtui.shell.peer import peer_of
from gshtui.shell.place import HubEntry, InUse, PlaceError
from gshtui.system.tasks import end_all

_MOST = 2_048
"""Connections at once, where the system allows so many open files."""
_NAMES = 16


class Host(Protocol):
    """Looks after the connections of one kind. Nothing here may block."""

    async def secret(self, connection: Connection) -> str:
        """What such a connection has to know; empty: there is nobody of this name."""
        ...

    def admit(self, connection: Connection) -> dict[str, Any]:
        """Let it in; what it is told in its welcome."""
        ...

    def ready(self, connection: Connection) -> None:
        """It was welcomed: what waits for it can be sent."""
        ...

    def take(self, connection: Connection, event: Event, number: int) -> None:
        """Take an event. Raises `BadLine` to refuse it."""
        ...

    def acked(self, connection: Connection, number: int) -> None:
        """It has what was sent to it, up to this number."""
        ...

    def batch_done(self, connection: Connection) -> None:
        """All that came in one piece was taken: the time to acknowledge."""
        ...

    def gone(self, connection: Connection) -> None:
        """It has ended."""
        ...


class Nobody:
    """The host of kinds that this hub has no use for: takes nothing."""

    async def secret(self, connection: Connection) -> str:
        """Nobody is known."""
        return ""

    def admit(self, connection: Connection) -> dict[str, Any]:
        """Welcome, to no effect."""
        return {}

    def ready(self, connection: Connection) -> None:
        """Nothing waits."""

    def take(self, connection: Connection, event: Event, number: int) -> None:
        """Nothing is done with it."""

    def acked(self, connection: Connection, number: int) -> None:
        """Nothing was sent."""

    def batch_done(self, connection: Connection) -> None:
        """Nothing to acknowledge."""

    def gone(self, connection: Connection) -> None:
        """Nothing was kept."""


@dataclass(slots=True)
class Counts:
    """What happened at the socket since it was opened."""

    connections: int = 0
    events: int = 0
    bad_lines: int = 0
    refused: int = 0
    """Connections that were turned away."""
    slow: int = 0
    """Connections that were closed because they did not speak or read in time."""
    strangers: int = 0
    """Connections of other users."""


class Listener:
    """The hub's socket. `start` and `stop` bracket its life."""

    def __init__(
        self, hosts: dict[str, Host], pace: Callable[[], Awaitable[None]], *, where: Path | None = None
    ) -> None:
        """
        Args:
            hosts: who looks after which kind of connection.
            pace: waited for after each piece; this is what slows a flood down to what the bus can take.
            where: the folder; that of all hubs by default.
        """
        self.id = new_id()
        self.counts = Counts()
        self.path = Path()
        self.turn = asyncio.Lock()
        """Held by the connection whose lines are being taken."""
        self._hosts = hosts
        self._nobody = Nobody()
        self._pace = pace
        self._where = where
        self._server: asyncio.Server | None = None
        self._identity = (0, 0)
        self._open: dict[Connection, asyncio.Task[None]] = {}
        self._most = _most()

    async def start(self, entry: Callable[[Path], HubEntry]) -> None:
        """Listen, and say so. `entry` makes the hub's entry from the socket's path.

        Raises:
            PlaceError: the socket cannot be had.
        """
        await self.listen(await asyncio.to_thread(self._claim), self.path)
        try:
            await asyncio.to_thread(place.announce, entry(self.path))
        except OSError as error:
            await self.stop()
            raise PlaceError(f"{self.path.parent} cannot be written: {error.strerror or error}.") from error

    async def listen(self, listening: socket.socket, path: Path) -> None:
        """Listen on a socket that was claimed already; nobody is told of it."""
        self.path, self._identity = path, place.identity(path)
        self._server = await asyncio.start_unix_server(self._visit, sock=listening)

    async def stop(self) -> None:
        """Close every connection, give the socket back."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        tasks = tuple(self._open.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=2.0)
        place.withdraw(self.path)
        place.give_back(self.path, self._identity)

    @property
    def listening(self) -> bool:
        """Whether the socket is open."""
        return self._server is not None

    def visitor(self, kind: str) -> Host:
        """Who looks after connections of this kind."""
        return self._hosts.get(kind, self._nobody)

    async def pace(self) -> None:
        """Wait until more can be taken."""
        await self._pace()

    def _claim(self) -> socket.socket:
        where = self._where or place.folder()
        place.sweep(where)
        for number in range(_NAMES):
            self.path = where / place.own_name(number)
            try:
                claimed = place.claim(self.path)
            except InUse:
                continue  # another hub in this process
            return claimed
        raise PlaceError(f"This process has {_NAMES} sockets in {where} already.")

    async def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connected: socket.socket = writer.get_extra_info("socket")
        self.counts.connections += 1
        try:
            peer = peer_of(connected)
        except OSError:
            writer.transport.abort()
            return
        if not peer.is_us:
            self.counts.strangers += 1
            writer.transport.abort()
            return
        if len(self._open) >= self._most:
            self.counts.refused += 1
            writer.write(to_line({"error": f"{self._most} connections are open, which is the most"}))
            writer.close()
            return
        connection = Connection(self, reader, writer, peer)
        self._open[connection] = task
        try:
            await connection.serve()
        finally:
            del self._open[connection]
            if connection.welcomed and connection.kind is not None:
                await end_all("the socket", partial(self.visitor(connection.kind.name).gone, connection))


def _most() -> int:
    """How many connections the system's limit of open files leaves room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft < 0 else max(16, min(_MOST, soft // 2))
