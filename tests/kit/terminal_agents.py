"""A window with agents in real terminals: the workbench on a fake hub, whose fleet is rows and a private tmux server.

`TerminalAgents.spawn` starts a program as an agent; a test opens its tab with `OpenTerminal`, and waits for its text.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import pytest
from textual.pilot import Pilot

from gshtui.bus.agent_data import AgentRow
from gshtui.fleet.terminal_tools.shared_shell import SharedShell, ShellChoice
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.terminal.terminal_pane import TerminalPane
from gshtui.ui.terminal.terminal_view import TerminalView
from tests.kit.tmux import eventually
from tests.kit.window import NOW, Window, WindowOptions


class SingleServer:
    """The servers of a fleet that has one, whatever its socket is called."""

    def __init__(self, server: TmuxServer) -> None:
        self._server = server

    def server(self, socket: str) -> TmuxServer:
        return self._server


class TerminalAgents:
    """Agents on one server; what the hub's fleet is to the window."""

    def __init__(self, server: TmuxServer, home: Path) -> None:
        self.server = server
        self.session = "gsh-main"
        self._home = home
        self.rows: dict[str, AgentRow] = {}

    @property
    def terminals(self) -> SingleServer:
        return SingleServer(self.server)

    def get(self, id: str) -> AgentRow | None:
        return self.rows.get(id)

    async def open(self, cwd: Path) -> PaneInfo:
        """The shared shell."""
        found = [info for info in await self.server.panes() if info.session == self.session]
        return found[0] if found else await self._start(self.session, ["sh", "-i"])

    async def rests(self, pane: str) -> bool:
        """Whether the shared shell waits at its prompt."""
        return await SharedShell(self.server, self.session, ShellChoice(Path("/bin/sh"), {})).rests(pane)

    async def spawn(self, *argv: str, id: str = "0001", name: str = "tester", **row: Any) -> AgentRow:
        """Start a program as an agent; a single word of Python is run by this Python."""
        session = f"gsh-agent-{id}" if id not in self.rows else f"gsh-agent-{id}-again"
        words = argv if len(argv) > 1 else (sys.executable, "-uc", *argv)
        info = await self._start(session, list(words))
        self.rows[id] = AgentRow(
            id=id,
            name=name,
            kind="cli",
            status=row.pop("status", "idle"),
            status_at=row.pop("status_at", NOW - 4),
            socket=str(self.server.socket_path),
            tmux_session=session,
            pane=info.pane,
            pid=info.pid,
            **row,
        )
        return self.rows[id]

    async def _start(self, session: str, argv: list[str]) -> PaneInfo:
        env = {"PS1": "$ ", "ENV": "", "PATH": "/usr/bin:/bin", "HOME": str(self._home), "LANG": "C.UTF-8"}
        return await self.server.spawn(session, argv, cwd=self._home, env=env)


class TerminalWindow(Window):
    """The workbench, with these agents behind it."""

    def __init__(self, agents: TerminalAgents, **options: Unpack[WindowOptions]) -> None:
        super().__init__(**options)
        self.agents = agents

    async def open(self, pilot: Pilot[int], agent: str = "0001", *, attach: bool = False) -> TerminalView:
        """Open an agent's tab, and wait for its first picture."""
        await wait_until(pilot, lambda: self.hub is not None)
        assert self.hub is not None
        self.hub.fleet = self.agents
        self.hub.shared_shell = self.agents
        self.post_message(OpenTerminal(agent, attach=attach))
        await wait_until(pilot, lambda: any(pane.state.row.id == agent for pane in self.screen.query(TerminalPane)))
        pane = next(pane for pane in self.screen.query(TerminalPane) if pane.state.row.id == agent)
        await wait_until(pilot, lambda: pane.view.picture.frame is not None)
        return pane.view


async def wait_until(pilot: Pilot[Any], there: Callable[[], object], what: Callable[[], object] = lambda: "") -> None:
    """Let the window work until something holds, and what it waits for, which may be another process."""

    async def look() -> object:
        await pilot.pause()
        return there()

    try:
        await eventually(look)
    except pytest.fail.Exception as late:
        pytest.fail(f"{late}; {what()}")


async def wait_for_text(pilot: Pilot[Any], view: TerminalView, *texts: str) -> str:
    """Wait until the tab shows all of this; gives what it shows."""
    await wait_until(pilot, lambda: all(text in view.seen() for text in texts), lambda: f"it shows:\n{view.seen()}")
    return view.seen()
