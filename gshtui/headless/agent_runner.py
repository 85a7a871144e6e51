"""`gsh-tui agent run --spec FILE`: one native agent in a process of its own, usually inside its own terminal.
Links it to the hubs, tells each new one what the agent is doing, and turns its end into an exit status.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus import wire
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    InterruptRequested,
    IterationStarted,
    MessageAppended,
    ModelChanged,
    PromptSubmitted,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnFailed
from gshtui.bus.events.hub_events import FaultReported, Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.loop_faults import LoopFaults
from gshtui.bus.subscription import merged
from gshtui.fleet.native.outcome import DONE, FAILED, INTERRUPTED, AgentOutcome, AgentProcessError, outcome_of
from gshtui.fleet.native.spec import TERMINAL, Spec, SpecError, read_spec, spec_path
from gshtui.shell import hub_registry, plugin_files
from gshtui.shell.event_table import AGENT, KINDS, TO_AGENT
from gshtui.shell.hub_link import HubLink, LineOutbox, LinkIdentity
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.headless.agent_pane.agent_pane import AgentPane
    from gshtui.hub.agent_process import AgentProcess

_STATES = (AgentAdded, SessionOpened, ModelChanged)


class AgentSnapshot:
    """The agent's state. `note` every event with its number in the outbox."""

    def __init__(self) -> None:
        self._states: dict[type[Event], Event] = {}
        self._status: AgentStatusChanged | None = None
        self._turn: list[tuple[int, Event]] = []
        """Of the turn in progress: its start, its iteration, the calls that run, the words so far."""
        self._asked: dict[str, tuple[int, ApprovalRequested]] = {}

    def note(self, number: int, event: Event) -> None:
        """Take one event of the agent."""
        match event:
            case AgentAdded() | SessionOpened() | ModelChanged():
                self._states[type(event)] = event
            case AgentStatusChanged():
                self._status = event
            case TurnStarted():
                self._turn = [(number, event)]
            case IterationStarted():
                self._turn = [*((n, e) for n, e in self._turn if isinstance(e, TurnStarted)), (number, event)]
            case MessageAppended():
                # The message is in the record now, whose reader shows it; what led to it is not told again.
                self._turn = [(n, e) for n, e in self._turn if not isinstance(e, TextDelta | ThinkingDelta)]
            case ToolStarted() | TextDelta() | ThinkingDelta():
                self._turn.append((number, event))
            case ToolFinished():
                done = event.call
                self._turn = [(n, e) for n, e in self._turn if not (isinstance(e, ToolStarted) and e.call == done)]
            case TurnFinished():
                self._turn = []
            case ApprovalRequested():
                self._asked[event.approval] = (number, event)
            case ApprovalSettled():
                self._asked.pop(event.approval, None)
            case _:
                pass

    def undelivered_events(self, delivered: int) -> Iterator[Event]:
        """What to tell a hub, in order.

        Args:
            delivered: the last number that an earlier hub has; what comes behind it is delivered anyway. -1: this hub
                was connected before, so only what it forgot when the link broke is told.
        """
        for kind in _STATES:
            if (state := self._states.get(kind)) is not None:
                yield msgspec.structs.replace(state, resumed=True) if isinstance(state, SessionOpened) else state
        if delivered >= 0:
            yield from merged(event for number, event in self._turn if number <= delivered)
        for number, request in self._asked.values():
            if delivered < 0 or number <= delivered:
                yield request
        if self._status is not None:
            yield self._status


_OF_OTHERS = (AgentSpawned, AgentSpawnFailed, AgentEnded)
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run_agent(spec_file: Path, *, as_json: bool = False) -> int:
    """Be the agent of this spec until its work is done; gives the exit status.

    `as_json`: its events go to standard output, one a line, in place of the pane.
    """
    try:
        spec = read_spec(spec_file)
    except SpecError as error:
        sys.stderr.write(f"gsh-tui: {error.message} {error.hint}".rstrip() + "\n")
        return FAILED
    return asyncio.run(AgentRunner(spec, as_json=as_json).live())


