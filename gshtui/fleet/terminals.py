"""The tmux servers that agents live on, each by the socket that is recorded with the agent, made when first needed.

It refuses to take silence for an answer: a look that failed says so. Used by the rooms of the fleet.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from pathlib import Path

from gshtui.bus.fleet import AgentRow
from gshtui.fleet import process
from gshtui.fleet.probe import Seen
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer

LOOK_WITHIN = 5.0
"""Seconds that a look at a server may take; a healthy one takes some milliseconds."""
_EXIT_LOOKS, _EXIT_EVERY = 15, 0.1
"""Looks, and seconds between them, at a program that has just ended until it is known how."""


class Terminals:
    """Servers by socket: a name, or an absolute path."""

    def __init__(self, known: Iterable[TmuxServer] = ()) -> None:
        self._servers = {socket_of(server): server for server in known}
        self._mine: set[str] = set()
        self._gone: dict[str, float] = {}
        """Since when a process is gone whose terminal does not know it yet."""

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
            panes = await self._panes(socket, {row.pane for row in here})
            marked = {info.mark: info for info in (panes or {}).values() if info.mark}
            for row in here:
                if not row.pane and (info := marked.get(mark_of(row))) is not None:
                    born = await asyncio.to_thread(process.started, info.pid)
                    seen[row.id] = Seen(True, born=(info.pane, info.session, info.pid, born))
                    continue
                begun = await asyncio.to_thread(process.started, row.pid)
                seen[row.id] = self._seen(row, panes, begun)
        return seen

    async def _panes(self, socket: str, wanted: set[str]) -> dict[str, PaneInfo] | None:
        """The server's panes, those that are wanted with their exit status; `None` when it could not be asked."""
        if not socket:
            return {}
        try:
            async with asyncio.timeout(LOOK_WITHIN):
                server = self.of(socket)
                found = await server.panes()
                if not found and await server.running():
                    # No pane on a server that runs: the answer may have been that of one just coming or going.
                    found = await server.panes()
                for _ in range(_EXIT_LOOKS):
                    if not any(info.dead and info.exit_status is None and info.pane in wanted for info in found):
                        break
                    await asyncio.sleep(_EXIT_EVERY)  # tmux sees the terminal close before it learns how it ended
                    found = await server.panes()
        except (TmuxError, TimeoutError):
            return None
        return {info.pane: info for info in found}

    def _seen(self, row: AgentRow, panes: dict[str, PaneInfo] | None, begun: float) -> Seen:
        runs = bool(begun) and begun == row.pid_started
        if begun:
            self._gone.pop(row.id, None)
        info = panes.get(row.pane) if panes is not None else None
        if info is None:
            return Seen(known=panes is not None, runs=runs)
        gone_for = 0.0 if begun else time.monotonic() - self._gone.setdefault(row.id, time.monotonic())
        other = bool(begun) and not runs
        return Seen(True, True, info.pid, info.dead, info.exit_status, runs, other, gone_for)

    async def close(self) -> None:
        """Let go of the servers that were made here; what runs on them goes on."""
        for socket in self._mine:
            await self._servers[socket].close()


def mark_of(row: AgentRow) -> str:
    """What the agent's session carries: its hub may die before it has written down which pane it is."""
    return f"{row.id}-{row.created:.6f}"


def socket_of(server: TmuxServer) -> str:
    """How a server is recorded."""
    return str(server.socket_path) if server.socket_path else server.socket_name
