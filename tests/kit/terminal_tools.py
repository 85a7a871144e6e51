"""The terminal tools on a private tmux server, with a real shell and rows made up for real panes.

`run` and `assess` call a tool as an agent does; `type_as_person` types as a person at the shared shell would.
"""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Assessment, Caller, Command, Invocation, Outcome
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.terminal_tools.commands import commands
from gshtui.fleet.terminal_tools.shared_shell import ShellChoice
from gshtui.fleet.terminal_tools.targets import TerminalTargets
from gshtui.programs.screen.foreground import front
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.server import TmuxServer
from tests.kit.tmux import eventually, screen_text

REPL = """
import sys
print("hello", flush=True)
while True:
    print("repl> ", end="", flush=True)
    line = sys.stdin.readline()
    if not line or line.strip() == "exit":
        break
    print("answer to " + line.strip(), flush=True)
"""
"""A program that asks: it prints a prompt, answers each line, and ends when told `exit`."""


@dataclass
class TerminalTools:
    """One person's terminals."""

    server: TmuxServer
    project: Path
    shell: str = "/usr/bin/zsh"
    patience: float = 5.0
    rows: list[AgentRow] = field(default_factory=list[AgentRow])

    def __post_init__(self) -> None:
        async def known() -> list[AgentRow]:
            return self.rows

        shells = ShellChoice(Path(self.shell), dict(os.environ))
        self.reach = TerminalTargets(
            AgentTerminals([self.server]),
            known,
            socket=str(self.server.socket_path),
            prefix="gsh",
            shells=shells,
            patience=self.patience,
        )
        self.commands: dict[str, Command[Any]] = {command.name: command for command in commands(self.reach)}

    def invocation(self, agent: str, call: str = "") -> Invocation:
        """How an agent calls (`person`: how a person does)."""
        caller = Caller(agent, is_agent=agent != "person")
        return Invocation(caller, cwd=self.project, project=self.project, session="s1", agent=agent, call=call)

    async def run(self, name: str, *, agent: str = "main", call: str = "", **arguments: Any) -> Outcome:
        command = self.commands[name]
        return await command.handler(self.invocation(agent, call), command.parameters(**arguments))

    async def assess(self, name: str, *, agent: str = "main", call: str = "", **arguments: Any) -> Assessment:
        """What the guard is told of such a call."""
        command = self.commands[name]
        assert command.assess is not None
        return await command.assess(self.invocation(agent, call), command.parameters(**arguments))

    async def open_shell(self) -> str:
        """The shared shell's pane, with the shell at its prompt."""
        return (await self.reach.shared.open(self.project)).pane

    async def wait_for_prompt(self, pane: str) -> PaneInfo:
        """Wait until the shell is at its prompt."""
        return await eventually(lambda: self.server.pane(pane), until=lambda info: front(info).prompt)

    async def type_as_person(self, pane: str, text: str) -> None:
        """Type as a person does, and wait until it stands there."""
        await self.server.type_bytes(pane, text.encode())
        shown = text.rstrip("\r").rpartition("\r")[2]
        await eventually(lambda: screen_text(self.server, pane), until=lambda seen: shown in seen)

    async def add_agent(self, *argv: str, id: str = "0007", kind: Any = "cli", home: Path | None = None) -> AgentRow:
        """A program in a pane of its own, on the roster; a small REPL when none is named."""
        words = argv or (sys.executable, "-c", REPL)
        info = await self.server.spawn(f"gsh-agent-{id}", words, cwd=self.project, env={})
        row = AgentRow(
            id=id,
            name=f"helper-{id}",
            kind=kind,
            status="idle",
            home=str(home or self.project),
            socket=str(self.server.socket_path),
            tmux_session=info.session,
            pane=info.pane,
            pid=info.pid,
        )
        self.rows.append(row)
        return row