class AgentRunner:
    """One agent's life. Made inside a running loop or for one."""

    def __init__(self, spec: Spec, *, as_json: bool = False) -> None:
        self._spec = spec
        self._as_json = as_json
        self._snapshot = AgentSnapshot()
        self._end: asyncio.Future[AgentOutcome] | None = None
        self._last: TurnFinished | None = None
        self._early: list[Event] | None = []
        """What a hub said before the agent could listen; `None` once it does."""
        self._studio: AgentProcess | None = None
        self._pane: AgentPane | None = None

    async def live(self) -> int:
        """From the first word to the last; gives the exit status."""
        spec = self._spec
        loop = asyncio.get_running_loop()
        self._end = loop.create_future()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._told, number)
        bus = Bus()
        faults = LoopFaults(bus)
        faults.install()
        link = self._link(bus)
        bus.subscribe(_Relay(spec.agent, link, self._snapshot), name="link")
        if self._as_json:
            bus.subscribe(_print, name="standard output")
        bus.subscribe(self._listen, TurnFinished, AgentStatusChanged, name="life")
        bus.publish(
            AgentAdded(
                agent=spec.agent, name=spec.name or spec.agent, runtime="tmux", session=spec.session,
                parent=spec.request.parent, cwd=spec.cwd,
            )
        )  # fmt: skip
        bus.publish(AgentStatusChanged(agent=spec.agent, status="starting", doing="loading"))
        link.start()
        try:
            end = await self._work(bus, link)
        finally:
            await self._close(bus, link)
            faults.remove()
        return end.exit

    async def _work(self, bus: Bus, link: HubLink) -> AgentOutcome:
        """Everything slow comes here, in threads, so that the link speaks meanwhile."""
        assert self._end is not None
        spec = self._spec
        studio_class, pane_class = await asyncio.to_thread(_load)
        studio = self._studio = studio_class(spec, bus, lambda: bool(link.hub))
        if not self._as_json:
            self._pane = pane_class(spec, bus, studio, leave=self._leave, rested=self._rested)
            self._pane.open()
        try:
            await studio.open()
        except AgentProcessError as error:
            end = AgentOutcome("failed", error.exit, f"{error.message} {error.hint}".strip())
            bus.publish(Noticed(level="error", text=error.message, hint=error.hint, about=spec.agent))
            self._say_end(bus, end)
            return end
        early, self._early = self._early or [], None
        if spec.request.prompt.strip() and not studio.resumed:
            source = f"agent {spec.request.parent}" if spec.request.parent else "person"
            bus.publish(PromptSubmitted(prompt=spec.prompt, agent=spec.agent, text=spec.request.prompt, source=source))
        for event in early:
            bus.publish(event)
        end = await self._end
        if studio.agent is not None and studio.agent.working:
            await studio.agent.stop()
        self._say_end(bus, end)
        if spec.notice and spec.request.background:
            name = os.environ.get(TERMINAL) or spec.name or spec.agent
            plugin_files.leave_notice(
                Path(spec.notice), plugin_files.announce_end(name, spec.agent, end.status == "done")
            )
        return end

    def _link(self, bus: Bus) -> HubLink:
        spec = self._spec
        spill = spec_path(Path(spec.data), spec.agent).with_suffix(".waiting")
        return HubLink(
            LinkIdentity(AGENT, spec.agent, spec.token),
            LineOutbox(spill),
            self._hubs,
            lambda event: self._take(bus, event),
            takes=TO_AGENT,
            greet=self._snapshot.undelivered_events,
            on_change=lambda connected: self._pane.connected(connected) if self._pane else None,
        )

    def _take(self, bus: Bus, event: Event) -> None:
        """What a hub says: intents for this agent, answers to its questions, news of agents that it started."""
        if not isinstance(event, _OF_OTHERS) and getattr(event, "agent", self._spec.agent) != self._spec.agent:
            return
        if self._early is None:
            bus.publish(event)
        elif isinstance(event, InterruptRequested):
            self._early = [early for early in self._early if not isinstance(early, PromptSubmitted)]
        else:
            self._early.append(event)

    def _hubs(self) -> Sequence[Path]:
        """Sockets to try: the hub that started it, then those of its folder where a person can answer."""
        spec = self._spec
        found = [Path(spec.hub)] if spec.hub and Path(spec.hub).exists() else []
        where = Path(spec.runtime) if spec.runtime else Path(spec.hub).parent if spec.hub else None
        if where is None:
            with contextlib.suppress(hub_registry.HubRegistryError):
                where = hub_registry.folder()
        for entry in hub_registry.hubs(where) if where else ():
            if entry.answers and spec.home in (entry.cwd, entry.project) and Path(entry.socket) not in found:
                found.append(Path(entry.socket))
        return found

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if getattr(event, "agent", "") != self._spec.agent:
                continue
            if isinstance(event, TurnFinished):
                self._last = event
            elif isinstance(event, AgentStatusChanged) and event.status in ("idle", "failed"):
                self._rested()

    def _rested(self) -> None:
        """An agent that was started for one task ends when it is done, unless somebody goes on with it."""
        request, last = self._spec.request, self._last
        for_one_task = request.background or bool(request.parent)
        if not for_one_task or last is None or last.stop == "interrupted" or self._end is None or self._end.done():
            return
        agent = self._studio.agent if self._studio else None
        if agent is None or agent.working or agent.waiting or (self._pane is not None and self._pane.typed):
            return
        self._end.set_result(outcome_of(last))

    def _leave(self) -> None:
        """The person in its terminal wants it to end."""
        if self._end is not None and not self._end.done():
            self._end.set_result(AgentOutcome("done", DONE))

    def _told(self, number: int) -> None:
        if self._end is None or self._end.done():
            os._exit(128 + number)  # asked twice: it does not end by itself
        exit = INTERRUPTED if number == signal.SIGINT else 128 + number
        self._end.set_result(AgentOutcome("failed", exit, f"ended by {signal.Signals(number).name}"))

    def _say_end(self, bus: Bus, end: AgentOutcome) -> None:
        bus.publish(AgentStatusChanged(agent=self._spec.agent, status=end.status, doing=end.why[:500]))

    async def _close(self, bus: Bus, link: HubLink) -> None:
        async def drained() -> None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await bus.drained()

        studio = [self._studio.close] if self._studio is not None else []
        pane = [self._pane.close] if self._pane is not None else []
        await end_all("the end of the agent", *studio, drained, link.stop, *pane, partial(bus.close, timeout=2.0))


