"""One native agent's life in the hub's process, from its spec to its outcome.

Links it to the hubs, and tells each new one what the agent is doing. What draws its pane, and gets the signals of its
terminal, is elsewhere (`headless/agents/asked_agents.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from signal import SIGINT, Signals
from typing import TYPE_CHECKING

import msgspec

from gshtui.agents.agent_snapshot import AgentSnapshot
from gshtui.bus.agent_data import OpenQuestion
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentAdded,
    AgentStatusChanged,
    InterruptRequested,
    PromptSubmitted,
    PromptWithdrawn,
    QueueReleaseRequested,
    Status,
    TurnFinished,
)
from gshtui.bus.events.fleet_events import AgentEnded, AgentSpawned, AgentSpawnFailed
from gshtui.bus.events.hub_events import FaultReported, Noticed, PartFailed
from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.bus.subscription import joined
from gshtui.fleet.native.spec import TERMINAL, Spec, spec_path
from gshtui.guard.approval.open_approvals import OpenApprovals
from gshtui.shell import hub_registry, plugin_files
from gshtui.shell.event_table import AGENT, KINDS, TO_AGENT
from gshtui.shell.hub_link import HubLink, LineOutbox, LinkIdentity
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.caller_environment import caller_environ
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, end_all

if TYPE_CHECKING:
    from gshtui.agents.prompt_inbox import PromptAgent
    from gshtui.hub.hub import Hub
    from gshtui.hub.native_agent import NativeAgent


_CUT = "its turn was cut"
_OF_OTHERS = (AgentSpawned, AgentSpawnFailed, AgentEnded)


class NativeRun:
    """Made inside a running loop."""

    def __init__(
        self, spec: Spec, connected: Callable[[bool], None], host: Hub, *, again: bool = False, cut: bool = False
    ) -> None:
        """
        Args:
            connected: told whether a window's hub is linked, whenever that changes.
            host: the hub of this process, whose record it works on.
            again: it goes on where another process has run it.
            cut: that process has ended in mid-turn.
        """
        self.bus = Bus()
        self._spec = spec
        self._connected = connected
        self._host = host
        self._goes_on = again
        self._goes_on_cut = cut
        self.was_cut = False
        """It was detached in mid-turn."""
        self._snapshot = AgentSnapshot()
        self._end: asyncio.Future[AgentOutcome | None] = asyncio.get_running_loop().create_future()
        self._last: AgentOutcome | None = None
        """How its last turn ended; `None`: nothing has, or the person interrupted it."""
        self._typed = False
        self.question: OpenQuestion | None = None
        """What its program asks now, if it is one over ACP."""
        self._early: list[Event] | None = []
        """What a hub said before the agent could listen; `None` once it does."""
        self._link = self._make_link()
        self._hub: Hub | None = None
        self._native: NativeAgent | None = None

    @property
    def working(self) -> bool:
        """Whether a turn is in progress."""
        return self._agent is not None and self._agent.working

    @property
    def approvals(self) -> OpenApprovals:
        """What it asks now."""
        return OpenApprovals() if self._hub is None else self._hub.open_approvals()

    async def turned(self) -> None:
        """Wait for the end of a turn, or of all."""
        turned = self.bus.wait_for(TurnFinished)
        try:
            await asyncio.wait((turned, self._end), return_when=asyncio.FIRST_COMPLETED)
        finally:
            turned.cancel()

    async def live(self) -> AgentOutcome | None:
        """From the first word to the last; `None`: it goes on in another process."""
        spec, bus = self._spec, self.bus
        bus.subscribe(_Relay(spec.agent, self._link, self._snapshot), name="link")
        bus.subscribe(self._watch_turns, TurnFinished, PromptWithdrawn, AgentStatusChanged, name="life")
        bus.publish(
            AgentAdded(
                agent=spec.agent,
                name=spec.name or spec.agent,
                kind="acp" if spec.request.acp else "native",
                runtime="tmux",
                session=spec.session,
                parent=spec.request.parent,
                cwd=spec.cwd,
            )
        )
        if not self._goes_on:
            bus.publish(AgentStatusChanged(agent=spec.agent, status="starting", doing="loading"))
        self._link.start()
        try:
            return await self._work()
        finally:
            await self._close()

    async def run_line(self, line: str) -> str:
        """Run a command that a person typed in the agent's pane; gives its text. Raises `CommandError`."""
        from gshtui.commands.declaration import CommandError

        if self._hub is None:
            raise CommandError("The agent is still starting; try again in a moment.")
        return (await self._hub.run(line)).text

    def typed(self, something: bool) -> None:
        """Whether the person has typed something in its pane that they have not sent."""
        self._typed = something
        if not something:
            self._end_if_done()

    def leave(self) -> None:
        """The person in its terminal wants it to end."""
        self._end_with(AgentOutcome("done", DONE))

    def end_by_signal(self, number: int) -> None:
        """Its terminal's process got this signal."""
        exit = INTERRUPTED if number == SIGINT else 128 + number
        self._end_with(AgentOutcome("failed", exit, f"ended by {Signals(number).name}"))

    def detach(self) -> None:
        """Stop here, so that another process goes on with it: it has not ended."""
        self.was_cut = self.working
        self._end_with(None)

    def _end_with(self, end: AgentOutcome | None) -> None:
        if not self._end.done():
            if self._hub is not None:
                self._hub.cease()  # nothing starts from now on
            self._end.set_result(end)

    async def _work(self) -> AgentOutcome | None:
        """Do the agent's work; everything slow is done in threads, so that the link speaks meanwhile."""
        spec, bus = self._spec, self.bus
        await asyncio.to_thread(_load)
        from gshtui.hub.command_offers import load_rooms
        from gshtui.hub.composition import build_hub
        from gshtui.hub.native_agent import NativeAgent
        from gshtui.hub.parts.native_part import native_options
        from gshtui.settings.loader import load

        if not await asyncio.to_thread(Path(spec.cwd).is_dir):
            why, hint = f"The folder {spec.cwd} no longer exists.", "Start another agent in a different folder."
            return self._give_up(PartFailed(part="folder", why=why, hint=hint))
        loaded = await asyncio.to_thread(load, Path(spec.cwd), environ=caller_environ())
        await asyncio.to_thread(load_rooms, loaded.settings.features)
        native = self._native = NativeAgent(spec, lambda: bool(self._link.hub))
        hub = self._hub = build_hub(native_options(native, loaded), bus, self._host)
        if spec.place and not spec.request.acp:
            from gshtui.hub.parts.native_part import connect_tools

            if failed := await self._connected_to(partial(connect_tools, hub, native), "tools"):
                return self._give_up(failed)
            if self._end.done():
                return self._end.result()
        await hub.start()
        if failed := next(iter(hub.failed.values()), None):
            return self._give_up(failed)
        if native.connect is not None and (failed := await self._connected_to(native.connect)):
            return self._give_up(failed)
        if native.resumed and not self.working and (why := await self._why_unfinished(hub)):
            bus.publish(AgentStatusChanged(agent=spec.agent, status="idle", doing=why))
        early, self._early = self._early or [], None
        if self._goes_on_cut and native.resumed and not early and self._last is None:
            # Who waits for its report is told.
            self._last = AgentOutcome("failed", INTERRUPTED, "Its turn was cut, as the process that ran it ended.")
            self._end_if_done()
        elif spec.request.prompt.strip() and not native.resumed and not self._end.done():
            source = f"agent {spec.request.parent}" if spec.request.parent else "person"
            bus.publish(PromptSubmitted(prompt=spec.prompt, agent=spec.agent, text=spec.request.prompt, source=source))
            bus.publish(QueueReleaseRequested(agent=spec.agent, prompt=spec.prompt))  # who starts it again wants that
        for event in early:
            bus.publish(event)
        end = await self._end
        if (agent := self._agent) is not None and agent.working:
            await agent.stop()
        if end is not None:
            self._publish_end(end)
            self._leave_notice(end)
        return end

    async def _why_unfinished(self, hub: Hub) -> str:
        """Why its last turn came to no end; empty: it did, or the person interrupted it."""
        try:
            last = await hub.last_turn(hub.session_of(self._spec.agent))
        except StoreError:
            return ""
        if isinstance(last, TurnFinished):
            return _CUT if last.stop == "interrupted" and self._goes_on_cut else last.error
        return "" if last is None else _CUT

    def _leave_notice(self, end: AgentOutcome) -> None:
        """Have the shell that started it say how it ended."""
        spec = self._spec
        if spec.notice and spec.request.background:
            name = caller_environ().get(TERMINAL) or spec.name or spec.agent
            plugin_files.leave_notice(
                Path(spec.notice), plugin_files.announce_end(name, spec.agent, end.status == "done")
            )

    async def _connected_to(self, connect: Callable[[], Awaitable[None]], part: str = "program") -> PartFailed | None:
        """Connect the agent to its program, or its tools, unless its end comes first; why that failed."""
        connecting = asyncio.ensure_future(connect())
        await asyncio.wait((connecting, self._end), return_when=asyncio.FIRST_COMPLETED)
        if not connecting.done():
            await cancel_and_wait(connecting, within=5.0)
            return None
        try:
            connecting.result()
        except ExpectedError as error:
            return PartFailed(part=part, why=error.message, hint=error.hint)
        return None

    def _give_up(self, failed: PartFailed) -> AgentOutcome:
        end = outcome_of_failure(failed)
        self.bus.publish(Noticed(level="error", text=failed.why, hint=failed.hint, about=self._spec.agent))
        self._publish_end(end)
        return end

    @property
    def _agent(self) -> PromptAgent | None:
        return self._native.agent if self._native is not None else None

    def _make_link(self) -> HubLink:
        spec = self._spec
        spill = spec_path(Path(spec.data), spec.agent).with_suffix(".waiting")
        return HubLink(
            LinkIdentity(AGENT, spec.agent, spec.token),
            LineOutbox(spill),
            self._hubs,
            self.take_event,
            takes=TO_AGENT,
            greet=self._snapshot.undelivered_events,
            on_change=self._connected,
        )

    def take_event(self, event: Event) -> None:
        """What a hub or the pane says: intents for it, answers to its questions, news of agents that it started.

        What comes before the agent listens is kept for it.
        """
        if not isinstance(event, _OF_OTHERS) and getattr(event, "agent", self._spec.agent) != self._spec.agent:
            return
        if self._early is None:
            self.bus.publish(event)
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

    def _watch_turns(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if getattr(event, "agent", "") != self._spec.agent:
                continue
            if isinstance(event, TurnFinished):
                self._last = outcome_of(event) if event.stop != "interrupted" else None
            elif isinstance(event, PromptWithdrawn) and event.why:
                self._last = AgentOutcome("failed", FAILED, event.why)
            elif isinstance(event, AgentStatusChanged):
                self.question = event.question
                if event.status in ("idle", "failed"):
                    self._end_if_done()

    def _end_if_done(self) -> None:
        """An agent that was started for one task ends when it is done, unless somebody goes on with it."""
        request, last = self._spec.request, self._last
        for_one_task = request.background or bool(request.parent)
        if not for_one_task or last is None or self._end.done():
            return
        agent = self._agent
        if agent is None or agent.working or agent.waiting or self._typed:
            return
        self._end.set_result(last)

    def _publish_end(self, end: AgentOutcome) -> None:
        self.bus.publish(AgentStatusChanged(agent=self._spec.agent, status=end.status, doing=end.why[:500]))

    async def _close(self) -> None:
        async def drained() -> None:
            with contextlib.suppress(TimeoutError):
                async with time_limit(5.0):
                    await self.bus.drained()

        self._link.take_no_more()
        hub = [self._hub.stop] if self._hub is not None else []
        await end_all("the end of the agent", *hub, drained, self._link.stop, partial(self.bus.close, timeout=2.0))


class _Relay:
    """Hands the agent's own events to the link, and remembers what a new hub must know."""

    def __init__(self, agent: str, link: HubLink, snapshot: AgentSnapshot) -> None:
        self._agent = agent
        self._link = link
        self._snapshot = snapshot
        self._types = KINDS[AGENT].publishes

    def __call__(self, batch: Sequence[Event]) -> None:
        for event in joined(event for event in batch if isinstance(event, self._types) and self._is_relayed(event)):
            self._snapshot.note(self._link.publish(event), event)

    def _is_relayed(self, event: Event) -> bool:
        if isinstance(event, InterruptRequested):
            return event.agent != self._agent  # of an agent that it started itself
        if isinstance(event, FaultReported | ToolServerChanged):
            return True  # they are about this process
        if isinstance(event, Noticed):
            return event.about in ("", self._agent)
        return getattr(event, "agent", self._agent) == self._agent


def _load() -> None:
    """Import what the agent needs, which takes long."""
    for name in ("gshtui.hub.composition", "gshtui.hub.parts.native_part"):
        import_module(name)


DONE, FAILED, UNREACHABLE, INTERRUPTED = 0, 1, 3, 130
_UNREACHABLE = frozenset(
    {"network", "timeout", "server", "overloaded", "rate_limit", "truncated", "garbage", "missing"}
)
"""Kinds of failure that lie in reaching the provider, not in the request."""
_SHORT = {
    "refusal": "the model refused",
    "context": "the conversation is longer than the model's window",
    "max_tokens": "the answer reached its maximum length",
    "max_iterations": "it was stopped before it finished",
}


class AgentOutcome(msgspec.Struct, frozen=True):
    """How it ended: `why` is empty for finished work."""

    status: Status
    exit: int
    why: str = ""


def outcome_of(turn: TurnFinished) -> AgentOutcome:
    """The outcome of the whole, from the last turn."""
    if turn.stop == "end":
        return AgentOutcome("done", DONE)
    if turn.stop == "error":
        unreachable = turn.error_kind in _UNREACHABLE
        return AgentOutcome("failed", UNREACHABLE if unreachable else FAILED, f"{turn.error} {turn.hint}".strip())
    why = turn.error or _SHORT.get(turn.stop, turn.stop)
    return AgentOutcome("failed", FAILED, f"{why}. {turn.hint}".strip() if turn.hint else why)


def outcome_of_failure(failed: PartFailed) -> AgentOutcome:
    """The outcome if a part of the agent's hub did not start."""
    exit = UNREACHABLE if failed.part == "providers" else FAILED
    return AgentOutcome("failed", exit, f"{failed.why} {failed.hint}".strip())
