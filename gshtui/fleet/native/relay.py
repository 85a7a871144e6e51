"""The hub's side of native agents in terminals: publishes their events, and sends them a person's intents.

It trusts nothing: an agent can speak only for itself, in its own conversation, under ids that the hub made. It cannot
answer approval questions, and agents that it wants to start are approved here. An agent is linked to one hub of a
process; what it asks is asked by each of them where a person looks at its folder, and answered and directed by these
alone. Started and stopped by the hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from gshtui.agents.telemetry import Journal
from gshtui.bus.agent_data import SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    InterruptRequested,
    ModelChangeRequested,
    ProgramOptionRequested,
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
    QuestionAnswered,
    QueueReleaseRequested,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled, ModeChangeRequested
from gshtui.bus.events.context_events import CutRequested, SummaryAnswered
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnFailed, AgentSpawnRequested
from gshtui.fleet.native.remote_agent import RemoteAgent
from gshtui.fleet.native.spec import SPAWN_AGENT, Spec, SpecError, read_spec, spec_path
from gshtui.fleet.native.unreached_prompts import UnreachedPrompts
from gshtui.guard.approval.gate import Call, Gate
from gshtui.shell.event_table import AGENT, FACE
from gshtui.shell.hub_listener import HubConnection, HubListener
from gshtui.shell.hub_registry import HubEntry
from gshtui.shell.line_stream import BadLine, number_of
from gshtui.system.ids import new_id
from gshtui.system.json_types import is_object
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

_TO_AGENTS = (
    PromptSubmitted,
    PromptEditRequested,
    QueueReleaseRequested,
    InterruptRequested,
    ModelChangeRequested,
    CutRequested,
    SummaryAnswered,
    ModeChangeRequested,
    QuestionAnswered,
    ProgramOptionRequested,
)
_PACE_WITHIN = 1.0
"""Most seconds to wait for the bus to catch up during a flood of events."""
_PACE_EVERY = 500
"""Events after which it waits."""


class _Asked(NamedTuple):
    remote: RemoteAgent
    id: str
    """The agent's own id of the question."""
    request: ApprovalRequested
    """As it is asked here."""


class RelayCircle:
    """The relays of one process, and the questions that their agents ask, by the ids that they got here."""

    def __init__(self) -> None:
        self.relays: list[Relay] = []
        self.asked: dict[str, _Asked] = {}


