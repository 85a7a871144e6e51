"""Terminals of agents as the window needs them: a small port to watch one and to type into it, and who hands them out.

Owns the protocols and one mirror a server; refuses to import tmux before a terminal is opened. Made by the app; the
hub's fleet stands behind it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from gshtui.bus.agent_data import AgentRow
from gshtui.ui.kit.hub_port import SharedShellPort, TerminalFleet
from gshtui.ui.kit.widget_messages import OpenTerminal

if TYPE_CHECKING:
    from textual.app import App

    from gshtui.tmux.mirror import Frame, Mirror
    from gshtui.tmux.server import TmuxServer


class TerminalError(Exception):
    """A terminal cannot be shown; one sentence that says why and what to do."""


class TerminalWatch(Protocol):
    """A tab's hold on a terminal (`gshtui.tmux.mirror.Watch`)."""

    def resize(self, width: int, height: int) -> None: ...
    def set_visible(self, shown: bool) -> None: ...
    def capture_soon(self) -> None: ...
    async def read_history(self, start: int, end: int) -> list[str]: ...
    def close(self) -> None: ...


class Terminal(Protocol):
    """One terminal. What is asynchronous raises `gshtui.tmux.tmux_errors.TmuxError`."""

    def watch(self, on_frame: Callable[[Frame], None], width: int, height: int) -> TerminalWatch: ...
    async def press(self, *names: str) -> None: ...
    async def type(self, data: bytes) -> None: ...
    async def paste(self, text: str) -> None: ...
    def way(self) -> str:
        """How it is reached and at what cost, in a few words."""
        ...

    async def visit(self, app: App[Any]) -> str:
        """Give a person the whole screen; afterwards a sentence, if there is something to say."""
        ...


class TmuxTerminal:
    """A pane of one of the hub's servers."""

    def __init__(self, server: TmuxServer, mirror: Mirror, pane: str, session: str) -> None:
        self._server = server
        self._mirror = mirror
        self._pane = pane
        self._session = session

    def watch(self, on_frame: Callable[[Frame], None], width: int, height: int) -> TerminalWatch:
        """Have it mirrored in a tab of this size."""
        return self._mirror.watch(self._pane, on_frame, width=width, height=height)

    async def press(self, *names: str) -> None:
        """Press keys by tmux's names."""
        await self._server.send_keys(self._pane, *names)

    async def type(self, data: bytes) -> None:
        """Give the program these bytes, as a keyboard or a mouse does."""
        await self._server.type_bytes(self._pane, data)

    async def paste(self, text: str) -> None:
        """Paste text."""
        await self._server.send_text(self._pane, text)

    def way(self) -> str:
        """The mode of the connection, and what a capture costs."""
        connection = self._server.connection
        cost = f" {self._mirror.cost_ms:.1f} ms" if self._mirror.cost_ms else ""
        if connection.mode == "control":
            return f"live{cost}"
        return f"polled{cost}" if connection.mode == "chained" else "no tmux server"

    async def visit(self, app: App[Any]) -> str:
        """Attach full-screen; from inside the same server, switch the person's client there instead."""
        from gshtui.ui.terminal.attach import attach_full_screen

        return await attach_full_screen(app, self._server, self._session)


class TerminalSource(Protocol):
    """The part of a hub that has terminals."""

    @property
    def fleet(self) -> TerminalFleet | None: ...
    @property
    def shared_shell(self) -> SharedShellPort | None: ...


class TerminalRegistry:
    """Hands out terminals; keeps one mirror a server.

    Args:
        source: gives the hub, once it runs; raises what says that there is none.
        cwd: the window's folder.
    """

    def __init__(self, source: Callable[[], Awaitable[TerminalSource]], cwd: Path) -> None:
        self._source = source
        self._cwd = cwd
        self._servers: dict[str, TmuxServer] = {}
        self._mirrors: dict[str, Mirror] = {}

    async def row(self, agent: str) -> AgentRow:
        """The agent's row. Raises `TerminalError`."""
        fleet = (await self._source()).fleet
        if fleet is None:
            raise TerminalError("Agents in terminals are not running here; `gsh-tui doctor` says what is missing.")
        row = fleet.get(agent)
        if row is None:
            raise TerminalError(f"There is no agent {agent!r} in a terminal.")
        if row.socket and row.socket not in self._servers:
            self._servers[row.socket] = fleet.terminals.server(row.socket)
        return row

    async def shared(self) -> AgentRow:
        """The shared shell as if it were an agent, started if it is missing.

        Raises:
            TerminalError: there is none here.
            gshtui.tmux.tmux_errors.TmuxError: it could not be started.
        """
        shell = (await self._source()).shared_shell
        if shell is None:
            raise TerminalError("The shared shell is not there; `gsh-tui doctor` says what is missing.")
        info, server = await shell.open(self._cwd), shell.server
        socket = str(server.socket_path or server.socket_name)
        self._servers[socket] = server
        return AgentRow(
            id=OpenTerminal.SHARED,
            name=shell.session,
            kind="cli",
            status="",
            cwd=str(self._cwd),
            socket=socket,
            tmux_session=shell.session,
            pane=info.pane,
            pid=info.pid,
        )

    def terminal_of(self, row: AgentRow) -> Terminal:
        """The terminal of a row that was given out here. Raises `TerminalError`."""
        server = self._servers.get(row.socket)
        if server is None or not row.pane:
            raise TerminalError(f"{row.name or row.id} has no terminal{'' if row.ended else ' yet'}.")
        return TmuxTerminal(server, self._mirror(row.socket, server), row.pane, row.tmux_session)

    def command(self, row: AgentRow) -> str:
        """What a person runs to see it in a terminal of their own."""
        server = self._servers.get(row.socket)
        return server.attach_line(row.tmux_session) if server is not None and row.tmux_session else ""

    async def close(self) -> None:
        """Stop mirroring; what runs in the terminals goes on."""
        mirrors = tuple(self._mirrors.values())
        self._mirrors.clear()
        for mirror in mirrors:
            await mirror.close()

    def _mirror(self, socket: str, server: TmuxServer) -> Mirror:
        from gshtui.tmux.mirror import Mirror

        if socket not in self._mirrors:
            self._mirrors[socket] = Mirror(server)
        return self._mirrors[socket]
