"""What the fleet hears on the bus: wishes for agents, what agents say of themselves, and parents that are back.

It refuses to let a start, which takes its time, hold up what others say. Held by the fleet.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Sequence
from typing import Protocol

from gshtui.bus.event import Event
from gshtui.bus.events.agent import TurnFinished
from gshtui.bus.events.fleet import AgentSpawnRequested
from gshtui.bus.events.session import SessionOpened
from gshtui.bus.fleet import AgentRow, SpawnRequest
from gshtui.fleet import state
from gshtui.fleet.ground import Ground, over
from gshtui.fleet.ports import FleetError
from gshtui.fleet.reports import Reports
from gshtui.store.errors import StoreError
from gshtui.system.tasks import start_job


class Spawn(Protocol):
    """Starts an agent; raises `FleetError`."""

    def __call__(self, request: SpawnRequest, *, spawn: str) -> Awaitable[AgentRow]: ...


class Hearing:
    """Listens from the start; `stop` ends it."""

    def __init__(self, ground: Ground, reports: Reports, spawn: Spawn) -> None:
        self._ground = ground
        self._reports = reports
        self._spawn = spawn
        self._wishes: set[asyncio.Task[None]] = set()
        self._subscription = ground.bus.subscribe(self._listen, AgentSpawnRequested, *state.HEARD, name="fleet")

    async def stop(self) -> None:
        """Hear no more, and give up what is still being started."""
        self._subscription.unsubscribe()
        for task in tuple(self._wishes):
            task.cancel()
        await asyncio.gather(*self._wishes, return_exceptions=True)

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, AgentSpawnRequested):
                task = start_job(self._wished(event), "the start of an agent")
                self._wishes.add(task)
                task.add_done_callback(self._wishes.discard)
            elif (row := self._ground.rows.get(getattr(event, "agent", ""))) is not None:
                await self._heard(row, event)
            elif isinstance(event, SessionOpened):
                await self._parent_is_back(event)

    async def _wished(self, event: AgentSpawnRequested) -> None:
        with contextlib.suppress(FleetError):  # it was said as `AgentSpawnFailed`
            await self._spawn(event.request, spawn=event.spawn)

    async def _heard(self, row: AgentRow, event: Event) -> None:
        fields = state.changes(row, event)
        if isinstance(event, TurnFinished):
            fields["unread"] = row.unread + 1
        self._ground.rows.change_soon(row.id, fields)
        # One of ours ends when its task is done; somebody's program goes on waiting, and its answer is the report.
        if isinstance(event, TurnFinished) and row.kind == "cli":
            now = self._ground.rows.get(row.id)
            if now is not None and now.report:
                await self._reports.hand_over(now)

    async def _parent_is_back(self, event: SessionOpened) -> None:
        """Its reports are due. What was meant for a conversation that it put aside is for the new one."""
        for row in self._ground.rows.all():
            if row.parent != event.agent:
                continue
            if event.follows and row.parent_session == event.follows and not row.reported:
                with contextlib.suppress(StoreError):  # then its report waits for the old one
                    row = await self._ground.rows.change(row.id, parent_session=event.session)
            if over(row) and row.parent_session == event.session:
                await self._reports.hand_over(row)
