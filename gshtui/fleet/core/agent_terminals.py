"""The tmux servers that agents live on, and what an agent's pane shows: the agent runs, has ended, or is lost.
Connections are created on first use, one per recorded socket. An unreachable server proves nothing about its agents;
one on another machine makes them lost until it is reached again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES, REMOTE, AgentRow, remote_socket
from gshtui.hosts.host_link import HostLinks
from gshtui.programs.profiles.profile import GENERIC
from gshtui.settings.paths import runtime_dir
from gshtui.system.processes import process_tree
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError


class PaneProbe(msgspec.Struct, frozen=True):
    """A row's pane. `there`: the server has the pane; `known`: the server answered."""

    known: bool
    there: bool = False
    pid: int = 0
    dead: bool = False
    exit_status: int | None = None
    runs: bool = False
    """The recorded process itself is running."""
    other: bool = False
    """Another process now has its pid."""
    gone_for: float = 0.0
    """Seconds since its process was first missed whose terminal is there, or the other way round."""
    unreached: str = ""
    """Why the machine that it is on could not be reached."""
    born: tuple[str, str, int, float] | None = None
    """The terminal of an agent whose row has none: pane, session, pid, start time."""


Verdict = Literal["runs", "ended", "lost", "unknown"]

LATE = 5.0
"""After this many seconds a missing process counts as ended, whatever its terminal says; one whose terminal is missing
is lost only then, as it may be about to end."""
SETTLED_AFTER = 3.0
"""After this many seconds an unknown program is no longer `starting`."""
DRAWN_AFTER = 60.0
"""The same for a program with a profile: its screen may stay blank while it starts."""
FOUND_AFTER = 3.0
"""After this many seconds, a terminal missing from its row is no longer left to the process that created it."""
UNBORN_FOR = 30.0
"""For this many seconds, an agent without a pane may still be starting."""
_ASKS_NOTHING: dict[str, Any] = {"needs_you": False, "question": None}


def verdict(row: AgentRow, seen: PaneProbe, now: float) -> Verdict:
    """Judge what happened to the agent."""
    if row.ended and row.status in ENDED_STATUSES:
        return "unknown"
    if not row.pane:
        return "unknown" if now - row.created < UNBORN_FOR else "lost"
    if not seen.known:
        return "unknown"
    if seen.there and seen.pid == row.pid:
        if seen.dead:
            return "ended"
        if seen.other:
            return "lost"  # the same ids on another server mean another program
        # A terminal may notice late, or not at all, that its program has ended.
        return "runs" if seen.runs else "ended" if seen.gone_for > LATE else "unknown"
    if seen.runs and not seen.there and seen.gone_for <= LATE:
        return "unknown"
    return "ended" if row.killed else "lost"


def probed_changes(row: AgentRow, seen: PaneProbe, now: float) -> dict[str, Any]:
    """The row's fields that have changed; empty if none."""
    if seen.born is not None and not row.ended:
        pane, session, pid, begun = seen.born
        if now - row.created < FOUND_AFTER:
            return {}
        found = {"pane": pane, "tmux_session": session, "pid": pid, "pid_started": begun}
        return _resting(row, "", now) | found
    match verdict(row, seen, now):
        case "unknown" if seen.unreached and row.pane and not row.ended and row.status != "lost":
            return _status("lost", seen.unreached.rstrip("."), now) | _ASKS_NOTHING
        case "unknown":
            return {}
        case "runs":
            if row.status == "lost":
                again = f"{row.host} is reached again" if row.host and not row.ended else "its terminal was found again"
                return _resting(row, again, now) | {"ended": 0.0}
            settled = SETTLED_AFTER if row.profile in ("", GENERIC) else DRAWN_AFTER
            if row.kind == "cli" and row.status_source == "spawn" and now - row.status_at > settled:
                return _resting(row, "", now)  # until a follower knows better
            return {}
        case "ended":
            return ended_changes(row, seen.exit_status, now)
        case "lost":
            why = "its window ended while it was starting" if not row.pane else "its terminal is gone"
            if seen.runs:
                why += f", and process {row.pid} outlived it"
            return _status("lost", why, now) | {"ended": now} | _ASKS_NOTHING


def ended_changes(row: AgentRow, exit_status: int | None, now: float) -> dict[str, Any]:
    """The row's changes after its program ended with this exit status (128 + n: by signal n)."""
    if row.killed:
        said = _status("done", "killed", now)
    elif exit_status in (0, None):
        said = _status("done", "", now)
    else:
        own_words = row.doing if row.status == "failed" else ""
        cause = own_words or (f"signal {exit_status - 128}" if exit_status > 128 else f"exit {exit_status}")
        said = _status("failed", cause, now)
    return said | {"ended": now, "exit_status": exit_status} | _ASKS_NOTHING


def _status(status: str, doing: str, now: float) -> dict[str, Any]:
    return {"status": status, "status_source": "process", "status_at": now, "doing": doing}


def _resting(row: AgentRow, doing: str, now: float) -> dict[str, Any]:
    """That it runs. Of another vendor's program that is no evidence that it rests."""
    if row.speaks_events:
        return _status("idle", doing, now)
    return _status("quiet", doing, now) | {"status_source": "process?"}


LOOK_WITHIN = 5.0
"""Seconds that examining a server may take; a healthy one takes some milliseconds."""
_EXIT_LOOKS, _EXIT_EVERY = 15, 0.1
"""Looks, and seconds between them, at a program that has just ended until it is known how."""


