"""The hub's Unix socket: listens, and serves many connections, each according to the kind its hello names.

Checks hellos and lines against deadlines and limits; rejects other users, unknown kinds and endless lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.shell import hub_registry
from gshtui.shell.event_table import KINDS, VisitorKind
from gshtui.shell.hub_registry import HubEntry, HubRegistryError, SocketInUse
from gshtui.shell.line_stream import BadLine, LineStream, number_of, of_line, to_line
from gshtui.system.ids import new_id
from gshtui.system.network import peer as proof
from gshtui.system.network.peer import Peer, peer_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, end_all, report

HELLO_WITHIN = 5.0
"""Seconds for the hello, and again for the proof."""
LINE_WITHIN = 30.0
"""Seconds within which a started line must be complete."""
PART_WITHIN = 0.5
"""Seconds for the other side to hang up when the hub says goodbye."""
READ_WITHIN = 10.0
"""Seconds that a slow other side has to read what was sent."""
UNREAD_LIMIT = 8 * 1024 * 1024
"""Bytes that may wait for it."""
BAD_LINES = 20
"""Lines that may be refused before the connection is closed."""
_SLICE = 0.004
"""Seconds of work after which others get their turn."""


class HelloRefused(Exception):
    """The connection ends; the text is sent to the other side."""


class HubConnection:
    """See the module's text. `name` is whom it speaks for, once it is known."""

    def __init__(
        self, listener: HubListener, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer
    ) -> None:
        self.peer = peer
        self.kind: VisitorKind | None = None
        self.name = ""
        self.hello: dict[str, Any] = {}
        self.welcomed = False
        self.events = 0
        self.refused = 0
        self._listener = listener
        self._writer = writer
        self._lines = LineStream(reader, 16 * 1024, LINE_WITHIN)
        self._waiting: list[bytes | BadLine] = []
        self._overrun: asyncio.TimerHandle | None = None

    def send(self, data: bytes) -> None:
        """Send whole lines. Never blocks; a connection that does not read is closed."""
        if self._writer.is_closing():
            return
        self._writer.write(data)
        behind = self._writer.transport.get_write_buffer_size()
        if behind > UNREAD_LIMIT and self._overrun is None:
            self._overrun = asyncio.get_running_loop().call_later(READ_WITHIN, self._give_up)

    async def sent(self) -> None:
        """Wait until the other side has read most of what was sent, or is gone."""
        with contextlib.suppress(OSError):
            await self._writer.drain()

    def send_fields(self, **fields: Any) -> None:
        """Send a line of the protocol's own."""
        self.send(to_line(fields))

    def close(self) -> None:
        self._writer.transport.abort()

    async def say_goodbye(self) -> None:
        """Send a goodbye, and wait briefly until the other side has read all acknowledgements and disconnected."""
        if self.welcomed and self.kind is not None and self.kind.answered:
            self._listener.visitor(self.kind.name).batch_done(self)
            self.send_fields(bye=self._listener.id)
            with contextlib.suppress(TimeoutError, OSError):
                async with time_limit(PART_WITHIN):
                    while await self._lines.more():
                        self._lines.drop()  # not acknowledged, so the next hub gets it

    async def serve(self) -> None:
        """From hello to the end; cancelled, it parts. Raises nothing."""
        try:
            await self._greet()
            await self._read_events()
        except HelloRefused as why:
            self._listener.counts.refused += 1
            self.send_fields(error=str(why))
        except TimeoutError:
            self._listener.counts.slow += 1
            self.send_fields(error="too slow: the rest of your line did not arrive in time")
        except asyncio.CancelledError:
            await self.say_goodbye()
        except OSError:
            pass  # the other side is gone
        except Exception as error:  # a fault of ours: it may come back
            report(f"the connection of {self.name or 'a process'}", error)
            self.send_fields(error="the hub failed; connect again")
        finally:
            if self._overrun is not None:
                self._overrun.cancel()
            # Cancelled here, it has parted already; the streams of this Python take a cancelled visit for a fault.
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                self._writer.close()
                async with time_limit(1.0):
                    await self._writer.wait_closed()
            self._writer.transport.abort()

    async def _greet(self) -> None:
        async with time_limit(HELLO_WITHIN):
            hello = await self._fields()
        kind = KINDS.get(str(hello.get("hello")))
        if kind is None:
            raise HelloRefused(f"the first line must be {{'hello': one of {', '.join(KINDS)}, 'pid': …}}")
        if self.peer.pid and hello.get("pid") != self.peer.pid:
            raise HelloRefused(f"the `pid` in your hello is not yours, {self.peer.pid}")
        self.kind, self.hello, self.name = kind, hello, str(hello.get("agent", ""))
        visitor = self._listener.visitor(kind.name)
        if kind.proves:
            await self._prove(await visitor.secret(self))
        self._lines.limit = kind.max_line
        answer = visitor.admit(self)
        self.welcomed = True
        if kind.answered:
            self.send_fields(welcome=self._listener.id, **answer)
            visitor.ready(self)

    async def _prove(self, secret: str) -> None:
        """Both sides show that they know the secret; the hub goes first, as the one that was called."""
        if not secret:
            raise HelloRefused(f"there is no agent {self.name[:80]!r} here")
        challenge = proof.nonce()
        self.send_fields(challenge=challenge, proof=proof.proof(secret, "hub", str(self.hello.get("nonce", ""))))
        async with time_limit(HELLO_WITHIN):
            answer = await self._fields()
        if not proof.holds(secret, "client", challenge, answer.get("proof")):
            raise HelloRefused("the proof is wrong; nothing is accepted from you")

    async def _fields(self) -> dict[str, Any]:
        """The next line's fields, before events are accepted. Raises `HelloRefused`."""
        while not self._waiting:
            if not await self._lines.more():
                raise HelloRefused("you disconnected before you identified yourself")
            self._waiting.extend(self._lines.whole())
        line = self._waiting.pop(0)
        try:
            if isinstance(line, BadLine):
                raise line
            return of_line(line)
        except BadLine as why:
            raise HelloRefused(str(why)) from why

    async def _read_events(self) -> None:
        """Take events until the other side hangs up."""
        assert self.kind is not None
        visitor = self._listener.visitor(self.kind.name)
        open_still = True
        while open_still:
            async with self._listener.turn:  # of a thousand connections, one works at a time
                until = time.monotonic() + _SLICE
                for line in self._waiting or self._lines.whole():
                    self._handle_line(line)
                    if time.monotonic() > until:
                        await asyncio.sleep(0)
                        until = time.monotonic() + _SLICE
            self._waiting = []
            visitor.batch_done(self)
            await self._listener.pace()
            open_still = await self._lines.more()

    def _handle_line(self, line: bytes | BadLine) -> None:
        assert self.kind is not None
        try:
            if isinstance(line, BadLine):
                raise line
            fields = of_line(line)
            if self.kind.asks:
                self._listener.visitor(self.kind.name).asked(self, fields)
                return
            if "ack" in fields and "type" not in fields:
                self._listener.visitor(self.kind.name).acked(self, number_of({"seq": fields["ack"]}))
                return
            number = number_of(fields)
            event = wire.from_plain(fields)
            self._handle_event(event, number)
        except (BadLine, wire.WireError) as why:
            self.refuse(str(why))
        except HelloRefused:
            raise
        except Exception as error:  # a fault of ours: this line is lost, and is not sent again and again
            report(f"the connection of {self.name or self.kind.name}", error)
            self.refuse("the hub failed on this line")

    def _handle_event(self, event: Event, number: int) -> None:
        assert self.kind is not None
        if not self.kind.may_publish(event):
            name = str(getattr(event, "name", "")) if type(event).__name__ == "Unknown" else type(event).__name__
            raise BadLine(f"a connection of kind {self.kind.name} may not send {name[:80]}")
        self.events += 1
        self._listener.counts.events += 1
        self._listener.visitor(self.kind.name).handle_event(self, event, number)

    def refuse(self, why: str) -> None:
        """Answer a line that is not taken, and count it. Raises `HelloRefused` when there were too many."""
        self.refused += 1
        self._listener.counts.bad_lines += 1
        if self.refused > BAD_LINES:
            raise HelloRefused(f"too many invalid lines: {self.refused}")
        self.send_fields(error=why[:500])

    def _give_up(self) -> None:
        self._overrun = None
        if self._writer.transport.get_write_buffer_size() > UNREAD_LIMIT // 2:
            self._listener.counts.slow += 1
            self.close()