class Relay:
    """The agents in terminals that this hub hears. Also the host of their connections."""

    def __init__(self, bus: Bus, gate: Gate, data: Path, circle: RelayCircle | None = None) -> None:
        """
        Args:
            data: folder of the record, below which the agents' specs are.
            circle: of the other relays of this process; `None`: there are none yet.
        """
        self._bus = bus
        self._modes = gate.modes
        self._data = data
        self._remotes: dict[str, RemoteAgent] = {}
        self.circle = circle or RelayCircle()
        self._folders: tuple[str, ...] = ()
        """Those of whose agents a person here answers the questions."""
        self._since_pace = 0
        self.unreached: UnreachedPrompts | None = None
        """Keeps the prompts whose agents are not connected; `None`: there is no record."""
        self.name_of: Callable[[str], str] = lambda _: ""
        """The agent's current name on the roster, if there is one; a person may have changed it."""
        self.sessions_here: Callable[[], set[str]] = set
        """The conversations of the agents of this process."""
        self._spawn_requests = SpawnRequests(bus, gate, self._send)
        self.listener = HubListener({AGENT: self, FACE: _FaceHost(bus)}, self._pace)
        self._subscription = bus.subscribe(
            self._listen, *_TO_AGENTS, ApprovalAnswered, AgentSpawned, AgentSpawnFailed, AgentEnded, name="relay"
        )

    @property
    def socket(self) -> str:
        """The socket to which agents report; empty while nothing listens."""
        return str(self.listener.path) if self.listener.listening else ""

    async def start(self, *, cwd: Path, project: Path, answers: bool) -> None:
        """Listen. `answers`: a person is here to answer. Raises `HubRegistryError`."""
        await self.listener.start(
            lambda path: HubEntry(os.getpid(), str(path), str(cwd), str(project), answers, time.time())
        )
        self._folders = (str(cwd), str(project)) if answers else ()
        self.circle.relays.append(self)
        for asked in self.circle.asked.values():
            if self._asks_for(asked.remote):
                self._bus.publish(asked.request)

    async def stop(self) -> None:
        """Disconnect; the agents continue, and look for another hub."""
        if self in self.circle.relays:
            self.circle.relays.remove(self)
        with contextlib.suppress(TimeoutError):
            async with time_limit(_PACE_WITHIN):
                await self._subscription.close()  # what was sent before reaches them, too
        self._subscription.unsubscribe()
        await self._spawn_requests.close()
        await self.listener.stop()

    def carries(self, agent: str) -> bool:
        """Whether this agent's events come from its own hub, which journals them."""
        return agent in self._remotes or any(agent in relay._remotes for relay in self.circle.relays)

    def connected(self, agent: str) -> bool:
        """Whether the agent's process is linked to this hub now."""
        return (remote := self._remotes.get(agent)) is not None and remote.connection is not None

    # Called by the listener

    async def secret(self, connection: HubConnection) -> str:
        """The secret in the agent's spec."""
        try:
            spec = await asyncio.to_thread(read_spec, spec_path(self._data, connection.name))
        except SpecError:
            return ""
        connection.hello["spec"] = spec
        return spec.token

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Accept the identified agent; only its newest connection counts."""
        spec: Spec = connection.hello["spec"]
        remote = self._remotes.setdefault(spec.agent, RemoteAgent(spec.agent))
        remote.spec = spec
        self._modes.note(spec.agent, spec.mode)
        if remote.connection is not None:
            self._lost(remote)
        heard = connection.hello.get("heard")
        before = heard.get(self.listener.id, 0) if is_object(heard) else 0
        return {"have": remote.welcome(connection, str(connection.hello.get("run", "")), number_of({"seq": before}))}

    def ready(self, connection: HubConnection) -> None:
        """Send the agent everything that waits for it."""
        if (remote := self._remote_of(connection)) is not None:
            remote.flush()

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """Handle one event of an agent."""
        if (remote := self._remote_of(connection)) is None or not remote.is_new(number):
            return
        event = remote.checked(event, self._others(remote))
        if self.unreached is not None and isinstance(event, PromptQueued | PromptWithdrawn | TurnStarted):
            self.unreached.reached(event.prompt)
        match event:
            case AgentSpawnRequested():
                self._spawn_requests.add_request(remote, event)
            case InterruptRequested():
                self._spawn_requests.interrupt(remote, event)
            case ApprovalRequested():
                self._ask(remote, event)
            case ApprovalSettled():
                self._settled(remote, event)
            case AgentAdded():
                name = self.name_of(remote.agent) or event.name
                self._bus.publish(msgspec.structs.replace(event, name=name))
            case _:
                self._bus.publish(event)
        self._since_pace += 1

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """No agent makes requests."""

    def acked(self, connection: HubConnection, number: int) -> None:
        """The agent has received everything up to this number."""
        if (remote := self._remote_of(connection)) is not None:
            remote.outbox.ack(number)

    def batch_done(self, connection: HubConnection) -> None:
        """Acknowledge the events handled so far."""
        if (remote := self._remote_of(connection)) is not None and remote.have != remote.told:
            remote.told = remote.have
            connection.send_fields(ack=remote.have)

    def disconnected(self, connection: HubConnection) -> None:
        """The link broke, or the agent has ended."""
        if (remote := self._remote_of(connection)) is not None:
            self._lost(remote)

    # Between bus and agents

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ApprovalAnswered):
                asked = self.circle.asked.get(event.approval)
                if asked is not None and self._may_answer(asked.remote):
                    asked.remote.send(msgspec.structs.replace(event, approval=asked.id))
            elif isinstance(event, AgentSpawned | AgentSpawnFailed | AgentEnded):
                self._spawn_requests.handle_news(event)
            elif (remote := self._addressed(event)) is not None:
                self._keep_unreached(remote, event)
                remote.send(event)

    def _keep_unreached(self, remote: RemoteAgent, event: Event) -> None:
        if self.unreached is None:
            return
        if isinstance(event, PromptSubmitted) and remote.connection is None:
            self.unreached.add(event)
        elif isinstance(event, PromptEditRequested):
            self.unreached.edit(event)

    def _addressed(self, event: Event) -> RemoteAgent | None:
        """The agent in a terminal that an intent addresses; a prompt may arrive before its agent."""
        agent: str = getattr(event, "agent", "")
        if agent not in self._remotes and isinstance(event, PromptSubmitted):
            with contextlib.suppress(SpecError):
                if spec_path(self._data, agent).exists():
                    self._remotes[agent] = RemoteAgent(agent)
        if not isinstance(event, PromptSubmitted) and not self.connected(agent):  # a prompt waits for it as mail
            linked = (relay._remotes[agent] for relay in self.circle.relays if relay.connected(agent))
            return next(filter(self._asks_for, linked), self._remotes.get(agent))
        return self._remotes.get(agent)

    def _send(self, remote: RemoteAgent, event: Event) -> None:
        remote.send(event)

    def _ask(self, remote: RemoteAgent, event: ApprovalRequested) -> None:
        """Publish a question under an id of ours, so that no agent can alter another one's question."""
        if self._known(remote, event.approval):
            return  # it is already shown
        ours = f"{remote.agent}-{secrets.token_hex(8)}-{event.approval}"[:200]
        request = msgspec.structs.replace(event, approval=ours)
        self.circle.asked[ours] = _Asked(remote, event.approval, request)
        self._publish_to_all(remote, request)

    def _settled(self, remote: RemoteAgent, event: ApprovalSettled) -> None:
        if ours := self._known(remote, event.approval):
            del self.circle.asked[ours]
            self._publish_to_all(remote, msgspec.structs.replace(event, approval=ours))

    def _known(self, remote: RemoteAgent, id: str) -> str:
        """Our id of an agent's question; empty: it is not open here."""
        asked = self.circle.asked.items()
        return next((ours for ours, one in asked if one.remote is remote and one.id == id), "")

    def _publish_to_all(self, remote: RemoteAgent, event: ApprovalRequested | ApprovalSettled) -> None:
        """Tell each hub of this process where a person looks at the agent's folder, and this one."""
        for relay in {self, *(one for one in self.circle.relays if one._asks_for(remote))}:
            relay._bus.publish(event)

    def _asks_for(self, remote: RemoteAgent) -> bool:
        return remote.spec is not None and remote.spec.home in self._folders

    def _may_answer(self, remote: RemoteAgent) -> bool:
        """Whether the agent's questions are asked here, and a person is here to answer."""
        return self._asks_for(remote) or (bool(self._folders) and remote in self._remotes.values())

    def _lost(self, remote: RemoteAgent) -> None:
        """Withdraw its questions, which cannot be answered now; it asks again once it is back."""
        remote.connection = None
        for ours, asked in tuple(self.circle.asked.items()):
            if asked.remote is remote:
                del self.circle.asked[ours]
                self._publish_to_all(
                    remote, ApprovalSettled(approval=ours, agent=remote.agent, call="", decision="withdrawn", by="link")
                )

    def _remote_of(self, connection: HubConnection) -> RemoteAgent | None:
        remote = self._remotes.get(connection.name)
        return remote if remote is not None and remote.connection is connection else None

    def _others(self, remote: RemoteAgent) -> set[str]:
        """Conversations of other agents. Its own changes: it has one in each call, and a person gives it others."""
        terminals = {other.session for other in self._remotes.values() if other is not remote and other.session}
        return terminals | self.sessions_here()

    async def _pace(self) -> None:
        if self._since_pace >= _PACE_EVERY:
            self._since_pace = 0
            with contextlib.suppress(TimeoutError):
                async with time_limit(_PACE_WITHIN):
                    await self._bus.drained()


