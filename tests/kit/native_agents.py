"""Native agents as tests use them: specs in the test's data folder, agents as processes of their own, a hub's relay.

Processes are ended at the end of a block with everything that they started. Waits are for events, with a deadline.
"""

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gshtui.agents.personas import load_personas
from gshtui.bus import wire
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.client.hub_greeting import greeted, line_from
from gshtui.fleet.core.ports import LaunchTerms
from gshtui.fleet.native.relay import Relay, RelayCircle
from gshtui.fleet.native.spec import Spec, make_spec, write_spec
from gshtui.guard.approval.gate import Gate
from gshtui.headless.agents.agent_terminal import AgentTerminal
from gshtui.settings import paths
from gshtui.system.ids import new_id
from gshtui.tmux.server import TmuxServer
from tests.kit.command import environment
from tests.kit.tmux import eventually
from tests.kit.warm_program import SDKS, WarmProcess, shared, start_gsh

DEADLINE = 60.0
AGENT = "0012"
E = TypeVar("E", bound=Event)


class EventLog:
    """Every event of a bus, in order; waits for one that may have come already."""

    def __init__(self, bus: Bus) -> None:
        self.events: list[Event] = []
        self._came = asyncio.Event()
        bus.subscribe(self._take, name="heard")

    def _take(self, batch: Sequence[Event]) -> None:
        self.events.extend(batch)
        self._came.set()

    def of(self, kind: type[E], **fields: Any) -> list[E]:
        """The events of one kind with these fields, in order."""
        return [
            event
            for event in self.events
            if isinstance(event, kind) and all(getattr(event, name) == value for name, value in fields.items())
        ]

    async def wait_for(self, kind: type[E], *, number: int = 1, **fields: Any) -> E:
        """The first such event, or the one of another number."""
        async with asyncio.timeout(DEADLINE):
            while len(found := self.of(kind, **fields)) < number:
                self._came.clear()
                await self._came.wait()
        return found[number - 1]


class RelayWindow:
    """What a hub is to agents in terminals: a bus, a gate, and the relay with its socket."""

    def __init__(self, folder: Path, *, answers: bool = True, circle: RelayCircle | None = None) -> None:
        self.folder = folder
        self.answers = answers
        self.bus = Bus()
        self.heard = EventLog(self.bus)
        self.gate = Gate(self.bus, respondent="person", auto_approve=frozenset())
        self.relay = Relay(self.bus, self.gate, paths.data_dir(), circle)

    async def start(self) -> None:
        await self.relay.start(cwd=self.folder, project=self.folder, answers=self.answers)

    async def stop(self) -> None:
        await self.relay.stop()
        await self.gate.close()
        await self.bus.close(timeout=2)

    def send_prompt(self, text: str, agent: str = AGENT) -> None:
        """Send a prompt, as the input line does."""
        self.bus.publish(PromptSubmitted(prompt=new_id(), agent=agent, text=text))


@contextlib.asynccontextmanager
async def relay_window(
    folder: Path, *, answers: bool = True, circle: RelayCircle | None = None
) -> AsyncGenerator[RelayWindow]:
    """A window's relay, started. `circle`: of the other ones of its process."""
    made = RelayWindow(folder, answers=answers, circle=circle)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


class HubProcess:
    """A window's relay in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, socket: str) -> None:
        self.process = process
        self.socket = socket
        self.events: list[Event] = []

    async def wait_for(self, kind: type[E], **fields: Any) -> E:
        """The first such event that it says it heard."""
        assert self.process.stdout is not None
        async with asyncio.timeout(DEADLINE):
            while True:
                for event in self.events:
                    if isinstance(event, kind) and all(getattr(event, k) == v for k, v in fields.items()):
                        return event
                line = await self.process.stdout.readline()
                assert line, "it ended"
                self.events.append(wire.decode(line))

    async def kill(self) -> None:
        """As `kill -9` does."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


@contextlib.asynccontextmanager
async def hub_process(folder: Path, decision: str = "") -> AsyncGenerator[HubProcess]:
    """Start one; killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.kit.relay_child",
        str(folder),
        decision,
        stdout=asyncio.subprocess.PIPE,
        env=environment(),
        limit=16 * 1024 * 1024,
    )
    assert process.stdout is not None
    hub: HubProcess | None = None
    try:
        async with asyncio.timeout(DEADLINE):
            hub = HubProcess(process, (await process.stdout.readline()).decode().strip())
        yield hub
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def prepare_spec(
    folder: Path, prompt: str = "", *, agent: str = AGENT, hub: str = "", provider: str = "offline", **request: Any
) -> tuple[Spec, Path]:
    wanted = SpawnRequest(prompt=prompt, provider=provider, cwd=str(folder), **request)
    row = AgentRow(id=agent, name=f"agent-{agent}", cwd=str(folder), home=str(folder))
    persona = load_personas(folder).get(wanted.persona) if wanted.persona else None
    spec = make_spec(row, wanted, persona, LaunchTerms(runtime=paths.runtime_dir()), data=paths.data_dir(), hub=hub)
    return spec, write_spec(spec)


@contextlib.contextmanager
def agent_process(spec_file: Path, folder: Path, loaded: Sequence[str] = SDKS) -> Generator[WarmProcess]:
    """The agent as a process without a terminal. `loaded`: what it need not load."""
    with start_gsh("agent", "run", "--spec", str(spec_file), cwd=folder, warm=shared(*loaded)) as process:
        yield process


async def wait_for_exit(process: WarmProcess) -> tuple[int, str, str]:
    """Exit status, output and errors of a process that ends by itself."""
    out, err = await asyncio.to_thread(process.communicate, timeout=DEADLINE)
    return process.wait(), out.decode(), err.decode()


def kill(process: WarmProcess) -> None:
    """As `kill -9` does."""
    process.send_signal(signal.SIGKILL)
    process.wait(DEADLINE)


def opening_answer(spec_file: Path) -> dict[str, Any]:
    """What the hub says to this process, which asks for the agent of this spec."""
    (connected,) = greeted("pane", DEADLINE)
    with connected:
        connected.sendall(json.dumps(AgentTerminal(spec_file).opening()).encode() + b"\n")
        return line_from(connected)


async def shown(tmux: TmuxServer, pane: str, *words: str) -> str:
    """The screen with its history, once all the words stand on it."""

    async def look() -> str:
        text = "\n".join(await tmux.capture(pane, start=-500, styled=False, join=True))
        return text if all(word in text for word in words) else ""

    return await eventually(look)
