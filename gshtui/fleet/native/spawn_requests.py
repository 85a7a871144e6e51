"""Requests of agents in terminals to start agents: approved here, limited to the asking agent's rights, and answered.

A request has no authority of its own: the hub's gate decides, and the spec on disk says what the asking agent may do.
Held by the relay.
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
from gshtui.fleet.native.remote_agent import RemoteAgent
from gshtui.fleet.native.spec import SPAWN_AGENT, Spec
from gshtui.guard.approval.gate import Call, Gate
from gshtui.shell.line_stream import BadLine
from gshtui.system.ids import new_id
from gshtui.system.tasks import cancel_and_wait, start_job

_MOST_WAITING = 16
"""Most requests of one agent that may wait for an answer at once."""


class SpawnRequests:
    """The pending requests, and the agents that were started for them."""

    def __init__(self, bus: Bus, gate: Gate, tell: Callable[[RemoteAgent, Event], None]) -> None:
        self._bus = bus
        self._gate = gate
        self._send = tell
        self._asking: dict[asyncio.Task[None], str] = {}
        self._requests: dict[str, tuple[RemoteAgent, str]] = {}
        """Our id of a request → the asking agent, and its own id of the request."""
        self._children: dict[str, RemoteAgent] = {}

    async def close(self) -> None:
        """Withdraw the questions that are still open."""
        await cancel_and_wait(*self._asking)

    def add_request(self, remote: RemoteAgent, event: AgentSpawnRequested) -> None:
        """Handle a request. Raises `BadLine` if there are too many."""
        if sum(agent == remote.agent for agent in self._asking.values()) >= _MOST_WAITING:
            raise BadLine(f"{_MOST_WAITING} of your requests are already waiting")
        task = start_job(self._ask(remote, event), f"the request of {remote.agent} to start an agent")
        self._asking[task] = remote.agent
        task.add_done_callback(lambda done: self._asking.pop(done, None))

    def interrupt(self, remote: RemoteAgent, event: InterruptRequested) -> None:
        """Interrupt an agent that this one started. Raises `BadLine` for any other."""
        if self._children.get(event.agent) is not remote:
            raise BadLine(f"you did not start an agent {event.agent[:80]}")
        self._bus.publish(event)

    def handle_news(self, event: AgentSpawned | AgentSpawnFailed | AgentEnded) -> None:
        """Pass news of the fleet on to the agents that they concern."""
        if isinstance(event, AgentEnded):
            if (parent := self._children.pop(event.agent, None)) is not None:
                self._send(parent, event)
            return
        asked = self._requests.pop(event.spawn, None)
        if asked is None:
            return
        remote, id = asked
        if isinstance(event, AgentSpawned):
            self._children[event.agent] = remote
        self._send(remote, msgspec.structs.replace(event, spawn=id))

    async def _ask(self, remote: RemoteAgent, event: AgentSpawnRequested) -> None:
        try:
            await self._review(remote, event)
        except Exception as error:  # the guard cannot decide: nothing is started, and the asking agent gets an error
            fault = self._bus.report(f"the request of {remote.agent} to start an agent", error, shown=True)
            why = f"Could not decide whether you may: {fault.why}."
            self._send(remote, AgentSpawnFailed(why=why, name=event.request.name, spawn=event.spawn))

    async def _review(self, remote: RemoteAgent, event: AgentSpawnRequested) -> None:
        spec = remote.spec
        assert spec is not None
        from gshtui.fleet.native.commands import spawn_assessment  # not before somebody asks

        if why := _forbidden(spec, event.request):
            self._send(remote, AgentSpawnFailed(why=why, name=event.request.name, spawn=event.spawn))
            return
        request = held_to_rights(spec, event.request)
        call = Call(remote.agent, remote.session, event.spawn, SPAWN_AGENT, {"prompt": request.prompt})
        verdict = await self._gate.review(call, spawn_assessment(request))
        if not verdict.allowed:
            self._send(remote, AgentSpawnFailed(why=verdict.reason, name=request.name, spawn=event.spawn))
            return
        ours = new_id()
        self._requests[ours] = (remote, event.spawn)
        self._bus.publish(AgentSpawnRequested(request=request, spawn=ours))


def held_to_rights(spec: Spec, request: SpawnRequest) -> SpawnRequest:
    """The request within the rights of this spec's agent; its identity and limits come from the spec."""
    host, _, folder = spec.place.partition(":")  # one that works on another machine starts others only there
    return msgspec.structs.replace(
        request,
        parent=spec.agent,
        depth=spec.depth + 1,
        host=host,
        cwd=folder or spec.cwd,
        name=request.name[:80],
        profile="",
        mode="",
    )


def _forbidden(spec: Spec, request: SpawnRequest) -> str:
    """Why it may not ask for this at all; empty if it may."""
    if not all(limit.allows(SPAWN_AGENT, reads=False) for limit in spec.limits):
        return f"{SPAWN_AGENT} is not among your tools."
    if (request.cli or request.fork) and not all(limit.allows("bash", reads=False) for limit in spec.limits):
        return "You may not run programs, and that includes starting one as an agent."
    return ""