class _Relay:
    """Hands the agent's own events to the link, and remembers what a new hub must know."""

    def __init__(self, agent: str, link: HubLink, snapshot: AgentSnapshot) -> None:
        self._agent = agent
        self._link = link
        self._snapshot = snapshot
        self._types = KINDS[AGENT].publishes

    def __call__(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, self._types) and self._is_told(event):
                self._snapshot.note(self._link.publish(event), event)

    def _is_told(self, event: Event) -> bool:
        if isinstance(event, InterruptRequested):
            return event.agent != self._agent  # of an agent that it started itself
        if isinstance(event, FaultReported):
            return True
        if isinstance(event, Noticed):
            return event.about in ("", self._agent)
        return getattr(event, "agent", self._agent) == self._agent


def _print(batch: Sequence[Event]) -> None:
    with contextlib.suppress(OSError):  # nobody reads: the work goes on
        sys.stdout.buffer.write(b"".join(wire.encode(event) for event in batch))
        sys.stdout.buffer.flush()


def _load() -> tuple[type[AgentProcess], type[AgentPane]]:
    from gshtui.headless.agent_pane.agent_pane import AgentPane
    from gshtui.hub.agent_process import AgentProcess
    from gshtui.hub.command_offers import load_rooms

    load_rooms()
    return AgentProcess, AgentPane
