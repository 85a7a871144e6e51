"""Agents' terminals as the window needs them: a small port to watch and type into one, and their registry.

Owns the protocols and one mirror per server; does not import tmux before a terminal is opened. Created by the app;
backed by the hub's fleet.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from textual.app import SuspendNotSupported
from textual.geometry import Size

from gshtui.bus.agent_data import AgentRow
from gshtui.client.window_calls import WindowCalls
from gshtui.system.expected_error import ExpectedError
from gshtui.ui.kit.widget_messages import OpenTerminal

if TYPE_CHECKING:
    from textual.app import App

    from gshtui.tmux.mirror import Frame, Mirror
    from gshtui.tmux.server import TmuxServer


_SLOW = 50
"""Milliseconds of a capture from which on a letter is seen late."""

READABLE = Size(80, 24)
"""Columns and rows at which programs show all of a question that is not long."""


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
    """One terminal. Its asynchronous methods raise `gshtui.tmux.tmux_errors.TmuxError`."""

    def watch(self, on_frame: Callable[[Frame], None], width: int, height: int) -> TerminalWatch: ...
    async def press(self, *names: str) -> None: ...
    async def type(self, data: bytes) -> None: ...
    async def paste(self, text: str) -> None: ...
    async def make_readable(self) -> None:
        """Give it at least the size at which a question can be read elsewhere, unless a person is attached."""
        ...

    def way(self) -> str:
        """The kind of connection and its cost, in a few words."""
        ...

    async def visit(self, app: App[Any]) -> str:
        """Show it full screen; returns a sentence for the person, or an empty text."""
        ...


class TmuxTerminal:
    """A pane of one of the hub's servers."""

    def __init__(self, server: TmuxServer, mirror: Mirror, pane: str, session: str) -> None:
        self._server = server
        self._mirror = mirror
        self._pane = pane
        self._session = session

    def watch(self, on_frame: Callable[[Frame], None], width: int, height: int) -> TerminalWatch:
        """Mirror it in a tab of this size."""
        return self._mirror.watch(self._pane, on_frame, width=width, height=height)

    async def press(self, *names: str) -> None:
        """Press keys by tmux's names."""
        await self._server.send_keys(self._pane, *names)

    async def type(self, data: bytes) -> None:
        """Send the program these bytes, as a keyboard or mouse would."""
        await self._server.type_bytes(self._pane, data)

    async def paste(self, text: str) -> None:
        """Paste text."""
        await self._server.send_text(self._pane, text)

    async def make_readable(self) -> None:
        """See `Terminal`."""
        now = await self._server.pane(self._pane)
        await self._server.resize(self._pane, max(now.width, READABLE.width), max(now.height, READABLE.height))

    def way(self) -> str:
        """The mode of the connection, and what a capture costs if that can be felt."""
        connection = self._server.connection
        cost = f" {self._mirror.cost_ms:.0f} ms" if self._mirror.cost_ms >= _SLOW else ""
        if connection.mode == "control":
            return f"live{cost}"
        return (
            f"polled{cost}"
            if connection.mode == "chained"
            else f"{connection.host} out of reach"
            if connection.host
            else "no tmux server"
        )

    async def visit(self, app: App[Any]) -> str:
        """Attach full-screen; from inside the same server, switch the person's client there instead."""
        from gshtui.tmux import attach_client
        from gshtui.ui.kit.terminal_handoff import handoff

        client = await attach_client.client_here(self._server, os.environ)
        if client:
            await attach_client.switch(self._server, client, self._session)
            return f"Your tmux now shows {self._session}. Press its prefix key, then L, to come back."
        try:
            with handoff(app):
                await attach_client.attach(self._server, self._session)
        except SuspendNotSupported:
            line = self._server.attach_line(self._session)
            return f"This terminal can't show it full screen. In another one, run: {line}"
        return ""


class TerminalRegistry:
    """Hands out terminals; keeps one mirror per server.

    Args:
        source: gives the hub once it is running; raises if there is none.
        cwd: the window's folder.
    """

    def __init__(self, source: Callable[[], Awaitable[WindowCalls]], cwd: Path) -> None:
        self._source = source
        self._cwd = cwd
        self._servers: dict[str, TmuxServer] = {}
        self._mirrors: dict[str, Mirror] = {}

    async def row(self, agent: str) -> AgentRow:
        """The agent's row. Raises `TerminalError`."""
        hub = await self._source()
        try:
            row = await hub.agent_row(agent)
        except ExpectedError as error:
            raise TerminalError(str(error)) from error
        if row is None:
            raise TerminalError(f"No agent {agent!r} in a terminal.")
        self._know(hub, row.socket)
        return row

    def _know(self, hub: WindowCalls, socket: str) -> None:
        if socket and socket not in self._servers and (server := hub.terminal_server(socket)) is not None:
            self._servers[socket] = server

    async def shared(self) -> AgentRow:
        """The shared shell as if it were an agent, started if missing.

        Raises:
            TerminalError: there is none here.
            gshtui.tmux.tmux_errors.TmuxError: it could not be started.
        """
        hub = await self._source()
        info, session, socket = await hub.open_shared_shell(self._cwd)
        self._know(hub, socket)
        return AgentRow(
            id=OpenTerminal.SHARED,
            name=session,
            kind="cli",
            status="",
            cwd=str(self._cwd),
            socket=socket,
            tmux_session=session,
            pane=info.pane,
            pid=info.pid,
        )

    async def shared_rests(self, row: AgentRow) -> bool:
        """Whether the shared shell waits at its prompt. Raises `gshtui.tmux.tmux_errors.TmuxError`."""
        return await (await self._source()).shared_shell_rests(row.pane)

    def terminal_of(self, row: AgentRow) -> Terminal:
        """The terminal of a row handed out here. Raises `TerminalError`."""
        server = self._servers.get(row.socket)
        if server is None or not row.pane:
            raise TerminalError(f"{row.name or row.id} has no terminal{'' if row.ended else ' yet'}.")
        return TmuxTerminal(server, self._mirror(row.socket, server), row.pane, row.tmux_session)

    def command(self, row: AgentRow) -> str:
        """The command to see it in another terminal."""
        server = self._servers.get(row.socket)
        return server.attach_line(row.tmux_session) if server is not None and row.tmux_session else ""

    async def close(self) -> None:
        """Stop mirroring; the programs in the terminals keep running."""
        mirrors = tuple(self._mirrors.values())
        self._mirrors.clear()
        for mirror in mirrors:
            await mirror.close()

    def _mirror(self, socket: str, server: TmuxServer) -> Mirror:
        from gshtui.tmux.mirror import Mirror

        if socket not in self._mirrors:
            self._mirrors[socket] = Mirror(server)
        return self._mirrors[socket]
