"""The bus: every event goes over it, in one order, to every subscriber.

`publish` is synchronous and never blocks: it numbers the event and puts it into each subscriber's own bounded queue.
Each subscriber is served by its own task, so a slow or failing one never holds up another. What a full queue means is
the subscription's own rule, and nothing is lost without an event that says so.
"""

from __future__ import annotations

import asyncio
import enum
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.hub import SubscriberFailed, SubscriberLagged

E = TypeVar("E", bound=Event)
Handler = Callable[[Sequence[Event]], Awaitable[None] | None]
"""Takes events in order, at least one. May be a coroutine function."""


class WhenFull(enum.Enum):
    """What happens to a subscriber that is `limit` events behind."""

    MERGE = "merge"
    """Events of the same `merge_key` become one; those that have no key are kept. For rendering."""
    SPILL = "spill"
    """Nothing is given up: the queue grows, and the hub is told once. For records."""
    DROP_OLDEST = "drop"
    """The oldest go, counted and reported. For those who only want to know what is going on now."""


class Subscription:
    """One subscriber: its queue, its rule, its task. Made by `Bus.subscribe`."""

    def __init__(
        self, bus: Bus, name: str, handler: Handler, types: tuple[type[Event], ...], limit: int, when_full: WhenFull
    ) -> None:
        self.name = name
        self._bus = bus
        self._handler = handler
        self._types = types
        self._limit = limit
        self._when_full = when_full
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._lagging = False
        self._full_at = limit
        self._task = asyncio.get_running_loop().create_task(self._serve(), name=f"bus:{name}")

    def unsubscribe(self) -> None:
        """Stop at once; what is still queued is not handled."""
        self._bus.discard(self)
        self._task.cancel()

    async def close(self) -> None:
        """Handle what is queued, then stop."""
        self._bus.discard(self)
        await self.drained()
        self._task.cancel()

    async def drained(self) -> None:
        """Wait until everything published so far has been handled."""
        await self._idle.wait()

    @property
    def behind(self) -> int:
        """Events that wait."""
        return len(self._queue)

    def offer(self, event: Event) -> None:
        """Take an event into the queue; called by the bus alone."""
        if self._types and not isinstance(event, self._types):
            return
        queue = self._queue
        if not queue:
            self._idle.clear()
            self._wake.set()
        queue.append(event)
        if len(queue) > self._full_at:
            self._make_room()

    def _make_room(self) -> None:
        before = len(self._queue)
        if self._when_full is WhenFull.MERGE:
            self._queue = merged(self._queue)
            # What cannot be merged is kept; look again only after another `limit` has come in.
            self._full_at = max(self._limit, len(self._queue) + self._limit // 2)
        elif self._when_full is WhenFull.DROP_OLDEST:
            while len(self._queue) > self._limit:
                self._queue.popleft()
        else:
            self._full_at = before * 2
        if not self._lagging:
            self._lagging = True
            gone = before - len(self._queue)
            dropped = gone if self._when_full is WhenFull.DROP_OLDEST else 0
            self._bus.publish(SubscriberLagged(subscriber=self.name, dropped=dropped, merged=gone - dropped))

    async def _serve(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._queue:
                batch, self._queue = self._queue, deque[Event]()
                await self._handle(batch)
                if not self._queue:
                    self._lagging = False
                    self._full_at = self._limit
            self._idle.set()

    async def _handle(self, batch: Sequence[Event]) -> None:
        try:
            result = self._handler(batch)
            if result is not None:
                await result
        except Exception as error:
            # A subscriber that cannot handle the report of its own failure must not be told about it for ever.
            if not all(isinstance(event, SubscriberFailed) for event in batch):
                why = f"{type(error).__name__}: {error}"
                self._bus.publish(SubscriberFailed(subscriber=self.name, event=type(batch[0]).__name__, why=why))


def merged(events: Sequence[Event]) -> deque[Event]:
    """Events with those of the same merge key made one, at the place of the first; the rest and all order kept."""
    out: list[Event] = []
    place: dict[object, int] = {}
    for event in events:
        key = event.merge_key()
        if key is None:
            out.append(event)
        elif (at := place.get(key)) is None:
            place[key] = len(out)
            out.append(event)
        else:
            out[at] = out[at].merged_with(event)
    return deque(out)


class Bus:
    """Publish and subscribe, within one event loop. See the module's text for the guarantees."""

    def __init__(self) -> None:
        self._subscriptions: list[Subscription] = []
        self._loop = asyncio.get_running_loop()

    def publish(self, event: Event) -> None:
        """Hand the event to every subscriber's queue, in the order of the calls. Never blocks, never raises."""
        if not event.at:
            event = msgspec.structs.replace(event, at=time.time())
        for subscription in tuple(self._subscriptions):
            subscription.offer(event)

    def publish_from_thread(self, event: Event) -> None:
        """`publish` for a thread that is not the loop's."""
        self._loop.call_soon_threadsafe(self.publish, event)

    def subscribe(
        self,
        handler: Handler,
        *types: type[Event],
        name: str,
        limit: int = 10_000,
        when_full: WhenFull = WhenFull.SPILL,
    ) -> Subscription:
        """Have `handler` called with every event of these types (of all types, when none is named).

        Args:
            handler: takes a batch of events in order; may be a coroutine function. An exception is reported as
                `SubscriberFailed` and costs that batch, nothing else.
            types: event classes; a base class takes its subclasses too.
            name: who this is, for reports.
            limit: events that may wait before `when_full` applies.
            when_full: see `WhenFull`.
        """
        subscription = Subscription(self, name, handler, types, limit, when_full)
        self._subscriptions.append(subscription)
        return subscription

    def discard(self, subscription: Subscription) -> None:
        """Stop offering events to it; `Subscription.unsubscribe` and `close` call this."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    async def wait_for(
        self, kind: type[E], matches: Callable[[E], bool] = lambda _: True, *, timeout: float | None = None
    ) -> E:
        """The next event of this type that matches.

        Raises:
            TimeoutError: none came within `timeout` seconds.
        """
        found: asyncio.Future[E] = asyncio.get_running_loop().create_future()

        def look(batch: Sequence[Event]) -> None:
            for event in batch:
                if isinstance(event, kind) and not found.done() and matches(event):
                    found.set_result(event)

        subscription = self.subscribe(look, kind, name=f"wait for {kind.__name__}")
        try:
            async with asyncio.timeout(timeout):
                return await found
        finally:
            subscription.unsubscribe()

    async def drained(self) -> None:
        """Wait until every subscriber has handled what was published so far."""
        for subscription in tuple(self._subscriptions):
            await subscription.drained()

    async def close(self) -> None:
        """Let every subscriber finish what is queued, then stop them all."""
        await self.drained()
        for subscription in tuple(self._subscriptions):
            subscription.unsubscribe()