class AgentTerminals:
    """Servers by socket: a name, or an absolute path."""

    def __init__(self, known: Iterable[TmuxServer] = (), hosts: HostLinks | None = None) -> None:
        """`hosts`: the other machines of the configuration."""
        self.hosts = hosts or HostLinks({}, runtime_dir, {})
        self.on_connection: Callable[[], None] = lambda: None
        """Called when the connection to another machine's server broke, or is there again."""
        self._servers = {socket_name(server): server for server in known}
        self._mine: set[str] = set()
        self._gone: dict[str, float] = {}
        """When each process disappeared whose terminal has not noticed yet, or the terminal of one that goes on."""

    def server(self, socket: str) -> TmuxServer:
        """The server of this socket; it need not run."""
        if socket not in self._servers and socket.startswith(REMOTE):
            host, _, name = socket.removeprefix(REMOTE).partition("/")
            server = self._servers[socket] = TmuxServer(name, link=self.hosts.link(host))
            server.connection.on_mode_change(lambda mode, why: self.on_connection())
            self._mine.add(socket)
        if socket not in self._servers:
            by_path = Path(socket) if socket.startswith("/") else None
            self._servers[socket] = TmuxServer(socket_path=by_path) if by_path else TmuxServer(socket)
            self._mine.add(socket)
        return self._servers[socket]

    async def probe(self, rows: Iterable[AgentRow]) -> dict[str, PaneProbe]:
        """Each row's terminal as it is now, by id. Asks each server once; never raises `TmuxError`."""
        sockets: dict[str, list[AgentRow]] = {}
        for row in rows:
            sockets.setdefault(row.socket, []).append(row)
        wanted = [(socket, {row.pane for row in here}) for socket, here in sockets.items()]
        answers = await asyncio.gather(*(self._panes(socket, panes) for socket, panes in wanted))
        seen: dict[str, PaneProbe] = {}
        for here, panes in zip(sockets.values(), answers, strict=True):
            if isinstance(panes, str):
                seen |= {row.id: PaneProbe(False, unreached=panes) for row in here}
                continue
            marked = {info.mark: info for info in (panes or {}).values() if info.mark}
            for row in here:
                if not row.pane and (info := marked.get(session_mark(row))) is not None:
                    born = await begin_of(info)
                    seen[row.id] = PaneProbe(True, born=(info.pane, info.session, info.pid, born))
                    continue
                if row.host:
                    seen[row.id] = _seen_remote(row, panes)
                    continue
                begun = await asyncio.to_thread(process_tree.start_time, row.pid)
                seen[row.id] = self._seen(row, panes, begun)
        return seen

    async def _panes(self, socket: str, wanted: set[str]) -> dict[str, PaneInfo] | str | None:
        """The server's panes, the wanted ones with their exit status; `None` if the server did not answer.

        On another machine that is not reached, why not.
        """
        if not socket:
            return {}
        host = socket.removeprefix(REMOTE).partition("/")[0] if socket.startswith(REMOTE) else ""
        try:
            async with time_limit(LOOK_WITHIN):
                server = self.server(socket)
                found = await server.panes()
                if not found and await server.running():
                    # No pane on a server that runs: the answer may have been that of one just coming or going.
                    found = await server.panes()
                for _ in range(_EXIT_LOOKS):
                    if not any(info.dead and info.exit_status is None and info.pane in wanted for info in found):
                        break
                    await asyncio.sleep(_EXIT_EVERY)  # tmux sees the terminal close before it learns the exit status
                    found = await server.panes()
        except TmuxError as error:
            return error.message if host and error.kind in ("unreachable", "timeout") else None
        except TimeoutError:
            return f"{host} does not answer." if host else None
        return {info.pane: info for info in found}

    def _seen(self, row: AgentRow, panes: dict[str, PaneInfo] | None, begun: float) -> PaneProbe:
        runs = bool(begun) and begun == row.pid_started
        info = panes.get(row.pane) if panes is not None else None
        gone_for = 0.0
        if panes is not None and bool(begun) != (info is not None):
            gone_for = time.monotonic() - self._gone.setdefault(row.id, time.monotonic())
        else:
            self._gone.pop(row.id, None)
        if info is None:
            return PaneProbe(known=panes is not None, runs=runs, gone_for=gone_for)
        other = bool(begun) and not runs
        return PaneProbe(True, True, info.pid, info.dead, info.exit_status, runs, other, gone_for)

    async def close(self) -> None:
        """Close our connections to the servers; everything on the servers keeps running."""
        for socket in self._mine:
            await self._servers[socket].close()


def _seen_remote(row: AgentRow, panes: dict[str, PaneInfo] | None) -> PaneProbe:
    """A pane on another machine, by what tmux there says: its program is known by the pane, its pid and our mark."""
    info = panes.get(row.pane) if panes is not None else None
    if info is None:
        return PaneProbe(known=panes is not None)
    ours = info.pid == row.pid and info.mark in ("", session_mark(row))
    return PaneProbe(True, True, info.pid, info.dead, info.exit_status, runs=ours and not info.dead, other=not ours)


async def begin_of(info: PaneInfo) -> float:
    """The start time of a pane's program, for `AgentRow.pid_started`."""
    return await asyncio.to_thread(process_tree.start_time, info.local_pid)


def session_mark(row: AgentRow) -> str:
    """What the agent's session carries: its hub may die before it has written down which pane it is."""
    return f"{row.id}-{row.created:.6f}"


def socket_name(server: TmuxServer) -> str:
    """How a server is recorded."""
    if server.host:
        return remote_socket(server.host, server.socket_name)
    return str(server.socket_path) if server.socket_path else server.socket_name
