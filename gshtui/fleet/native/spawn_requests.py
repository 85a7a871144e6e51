"""What agents in terminals wish to start: asked about here, held to the rights of who asks, and answered to it.

The wish is a hint; the authority is the hub's own gate, and the spec on disk says what the asking agent may. Held by
the relay.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import InterruptRequested
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnFailed, AgentSpawnRequested
from gshtui.fleet.native.commands import SPAWN_AGENT, spawn_assessment
from gshtui.fleet.native.remote_agent import RemoteAgent
from gshtui.fleet.native.spec import Spec
from gshtui.guard.approval import Call, Gate
from gshtui.shell.line_stream import BadLine
from gshtui.system.ids import new_id
from gshtui.system.tasks import start_job

_MOST_WAITING = 16
"""Wishes of one agent that may wait for an answer at once."""


class SpawnRequests:
    """Wishes under way, and the agents that came of them."""

    def __init__(self, bus: Bus, gate: Gate, tell: Callable[[RemoteAgent, Event], None]) -> None:
        self._bus = bus
        self._gate = gate
        self._tell = tell
        self._asking: dict[asyncio.Task[None], str] = {}
        self._wishes: dict[str, tuple[RemoteAgent, str]] = {}
        """Our id of a wish → whose it is, and its id there."""
        self._children: dict[str, RemoteAgent] = {}

    async def close(self) -> None:
        """Questions still open are withdrawn."""
        for task in tuple(self._asking):
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    def add_request(self, remote: RemoteAgent, event: AgentSpawnRequested) -> None:
        """A wish. Raises `BadLine` when there are too many."""
        if sum(agent == remote.agent for agent in self._asking.values()) >= _MOST_WAITING:
            raise BadLine(f"{_MOST_WAITING} wishes of yours wait already")
        task = start_job(self._ask(remote, event), f"the wish of {remote.agent}")
        self._asking[task] = remote.agent
        task.add_done_callback(lambda done: self._asking.pop(done, None))

    def interrupt(self, remote: RemoteAgent, event: InterruptRequested) -> None:
        """An agent may stop what it started itself. Raises `BadLine` for any other."""
        if self._children.get(event.agent) is not remote:
            raise BadLine(f"{event.agent[:80]} is no agent that you started")
        self._bus.publish(event)

    def came(self, event: AgentSpawned | AgentSpawnFailed | AgentEnded) -> None:
        """News of the fleet: to whom they are due."""
        if isinstance(event, AgentEnded):
            if (parent := self._children.pop(event.agent, None)) is not None:
                self._tell(parent, event)
            return
        wish = self._wishes.pop(event.spawn, None)
        if wish is None:
            return
        remote, id = wish
        if isinstance(event, AgentSpawned):
            self._children[event.agent] = remote
        self._tell(remote, msgspec.structs.replace(event, spawn=id))

    async def _ask(self, remote: RemoteAgent, event: AgentSpawnRequested) -> None:
        try:
            await self._review(remote, event)
        except Exception as error:  # a guard that cannot decide: nothing is started, and who asked hears of it
            fault = self._bus.report(f"the wish of {remote.agent}", error, shown=True)
            why = f"It could not be decided whether you may: {fault.why}."
            self._tell(remote, AgentSpawnFailed(why=why, name=event.request.name, spawn=event.spawn))

    async def _review(self, remote: RemoteAgent, event: AgentSpawnRequested) -> None:
        spec = remote.spec
        assert spec is not None
        if why := _forbidden(spec, event.request):
            self._tell(remote, AgentSpawnFailed(why=why, name=event.request.name, spawn=event.spawn))
            return
        request = held_to_rights(spec, event.request)
        call = Call(remote.agent, remote.session, event.spawn, SPAWN_AGENT, {"prompt": request.prompt})
        verdict = await self._gate.review(call, spawn_assessment(request))
        if not verdict.allowed:
            self._tell(remote, AgentSpawnFailed(why=verdict.reason, name=request.name, spawn=event.spawn))
            return
        ours = new_id()
        self._wishes[ours] = (remote, event.spawn)
        self._bus.publish(AgentSpawnRequested(request=request, spawn=ours))


def held_to_rights(spec: Spec, request: SpawnRequest) -> SpawnRequest:
    """The request as the agent of this spec may make it. What it says of itself is not taken from its own words."""
    return msgspec.structs.replace(
        request, parent=spec.agent, depth=spec.depth + 1, cwd=spec.cwd, name=request.name[:80], profile=""
    )


def _forbidden(spec: Spec, request: SpawnRequest) -> str:
    """Why it may not ask for this at all; empty when it may."""
    if not all(limit.allows(SPAWN_AGENT, reads=False) for limit in spec.limits):
        return f"{SPAWN_AGENT} is not among your tools."
    if request.cli and not all(limit.allows("bash", reads=False) for limit in spec.limits):
        return "You may not run programs, so you may not start one as an agent either."
    return ""
