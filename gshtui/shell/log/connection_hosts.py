"""Handles the connections of shells to their socket.

Acknowledges lines and passes them on; the intake interprets them. The shell log gives it to the listener.
"""

from __future__ import annotations

import asyncio
from typing import Any

from gshtui.bus.event import Event
from gshtui.shell.hub_listener import HubConnection, NoHost
from gshtui.shell.line_stream import BadLine
from gshtui.shell.log.intake import LineIntake
from gshtui.shell.log.virtual_shells import process_name
from gshtui.shell.pairing import PairedLine, is_of_shell

LINES = 600
"""Kept lines of a shell that are remembered, and so many shells: `SHELLS`."""
SHELLS = 500


class ShellConnections(NoHost):
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
