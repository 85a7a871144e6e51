"""Records the usage of every model request, for turns and compactions, next to our own estimate.

Remembers what it needs about an agent between two requests; ignores agents whose own hub records them. If a row
cannot be written, it is retried with the next one. Created by the hub and by an agent in a terminal.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ContextAssembled, ModelChanged, TurnStarted, UsageReported
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.messages import Usage
from gshtui.bus.usage_data import UsageRow
from gshtui.store.engine.store_errors import StoreError

KEPT_BACK = 10_000
"""Rows that wait at most while nothing can be written."""


class _Agent(msgspec.Struct):
    """What is known about an agent since its last request. Times are from the monotonic clock."""

    since: float | None = None
    estimate: int = 0
    provider: str = ""
    model: str = ""
    asked: dict[str, float] = msgspec.field(default_factory=dict[str, float])


class UsageRecorder:
    """Subscribes on creation. `carried(agent)`: another process records this agent's usage."""

    def __init__(
        self,
        bus: Bus,
        keep: Callable[..., Awaitable[None]],
        *,
        carried: Callable[[str], bool] = lambda _: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.carried = carried
        self._store_rows = keep
        self._clock = clock
        self._agents: dict[str, _Agent] = {}
        self._waiting: deque[UsageRow] = deque(maxlen=KEPT_BACK)
        self._subscription = bus.subscribe(
            self._handle_events,
            TurnStarted,
            ContextAssembled,
            ModelChanged,
            ApprovalRequested,
            ApprovalSettled,
            UsageReported,
            ContextCut,
            name="usage",
        )

    async def settled(self) -> None:
        """Wait until everything that was reported so far is in the record. Not for a subscriber of the bus."""
        await self._subscription.drained()

    async def _handle_events(self, batch: Sequence[Event]) -> None:
        for event in batch:
            name: str = getattr(event, "agent", "")
            if not self.carried(name) and (row := self._noted(self._agents.setdefault(name, _Agent()), event)):
                self._waiting.append(row)
        if not self._waiting:
            return
        rows = tuple(self._waiting)
        try:
            await self._store_rows(*rows)
        except StoreError:
            return  # the record says itself what is wrong with it
        for _ in rows:
            self._waiting.popleft()

    def _noted(self, agent: _Agent, event: Event) -> UsageRow | None:
        now = self._clock()
        match event:
            case TurnStarted():
                agent.since = now
                agent.asked.clear()
            case ContextAssembled():
                agent.estimate = event.tokens
            case ModelChanged():
                agent.provider, agent.model = event.provider, event.model
            case ApprovalRequested():
                agent.asked[event.approval] = now
            case ApprovalSettled():
                waited = now - agent.asked.pop(event.approval, now)
                agent.since = None if agent.since is None else agent.since + waited
            case UsageReported():
                return self._row(agent, event, now)
            case ContextCut() if event.receipt.usage != Usage():
                return _of_cut(agent, event)
            case _:
                pass
        return None

    def _row(self, agent: _Agent, event: UsageReported, now: float) -> UsageRow:
        seconds = 0.0 if agent.since is None else max(0.0, now - agent.since)
        row = UsageRow(
            event.session,
            event.agent,
            event.turn,
            event.iteration,
            event.at,
            event.provider,
            event.model,
            event.usage,
            estimate=agent.estimate,
            cost=event.cost,
            seconds=seconds,
        )
        agent.since, agent.estimate = now, 0
        return row


def _of_cut(agent: _Agent, event: ContextCut) -> UsageRow:
    receipt = event.receipt
    return UsageRow(
        event.session,
        event.agent,
        receipt.turn or receipt.id,
        0,
        receipt.at or event.at,
        agent.provider,
        agent.model,
        receipt.usage,
        purpose="compact",
        cost=receipt.cost,
        seconds=0.0,  # the time is in the request that follows
    )
