"""Handles the connections to the shells' socket: shells, windows that follow what shells do, and readers of the record.

Acknowledges lines and passes them on; the intake interprets them. The shell log gives it to the listener.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.shell.hub_listener import HubConnection
from gshtui.shell.line_stream import BadLine
from gshtui.shell.log.intake import LineIntake
from gshtui.shell.log.virtual_shells import process_name
from gshtui.shell.pairing import PairedLine, is_of_shell
from gshtui.system.tasks import start_job

LINES = 600
"""Kept lines of a shell that are remembered, and so many shells: `SHELLS`."""
SHELLS = 500


class _Host:
    """What both kinds have in common: they prove nothing, and wait for nothing."""

    async def secret(self, connection: HubConnection) -> str:
        """Asks for no secret: the kernel says whose process it is."""
        return ""

    def ready(self, connection: HubConnection) -> None:
        """Nothing waits for it."""

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """None of these kinds makes requests."""

    def acked(self, connection: HubConnection, number: int) -> None:
        """It is not told anything that has to arrive."""

    def batch_done(self, connection: HubConnection) -> None:
        """Handles shells; acknowledges lines once they are stored."""


class ShellConnections(_Host):
    """The plugins of shells."""

    def __init__(self, intake: LineIntake) -> None:
        self._intake = intake
        self._processes: dict[HubConnection, str] = {}
        self._unacknowledged: dict[HubConnection, int] = {}
        self._kept: dict[str, dict[int, None]] = {}
        """The numbers of the last stored lines, by shell, because lines may be sent again."""

    @property
    def connected(self) -> int:
        return len(self._processes)

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        self._processes[connection] = process_name(connection.peer.pid)
        return {}

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        shell = getattr(event, "shell", "")
        if not is_of_shell(event):
            raise BadLine("`shell` is not a shell's id, or `number` is not a number")
        if number and number in self._kept.get(shell, {}):
            self._schedule_ack(connection, number)
            return
        said = PairedLine(event, number, self._processes.get(connection, ""))
        self._intake.add_line(said, (lambda: self._line_kept(connection, shell, number)) if number else None)

    def disconnected(self, connection: HubConnection) -> None:
        """It hung up; its shell may live on."""
        self._processes.pop(connection, None)

    def _line_kept(self, connection: HubConnection, shell: str, number: int) -> None:
        kept = self._kept.setdefault(shell, {})
        kept[number] = None
        if len(kept) > LINES:
            del kept[next(iter(kept))]
        if len(self._kept) > SHELLS:
            del self._kept[next(iter(self._kept))]
        self._schedule_ack(connection, number)

    def _schedule_ack(self, connection: HubConnection, number: int) -> None:
        if connection in self._processes:
            if not self._unacknowledged:
                asyncio.get_running_loop().call_soon(self._send_acks)
            self._unacknowledged[connection] = max(number, self._unacknowledged.get(connection, 0))

    def _send_acks(self) -> None:
        """Send one acknowledgement for everything stored in one piece."""
        owed, self._unacknowledged = self._unacknowledged, {}
        for connection, number in owed.items():
            connection.send_fields(ack=number)


class ReaderConnections(_Host):
    """Processes that are about to read the record."""

    def __init__(self, sync: Callable[[], Awaitable[bool]]) -> None:
        """`sync` stores what is in the spool now; returns whether it could store all of it."""
        self._sync = sync
        self._answers: dict[HubConnection, asyncio.Task[None]] = {}

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        return {}

    def ready(self, connection: HubConnection) -> None:
        """Being connected is its request."""
        self._answers[connection] = start_job(self._answer(connection), "the answer to a reader of the shell log")

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """It may send none."""

    def disconnected(self, connection: HubConnection) -> None:
        """It has its answer, or went away without."""
        if (answer := self._answers.pop(connection, None)) is not None:
            answer.cancel()

    async def _answer(self, connection: HubConnection) -> None:
        connection.send_fields(synced=await self._sync())


class WindowConnections(_Host):
    """The other hubs of this user."""

    def __init__(self, on_event: Callable[[Event], None], on_left: Callable[[], None]) -> None:
        """`on_event`: receives what happened at one of them; all the others are sent it. `on_left`: called when one has
        disconnected.
        """
        self._on_event = on_event
        self._on_left = on_left
        self._open: set[HubConnection] = set()

    @property
    def connected(self) -> int:
        """Windows that listen here now."""
        return len(self._open)

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        self._open.add(connection)
        return {}

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """What happened there happens here too, and everywhere."""
        self._on_event(event)
        self.send_event(event, but=connection)

    def disconnected(self, connection: HubConnection) -> None:
        self._open.discard(connection)
        self._on_left()

    def send_event(self, event: Event, *, but: HubConnection | None = None) -> None:
        """Send all windows what happened. Never blocks."""
        if self._open:
            line = wire.encode(event)
            for connection in self._open:
                if connection is not but:
                    connection.send(line)
