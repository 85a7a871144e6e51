"""A line to one agent in a terminal for the length of one command, where no window is open that it could listen to.

A person's answers and choices go out on it, and what the agent says of itself comes in. It takes nothing over: what the
agent tells is not acknowledged, so that the next window hears it too, and no other agent is let in. Raises only
`FleetError`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

from gshtui.bus import wire
from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    InterruptRequested,
    ProgramOptionRequested,
    ProgramSessionChanged,
    QuestionAnswered,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.fleet.core.ports import FleetError
from gshtui.fleet.native.spec import Spec, SpecError, read_spec, spec_path
from gshtui.guard.approval.open_approvals import ApprovalWatch
from gshtui.shell import hub_registry
from gshtui.shell.event_table import AGENT
from gshtui.shell.hub_listener import HubConnection, HubListener
from gshtui.shell.hub_registry import HubEntry, HubRegistryError
from gshtui.system.processes.time_limit import time_limit

_WITHIN = 8.0
"""Seconds within which the agent must have found the line; it looks about every two."""
_SAID_WITHIN = 3.0
"""Seconds within which an agent that waits for an answer must have said what it asked before it found the line."""
_TOLD = (AgentStatusChanged, ProgramSessionChanged, ApprovalRequested, ApprovalSettled)
_SENT = (QuestionAnswered, ProgramOptionRequested, ApprovalAnswered, InterruptRequested)


class DirectLine:
    """See the module. `bus` has what the agent says, and takes what is for it; `approvals` are its open questions."""

    def __init__(self, spec: Spec) -> None:
        self.bus = Bus()
        self.approvals = ApprovalWatch(self.bus)
        self.connected = asyncio.Event()
        """The agent has said how it is."""
        self.question: OpenQuestion | None = None
        """What the agent's program asks now, if it is one over ACP."""
        self._waits = False
        self._heard = asyncio.Event()
        self._spec = spec
        self._connection: HubConnection | None = None
        self._opened = time.time()
        self._subscription = self.bus.subscribe(self._send, *_SENT, name="line")

    async def close(self) -> None:
        """Hang up."""
        self._subscription.unsubscribe()
        await self.approvals.close()
        await self.bus.close(timeout=1.0)

    async def wait_for_question(self) -> None:
        """Wait for what the agent asks, if it waits: what no window has heard comes only behind how the agent is."""
        await self.bus.drained()
        with contextlib.suppress(TimeoutError):
            async with time_limit(_SAID_WITHIN):
                while self._waits and self.question is None and not self.approvals.state.of_agent(self._spec.agent):
                    await self._heard.wait()
                    self._heard.clear()
                    await self.bus.drained()

    # Called by the listener

    async def secret(self, connection: HubConnection) -> str:
        """The agent's; nobody else has one here."""
        return self._spec.token if connection.name == self._spec.agent else ""

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Welcome the agent."""
        self._connection = connection
        return {"have": 0}

    def ready(self, connection: HubConnection) -> None:
        """Nothing waits for it."""

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """Publish how it is now, and what it says from now on; what it has said before is for windows."""
        known = isinstance(event, _TOLD) and getattr(event, "agent", "") == self._spec.agent
        if known and (not number or event.at >= self._opened or isinstance(event, ApprovalRequested | ApprovalSettled)):
            self.bus.publish(event)
        if isinstance(event, AgentStatusChanged) and (not number or event.at >= self._opened):
            self.question, self._waits = event.question, event.status == "waiting"
        if isinstance(event, AgentStatusChanged) and not number:  # the last of what it says first
            self.connected.set()

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """No agent makes requests."""

    def acked(self, connection: HubConnection, number: int) -> None:
        """What is sent has no number: that it arrived is seen by what the agent does."""

    def batch_done(self, connection: HubConnection) -> None:
        """Nothing is acknowledged."""
        self._heard.set()

    def disconnected(self, connection: HubConnection) -> None:
        """It has ended, or the link broke."""
        if self._connection is connection:
            self._connection = None

    def _send(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if self._connection is not None:
                self._connection.send(wire.encode(event))


@contextlib.asynccontextmanager
async def direct_line(data: Path, row: AgentRow, within: float = _WITHIN) -> AsyncGenerator[DirectLine]:
    """A line to this agent, which listens to no window. `data`: folder of the record. Raises `FleetError`: a window of
    its folder is open, it does not run, or it does not find the line in time.
    """
    try:
        spec = await asyncio.to_thread(read_spec, spec_path(data, row.id))
        where = Path(spec.runtime) if spec.runtime else hub_registry.folder()
    except (SpecError, HubRegistryError) as error:
        raise _unreachable(row, str(error)) from error
    if any(entry.answers and spec.home in (entry.cwd, entry.project) for entry in await _living(where)):
        raise elsewhere(row)
    line = DirectLine(spec)
    listener = HubListener({AGENT: line}, line.bus.drained, where=where)
    try:
        try:
            await listener.start(lambda path: HubEntry(os.getpid(), str(path), spec.home, since=time.time()))
            async with time_limit(within):
                await line.connected.wait()
        except HubRegistryError as error:
            raise _unreachable(row, error.message) from error
        except TimeoutError:
            raise _unreachable(row, f"it did not connect within {within:g} s.") from None
        await line.wait_for_question()
        yield line
    finally:
        await listener.stop()
        await line.close()


def elsewhere(row: AgentRow) -> FleetError:
    """It listens to a window, where a person sees what it asks and does."""
    hint = f"Do it there, or in its terminal: `agent attach {row.id}`."
    return FleetError("invalid", f"{row.name} ({row.id}) listens to the open window of its folder.", hint=hint)


def _unreachable(row: AgentRow, why: str) -> FleetError:
    hint = f"`agent attach {row.id}` shows its terminal."
    return FleetError("busy", f"{row.name} ({row.id}) cannot be reached: {why}", hint=hint)


async def _living(where: Path) -> list[HubEntry]:
    """The hubs in this folder that listen."""

    def look() -> list[HubEntry]:
        found: list[HubEntry] = []
        for entry in hub_registry.hubs(where):
            with contextlib.suppress(OSError):
                if hub_registry.is_live(Path(entry.socket)):
                    found.append(entry)
        return found

    return await asyncio.to_thread(look)
