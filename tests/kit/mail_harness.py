"""Mail on a real record, with a scripted agent in the window and made-up or real ones on the roster.

`MailHarness.send` is what an agent does by its tool. Used by `tests/real/test_mail_service*.py`.
"""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import InterruptRequested
from gshtui.bus.letter import Letter
from gshtui.calls.call_service import CallService
from gshtui.calls.commands import commands as call_commands
from gshtui.commands.declaration import Assessment, Caller, Command, Invocation, Outcome
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.mail.call_post import CallMail
from gshtui.fleet.mail.commands import commands
from gshtui.fleet.mail.mail_service import MailService
from gshtui.store.record.store import Store
from gshtui.tmux.server import TmuxServer
from tests.kit.agent_harness import AgentHarness
from tests.kit.scripted_provider import ScriptedProvider, Step
from tests.kit.tmux import eventually


@dataclass
class MailHarness:
    """One window's worth."""

    main: AgentHarness
    store: Store
    service: MailService
    calls: CallService
    linked: set[str] = field(default_factory=set[str])

    def __post_init__(self) -> None:
        family = commands(self.service.outbox, self.store, self.service, calls=lambda: self.calls)
        rooms = call_commands(lambda: self.calls)
        every = [one for command in [*family, *rooms] for one in (command, *command.words.values())]
        self.commands: dict[str, Command[Any]] = {command.name: command for command in every}

    async def run(self, name: str, sender: str = "person", **arguments: Any) -> Outcome:
        """Run a command of the mail, as an agent or a person."""
        command = self.commands[name]
        return await command.handler(self.invocation(sender), command.parameters(**arguments))

    async def assess(self, name: str, sender: str, **arguments: Any) -> Assessment:
        """What the guard is told of it."""
        command = self.commands[name]
        assert command.assess is not None
        return await command.assess(self.invocation(sender), command.parameters(**arguments))

    def invocation(self, sender: str) -> Invocation:
        """How this one calls."""
        caller = Caller(sender, is_agent=sender != "person")
        return Invocation(caller, cwd=Path.cwd(), project=Path.cwd(), session="s1", agent=sender)

    async def send(self, to: str, text: str, sender: str = "0001", **arguments: Any) -> Letter:
        """Say it; the message as it is in the record."""
        said = await self.run("say", sender, to=to, text=text, **arguments)
        return await self.store.mail.find(said.data["message"])

    async def wait_for_state(self, id: str, *states: str) -> Letter:
        """Wait until a message is in one of these states."""
        return await eventually(lambda: self.store.mail.find(id), until=lambda letter: letter.state in states)

    def interrupt(self) -> None:
        """Stop what `main` is doing."""
        self.main.bus.publish(InterruptRequested(agent="main"))

    async def published_states(self, id: str) -> list[str]:
        """The states of a message that were said on the bus, in order."""
        await self.main.bus.drained()
        events: list[Any] = [e for e in self.main.recorder.events if getattr(e, "message", "") == id]
        return [event.state for event in events if hasattr(event, "state")]

    def published(self, kind: type[Event]) -> list[Any]:
        """Events of a type so far."""
        return [event for event in self.main.recorder.events if isinstance(event, kind)]

    async def add_agent(
        self, name: str, *, server: TmuxServer | None = None, argv: tuple[str, ...] = (), **fields: Any
    ) -> AgentRow:
        """An agent on the roster, in a real terminal when it has a server."""
        row = await self.store.agents.add(
            AgentRow(id="", name=name, status="idle", home="/p", **fields), SpawnRequest()
        )
        if server is None:
            return row
        info = await server.spawn(f"gsh-agent-{row.id}", argv, cwd=Path.cwd(), env={})
        return await self.store.agents.update(
            row.id, pane=info.pane, pid=info.pid, socket=str(server.socket_path), tmux_session=info.session
        )


@contextlib.asynccontextmanager
async def open_mail(
    path: Path,
    *script: Sequence[Step],
    server: TmuxServer | None = None,
    start: bool = True,
    visiting: bool = False,
    hosted: bool = False,
) -> AsyncGenerator[MailHarness]:
    """A window with the agent `main` in conversation `s1`, which answers by the script, and its mail."""
    store = await Store.open(path)
    harness = AgentHarness(path.parent, ScriptedProvider(*script))
    linked: set[str] = set()
    rooms: list[CallService] = []
    room = MailService(
        harness.bus,
        store,
        here=lambda name: "s1" if name == "main" else "",
        connected=linked.__contains__,
        terminals=AgentTerminals([server] if server else []),
        visiting=visiting,
        hosted=hosted,
        answered=lambda letter: rooms[0].post_answer(letter),
    )
    calls = CallService(harness.bus, store, CallMail(store, room.outbox, lambda: ["main"], room), "amy")
    rooms.append(calls)
    if start:
        await room.start()
        await calls.start()
    try:
        yield MailHarness(harness, store, room, calls, linked)
    finally:
        await calls.stop()
        await room.stop()
        await harness.close()
        await store.close()