async def open_relay(
    bus: Bus,
    gate: Gate,
    journal: Journal,
    cwd: Path,
    project: Path,
    *,
    answers: bool,
    circle: RelayCircle,
) -> Relay:
    """A hub's relay, listening; the agents themselves journal the events that it carries. Raises `PlaceError`: the
    socket is unavailable.
    """
    relay = Relay(bus, gate, journal.folder, circle)
    await relay.start(cwd=cwd, project=project, answers=answers)
    journal.carries = relay.carries
    return relay


class _FaceHost:
    """Commands of this user with a message for an agent here. They cannot answer questions."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def secret(self, connection: HubConnection) -> str:
        """No secret is needed: it runs as this user."""
        return ""

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Accept it."""
        return {}

    def ready(self, connection: HubConnection) -> None:
        """Nothing waits for it."""

    def handle_event(self, connection: HubConnection, event: Event, number: int) -> None:
        """Publish it, with its origin."""
        if isinstance(event, PromptSubmitted):
            event = msgspec.structs.replace(event, source=f"process {connection.peer.pid}", attachments=())
        self._bus.publish(event)
        if number:
            connection.send_fields(ack=number)

    def asked(self, connection: HubConnection, fields: dict[str, Any]) -> None:
        """No agent makes requests."""

    def acked(self, connection: HubConnection, number: int) -> None:
        """Nothing was sent."""

    def batch_done(self, connection: HubConnection) -> None:
        """Each was acknowledged."""

    def disconnected(self, connection: HubConnection) -> None:
        """Nothing was kept."""


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
