"""A fleet for a test: a real record, a private tmux server, real small programs as agents.

`FleetHarness` is one folder's worth; several fleets in it are several hubs. Used by `tests/real/test_fleet*.py`.
"""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.fleet.core.accounts import Accounts
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.ports import FleetOptions, LaunchTerms
from gshtui.fleet.lifecycle.agent_command_lines import CommandLines
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.guard.sandbox.sandboxes import Sandboxes
from gshtui.hosts.host_link import HostLinks
from gshtui.store.record.store import Store
from gshtui.tmux.server import TmuxServer
from tests.kit.record import ROOT
from tests.kit.tmux import DEADLINE, eventually

ECHO = """
import os, sys, tty
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "end":
        tty.setcbreak(0)
        print("got:end\\033[6n", flush=True)
        os.read(0, 1)
        sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print("got:" + line.rstrip(), flush=True)
"""
"""An agent that repeats what it is told, and ends when told `end`: with the terminal's answer to a question, since the
system drops what a program has just written to its terminal when it ends at once."""


def echo_program(code: int = 0) -> tuple[str, ...]:
    """Its argument vector."""
    return (sys.executable, "-c", ECHO, str(code))


_OTHER = """
import asyncio, json, sys
from pathlib import Path
from gshtui.tmux.server import TmuxServer
from tests.kit.fleet_harness import FleetHarness, program_request

async def main():
    home, socket, programs = sys.argv[1:]
    async with FleetHarness(Path(home), TmuxServer(socket_path=Path(socket))).start_hub() as fleet:
        rows = [await fleet.spawn(program_request(*program)) for program in json.loads(programs)]
        print(json.dumps([row.id for row in rows]), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)

asyncio.run(main())
"""


async def _consent(_argv: tuple[str, ...], _folder: Path, _refused: tuple[str, ...] = ()) -> bool:
    return True


@dataclass
class FleetHarness:
    """A folder, its record and its tmux server."""

    home: Path
    server: TmuxServer
    grace: float = 60.0
    hosts: HostLinks | None = None
    events: list[Event] = field(default_factory=list[Event])

    @contextlib.asynccontextmanager
    async def start_hub(
        self,
        *,
        visiting: bool = False,
        session_of: Callable[[str], str] = lambda agent: "",
        accounts: Accounts | None = None,
        setup: tuple[str, ...] = (),
        sandboxes: Sandboxes | None = None,
    ) -> AsyncGenerator[Fleet]:
        """A hub with a fleet. `setup`: the command for new worktrees, to which everybody consents."""
        bus = Bus()
        store = await Store.open(self.home / "data" / "gsh.db")
        bus.subscribe(self.events.extend, name="test")
        data = self.home / "data"
        place = FleetOptions(
            self.home, data, socket=str(self.server.socket_path), prefix="gsh", visiting=visiting, grace=self.grace
        )
        terms = LaunchTerms(setup=setup, sandboxes=lambda: sandboxes)
        lines = CommandLines(data, terms, consent=lambda _agent: _consent)
        terminals = AgentTerminals(hosts=self.hosts)
        fleet = Fleet(bus, store, place, lines, session_of=session_of, accounts=accounts, terminals=terminals)
        await fleet.start()
        try:
            yield fleet
        finally:
            await fleet.stop()
            await bus.close()
            await store.close()

    @contextlib.asynccontextmanager
    async def start_hub_process(self, *programs: Sequence[str]) -> AsyncGenerator[tuple[int, list[str]]]:
        """A hub in a process of its own that starts these programs: (its pid, the agents' ids). Killed at the end."""
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _OTHER,
            str(self.home),
            str(self.server.socket_path),
            json.dumps(programs),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert child.stdout is not None
        try:
            async with asyncio.timeout(DEADLINE):
                ids = json.loads(await child.stdout.readline())
            yield child.pid, ids
        finally:
            if child.returncode is None:
                child.kill()
            await child.wait()

    def published(self, kind: type[Event]) -> list[Event]:
        """The events of this type so far."""
        return [event for event in self.events if isinstance(event, kind)]

    async def wait_for_event(self, kind: type[Event]) -> list[Event]:
        """The events of this type, once there is one."""

        async def look() -> list[Event]:
            await asyncio.sleep(0)
            return self.published(kind)

        return await eventually(look)


async def wait_for_status(fleet: Fleet, id: str, *wanted: str) -> AgentRow:
    """Wait until the agent's status is one of these."""
    return await fleet.wait(id, wanted, DEADLINE)


async def wait_for_text(harness: FleetHarness, row: AgentRow, text: str) -> str:
    """Wait until the agent's terminal shows this."""

    async def look() -> str:
        return "\n".join(await harness.server.capture(row.pane, styled=False, join=True))

    return await eventually(look, until=lambda seen: text in seen)


def program_request(*argv: str, name: str = "", prompt: str = "") -> SpawnRequest:
    """A request for somebody's program."""
    return SpawnRequest(cli=argv, name=name, prompt=prompt)