_MOST = 2_048
"""Connections at once, where the system allows so many open files."""
_NAMES = 16


class ConnectionHost(Protocol):
    """Handles the connections of one kind. Nothing here may block."""

    async def secret(self, connection: HubConnection) -> str:
        """What such a connection has to know; empty: there is nobody of this name."""
        ...

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Admit a connection; returns the fields of its welcome."""
        ...

    def ready(self, connection: HubConnection) -> None:
        """Handle a welcomed connection: send what is waiting for it."""
        ...

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """Take an event. Raises `BadLine` to refuse it."""
        ...

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Handle a request, from a kind that makes them. Raises `BadLine` to refuse it."""
        ...

    def acked(self, connection: HubConnection, number: int) -> None:
        """Handle its acknowledgement of everything up to this number."""
        ...

    def batch_done(self, connection: HubConnection) -> None:
        """Handle the end of one piece of input: the time to acknowledge."""
        ...

    def disconnected(self, connection: HubConnection) -> None: ...


class NoHost:
    """The host of kinds that this hub has no use for: takes nothing."""

    async def secret(self, connection: HubConnection) -> str:
        """Nobody is known."""
        return ""

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Welcome, to no effect."""
        return {}

    def ready(self, connection: HubConnection) -> None:
        """Nothing waits."""

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """Nothing is done with it."""

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """Nobody answers."""

    def acked(self, connection: HubConnection, number: int) -> None:
        """Nothing was sent."""

    def batch_done(self, connection: HubConnection) -> None:
        """Nothing to acknowledge."""

    def disconnected(self, connection: HubConnection) -> None:
        """Nothing was kept."""


class ConnectionCounts(msgspec.Struct):
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


class HubListener:
    """The hub's socket. `start` and `stop` bracket its life."""

    def __init__(
        self, hosts: dict[str, ConnectionHost], pace: Callable[[], Awaitable[None]], *, where: Path | None = None
    ) -> None:
        """
        Args:
            hosts: the host of each kind of connection.
            pace: awaited after each piece, which slows a flood down to what the bus can handle.
            where: the folder; by default that of all hubs.
        """
        self.id = new_id()
        self.counts = ConnectionCounts()
        self.path = Path()
        self.turn = asyncio.Lock()
        """Held by the connection whose lines are being taken."""
        self._hosts = hosts
        self._nobody = NoHost()
        self._pace = pace
        self._where = where
        self._server: asyncio.Server | None = None
        self._identity = (0, 0)
        self._open: dict[HubConnection, asyncio.Task[None]] = {}
        self._most = _most()

    async def start(self, entry: Callable[[Path], HubEntry]) -> None:
        """Listen, and register. `entry` makes the hub's entry from the socket's path. Raises `PlaceError`: the socket
        is not available.
        """
        await self.listen(await asyncio.to_thread(self._claim), self.path)
        try:
            await asyncio.to_thread(hub_registry.announce, entry(self.path))
        except OSError as error:
            await self.stop()
            raise HubRegistryError(f"Cannot write to {self.path.parent}: {error.strerror or error}.") from error

    async def listen(self, listening: socket.socket, path: Path) -> None:
        """Listen on an already claimed socket, without registering; no longer on the one before. Visits go on."""
        self.path, self._identity = path, (0, 0)
        with contextlib.suppress(OSError):  # somebody clears the folder at this moment
            self._identity = hub_registry.identity(path)
        if self._server is not None:
            self._server.close()
        self._server = await asyncio.start_unix_server(self._visit, sock=listening)

    def shut(self) -> None:
        """Accept no further connections; those that are open go on."""
        if self._server is not None:
            self._server.close()
            hub_registry.give_back(self.path, self._identity)

    async def stop(self) -> None:
        """Close all connections and release the socket."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        await cancel_and_wait(*self._open.values(), within=2.0)
        hub_registry.withdraw(self.path)
        hub_registry.give_back(self.path, self._identity)

    def is_in_place(self) -> bool:
        """Whether others still find the socket at its path. Blocks for a moment."""
        try:
            return self._server is not None and hub_registry.identity(self.path) == self._identity
        except OSError:
            return False

    @property
    def listening(self) -> bool:
        return self._server is not None

    def visitor(self, kind: str) -> ConnectionHost:
        return self._hosts.get(kind, self._nobody)

    async def pace(self) -> None:
        """Wait until more can be taken."""
        await self._pace()

    def _claim(self) -> socket.socket:
        where = self._where or hub_registry.folder()
        hub_registry.sweep(where)
        for number in range(_NAMES):
            self.path = where / hub_registry.own_name(number)
            try:
                claimed = hub_registry.claim(self.path)
            except SocketInUse:
                continue  # another hub in this process
            return claimed
        raise HubRegistryError(f"This process already has {_NAMES} sockets in {where}.")

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
            writer.write(to_line({"error": f"{self._most} connections are open, which is the limit"}))
            writer.close()
            return
        connection = HubConnection(self, reader, writer, peer)
        self._open[connection] = task
        try:
            await connection.serve()
        finally:
            del self._open[connection]
            if connection.welcomed and connection.kind is not None:
                await end_all("the socket", partial(self.visitor(connection.kind.name).disconnected, connection))


def _most() -> int:
    """How many connections the system's limit of open files leaves room for."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft < 0 else max(16, min(_MOST, soft // 2))
