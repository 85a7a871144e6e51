"""The tmux servers that agents live on, each by the socket that is recorded with the agent, made when first needed.

It refuses to take silence for an answer: a look that failed says so. Used by the rooms of the fleet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path

from gshtui.agents import fleet_process
from gshtui.agents.fleet_probe import Seen
from gshtui.bus.fleet import AgentRow
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer

LOOK_WITHIN = 5.0
"""Seconds that a look at a server may take; a healthy one takes some milliseconds."""


class Terminals:
    """Servers by socket: a name, or an absolute path."""

    def __init__(self, known: Iterable[TmuxServer] = ()) -> None:
        self._servers = {socket_of(server): server for server in known}
        self._mine: set[str] = set()

    def of(self, socket: str) -> TmuxServer:
        """The server of this socket; it need not run."""
        if socket not in self._servers:
            by_path = Path(socket) if socket.startswith("/") else None
            self._servers[socket] = TmuxServer(socket_path=by_path) if by_path else TmuxServer(socket)
            self._mine.add(socket)
        return self._servers[socket]

    async def look(self, rows: Iterable[AgentRow]) -> dict[str, Seen]:
        """What is there of each row's terminal, by id. One question a server; never raises `TmuxError`."""
        sockets: dict[str, list[AgentRow]] = {}
        for row in rows:
            sockets.setdefault(row.socket, []).append(row)
        seen: dict[str, Seen] = {}
        for socket, here in sockets.items():
            panes = await self._panes(socket)
            for row in here:
                runs = await asyncio.to_thread(fleet_process.runs, row.pid, row.pid_started)
                seen[row.id] = _seen(row, panes, runs)
        return seen

    async def _panes(self, socket: str) -> dict[str, PaneInfo] | None:
        """The server's panes; `None` when it could not be asked."""
        if not socket:
            return {}
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                server = self.of(socket)
                found = await server.panes()
                if not found and await server.running():
                    # No pane on a server that runs: the answer may have been that of one just coming or going.
                    found = await server.panes()
        except (TmuxError, TimeoutError):
            return None
        return {info.pane: info for info in found}

    async def close(self) -> None:
        """Let go of the servers that were made here; what runs on them goes on."""
        for socket in self._mine:
            await self._servers[socket].close()


def socket_of(server: TmuxServer) -> str:
    """How a server is recorded."""
    return str(server.socket_path) if server.socket_path else server.socket_name


def _seen(row: AgentRow, panes: dict[str, PaneInfo] | None, runs: bool) -> Seen:
    if panes is None:
        return Seen(known=False, runs=runs)
    info = panes.get(row.pane)
    if info is None:
        return Seen(known=True, runs=runs)
    return Seen(True, True, info.pid, info.dead, info.exit_status, runs)
