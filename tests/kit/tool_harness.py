"""A project folder, and the tools on it, as an agent calls them."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from msgspec.structs import replace

from gshtui.commands.declaration import Assessment, Caller, Command, Invocation, Outcome
from gshtui.system.ids import new_id
from gshtui.tools.commands import commands
from gshtui.tools.files.workspace import ToolConfig


@dataclass
class ToolHarness:
    """The tools of one project, for one agent; what they print while they run is in `live`."""

    project: Path
    config: ToolConfig = field(default_factory=lambda: ToolConfig(os.environ))
    live: list[str] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.commands: dict[str, Command[Any]] = {command.name: command for command in commands(self.config)}

    def invocation(self, *, agent: str = "main", call: str = "") -> Invocation:
        return Invocation(
            caller=Caller(agent, is_agent=True),
            cwd=self.project,
            project=self.project,
            session="s1",
            call=call or new_id(),
            output=self.live.append,
            cancelled=self.cancelled,
        )

    def _called(self, name: str, arguments: dict[str, Any]) -> tuple[Command[Any], dict[str, Any]]:
        """A group's word is its `action`, as models call it."""
        command = self.commands[name]
        return (command.words[arguments.pop("action")] if command.words else command), arguments

    async def assess(self, name: str, *, call: str = "", **arguments: Any) -> Assessment:
        command, arguments = self._called(name, arguments)
        assert command.assess is not None
        return await command.assess(self.invocation(call=call), command.parameters(**arguments))

    async def run(self, name: str, *, agent: str = "main", call: str = "", **arguments: Any) -> Outcome:
        command, arguments = self._called(name, arguments)
        return await command.handler(self.invocation(agent=agent, call=call), command.parameters(**arguments))

    async def run_in(self, folder: Path, name: str, **arguments: Any) -> Outcome:
        command, arguments = self._called(name, arguments)
        return await command.handler(replace(self.invocation(), cwd=folder), command.parameters(**arguments))

    def write_file(self, path: str, content: str | bytes) -> Path:
        file = self.project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.encode() if isinstance(content, str) else content)
        return file


def processes_mentioning(mark: str) -> list[str]:
    """Command lines of living processes that mention the mark."""
    found: list[str] = []
    for process in psutil.process_iter():
        try:
            line = " ".join(process.cmdline())
            if mark in line and process.status() != psutil.STATUS_ZOMBIE:
                found.append(line)
        except psutil.Error:
            continue
    return found
