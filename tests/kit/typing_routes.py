"""Every route by which text goes into an agent's terminal, over one tmux server: mail, the `tmux` tool, `terminal`.

`TypingRoutes.add_agent` puts a program into a pane and onto the roster; `send_mail` and `tool` send it a text.
"""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.event import Event
from gshtui.bus.events.fleet_events import MessageSubmitted
from gshtui.bus.letter import Letter
from gshtui.commands.declaration import Assessment, Caller, Command, CommandError, Invocation, Outcome
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.terminal_tools.commands import commands
from gshtui.fleet.terminal_tools.shared_shell import ShellChoice
from gshtui.fleet.terminal_tools.targets import TerminalTargets
from gshtui.tmux.server import TmuxServer
from tests.kit import quirky_program
from tests.kit.mail_harness import MailHarness, open_mail
from tests.kit.record import ROOT
from tests.kit.tmux import DEADLINE, eventually, screen_text

MAIL = ("send", "send now", "say", "say now", "talk", "report")
"""The routes that keep a message until it can be delivered."""


@dataclass
class TypingRoutes:
    """One window's worth."""

    mail: MailHarness
    server: TmuxServer
    folder: Path

    def __post_init__(self) -> None:
        self.rows: list[AgentRow] = []

        async def rows() -> list[AgentRow]:
            return self.rows

        self.reach = TerminalTargets(
            AgentTerminals([self.server]),
            rows,
            socket=str(self.server.socket_path),
            prefix="gsh",
            shells=ShellChoice(Path("/bin/bash"), dict(os.environ)),
            patience=0.3,
        )
        self.tools: dict[str, Command[Any]] = {command.name: command for command in commands(self.reach)}

    async def add_agent(self, *argv: str, profile: str, env: dict[str, str] | None = None) -> AgentRow:
        """A program in a pane of its own, on the roster."""
        store = self.mail.store
        wish = AgentRow(id="", name=profile, kind="cli", status="idle", home=str(self.folder), profile=profile)
        row = await store.agents.add(wish, SpawnRequest(cli=argv))
        info = await self.server.spawn(f"gsh-agent-{row.id}", argv, cwd=self.folder, env=env or {})
        fields = {"pane": info.pane, "pid": info.pid, "tmux_session": info.session}
        row = await store.agents.update(row.id, socket=str(self.server.socket_path), **fields)
        self.rows.append(row)
        return row

    async def add_quirky_program(self) -> AgentRow:
        """The program with bad habits, at its input."""
        argv = (sys.executable, "-m", "tests.kit.quirky_program", str(self.folder / "taken"))
        row = await self.add_agent(*argv, profile="quirky", env={"PYTHONPATH": str(ROOT)})
        await eventually(lambda: screen_text(self.server, row.pane), until=lambda seen: "❯" in seen)
        return row

    def received_texts(self) -> list[str]:
        """What the program with bad habits took so far."""
        with contextlib.suppress(FileNotFoundError):
            return [json.loads(line) for line in (self.folder / "taken").read_text("utf-8").splitlines()]
        return []

    async def add_child(self, row: AgentRow) -> AgentRow:
        """An agent that this one started, and that may report to it."""
        wish = AgentRow(id="", name="child", status="idle", home=str(self.folder), parent=row.id)
        return await self.mail.store.agents.add(wish, SpawnRequest())

    @contextlib.asynccontextmanager
    async def watch_submissions(self) -> AsyncGenerator[Callable[[Iterable[str]], Awaitable[None]]]:
        """Gives a wait for messages to have been submitted."""
        done, came = set[str](), asyncio.Event()

        def hear(batch: Sequence[Event]) -> None:
            done.update(event.message for event in batch if isinstance(event, MessageSubmitted))
            came.set()

        async def wait(ids: Iterable[str]) -> None:
            wanted = set(ids)
            async with asyncio.timeout(DEADLINE):
                while not wanted <= done:
                    came.clear()
                    await came.wait()

        subscription = self.mail.main.bus.subscribe(hear, MessageSubmitted, name="routes")
        try:
            yield wait
        finally:
            subscription.unsubscribe()

    async def send_mail(self, door: str, row: AgentRow, text: str) -> Letter:
        m = self.mail
        if door.startswith("send"):
            id = await m.service.send(row, text, sender="person", defer_if_busy=door == "send")
        elif door == "report":
            said = await m.run("report", (await self.add_child(row)).id, text=text)
            id = said.data["message"]
        elif door == "talk":
            to = await m.service.outbox.addresses.find(row.id, "person")
            id = (await m.service.outbox.post("person", to, text, kind="talk")).id
        else:
            id = (await m.send(row.id, text, "person", now=door == "say now")).id
        return await m.store.mail.find(id)

    async def tool(self, name: str, *, agent: str = "main", call: str = "", **arguments: Any) -> Outcome:
        command = self.tools[name]
        return await command.handler(self.invocation(agent, call), command.parameters(**arguments))

    async def assess(self, name: str, *, agent: str = "main", call: str = "", **arguments: Any) -> Assessment:
        """What the guard is told of such a call."""
        command = self.tools[name]
        assert command.assess is not None
        return await command.assess(self.invocation(agent, call), command.parameters(**arguments))

    def invocation(self, agent: str, call: str) -> Invocation:
        caller = Caller(agent, is_agent=agent != "person")
        return Invocation(caller, cwd=self.folder, project=self.folder, session="s1", agent=agent, call=call)

    async def refusal(self, name: str, **arguments: Any) -> str:
        """Why a tool's call was refused."""
        try:
            done = await self.tool(name, **arguments)
        except CommandError as error:
            return str(error)
        raise AssertionError(f"{name} {arguments} was not refused: {done.text}")


@contextlib.asynccontextmanager
async def typing_routes(folder: Path, server: TmuxServer) -> AsyncGenerator[TypingRoutes]:
    """The routes, with mail that is delivered."""
    profiles = Path(os.environ["XDG_CONFIG_HOME"]) / "gsh" / "profiles"
    profiles.mkdir(parents=True, exist_ok=True)
    (profiles / "quirky.toml").write_text(quirky_program.PROFILE, "utf-8")
    (folder / "data").mkdir()
    async with open_mail(folder / "data" / "gsh.db", server=server) as m:
        yield TypingRoutes(m, server, folder)
