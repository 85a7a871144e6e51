"""Interpreters as the `python` tool has them, in a sandbox and without one, and what is found of their processes."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Assessment, Caller, Command, Invocation, Outcome
from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.python.interpreter import (
    BlockEnd,
    Interpreter,
    InterpreterLimits,
    InterpreterOptions,
    start_interpreter,
)
from gshtui.python.interpreters import InterpreterOwner, Interpreters, ToolAnswer
from gshtui.settings.settings_tables import Python as PythonSettings
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.system.ids import new_id
from gshtui.tools.code.python_commands import commands
from gshtui.tools.code.python_tool import PythonTool

BASE = getattr(sys, "_base_executable", "") or sys.executable
"""A Python whose files a sandbox shows, wherever the environment of the tests is."""


async def answer_nothing(what: str, more: dict[str, object]) -> object:
    return {"asked": what, **more}


async def started(
    project: Path,
    *,
    sandboxed: bool,
    limits: InterpreterLimits | None = None,
    answer: Callable[[str, dict[str, object]], Awaitable[object]] = answer_nothing,
) -> Interpreter:
    """An interpreter that takes blocks; `close` it at the end."""
    project.mkdir(exist_ok=True)
    real = Path(os.path.realpath(project))
    sandbox = ProjectSandbox(find_bubblewrap(), real, real.parent / "kept") if sandboxed else None
    options = InterpreterOptions(BASE, real, sandbox, (), dict(os.environ), limits or InterpreterLimits())
    return await start_interpreter(options, answer)


async def run(interpreter: Interpreter, code: str, limit: float = 20.0) -> tuple[BlockEnd, str]:
    """Run a block; how it ended, and what it printed."""
    printed = bytearray()
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            printed.extend(os.read(interpreter.output, 1 << 16))
        except BlockingIOError:
            pass

    async with interpreter.turn:
        loop.add_reader(interpreter.output, read)
        try:
            end = await interpreter.run(code, f"<block {interpreter.blocks + 1}>", limit)
        finally:
            loop.remove_reader(interpreter.output)
        while True:
            try:
                if not (data := os.read(interpreter.output, 1 << 16)):
                    break
            except BlockingIOError:
                break
            printed.extend(data)
    return end, printed.decode()


def value(end: BlockEnd) -> str:
    """The value of its last expression."""
    assert end.done is not None, end
    assert end.done.ok, end.done.trace
    return end.done.value.text if end.done.value is not None else ""


@dataclass
class PythonHarness:
    """The `python` command of one project, as agents and people call it."""

    project: Path
    own: Path
    sandboxed: bool = True
    settings: PythonSettings = field(default_factory=lambda: PythonSettings(interpreter=BASE))
    asked: list[tuple[str, str]] = field(default_factory=list)
    used: list[tuple[str, str, dict[str, object]]] = field(default_factory=list)
    live: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bus = Bus()
        self.interpreters = Interpreters(
            self.settings, SandboxSettings(), os.environ, self.bus, self._ask_model, self._use_tool
        )
        sandboxes = Sandboxes(SandboxSettings(enabled=self.sandboxed), (self.own,))
        tool = PythonTool(self.interpreters, sandboxes, self.own / "figures", 30_000, 50_000_000)
        self.command: Command[Any] = commands(tool)[0]

    async def _ask_model(self, owner: InterpreterOwner, prompt: str) -> str:
        self.asked.append((owner.agent, prompt))
        return f"answer to {prompt}"

    def invocation(self, *, session: str = "s1", agent: str = "main", person: bool = False) -> Invocation:
        return Invocation(
            caller=Caller() if person else Caller(agent, is_agent=True),
            cwd=self.project,
            project=self.project,
            session=session,
            agent=agent,
            call=new_id(),
            output=self.live.append,
        )

    async def _use_tool(self, owner: InterpreterOwner, tool: str, arguments: dict[str, object]) -> ToolAnswer:
        self.used.append((owner.agent, tool, arguments))
        return ToolAnswer("error", "no terminal") if arguments.get("text") == "bad" else ToolAnswer("ok", "the screen")

    async def run(self, code: str = "", *, session: str = "s1", agent: str = "main", **more: Any) -> Outcome:
        parameters = self.command.parameters(code=code, **more)
        return await self.command.handler(self.invocation(session=session, agent=agent), parameters)

    async def do(self, action: str, *, session: str = "s1", **more: Any) -> Outcome:
        """As a person at the window does."""
        command = self.command.words[action]
        return await command.handler(self.invocation(session=session, person=True), command.parameters(**more))

    async def assess(self, code: str, **more: Any) -> Assessment:
        assert self.command.assess is not None
        return await self.command.assess(self.invocation(), self.command.parameters(code=code, **more))

    async def close(self) -> None:
        await self.interpreters.close()
        await self.bus.close()


def in_sandbox(invocation: Invocation) -> Invocation:
    """The same call, allowed in the sandbox only."""
    return replace(invocation, sandboxed=True)
