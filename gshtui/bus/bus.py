"""The bus: delivers every event to every subscriber, in one order.

`publish` is synchronous and never blocks: it puts the event into each subscriber's own bounded queue. A task of its
own serves each subscriber, so a slow or failing one never holds up another. The subscription decides what a full queue
does; no loss goes unreported.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.subscription import Handler, Subscription, WhenFull, merged
from gshtui.settings import paths
from gshtui.system.faults import Fault, FaultLog
from gshtui.system.processes.time_limit import time_limit

__all__ = ["Bus", "Handler", "Subscription", "WhenFull", "merged"]

E = TypeVar("E", bound=Event)


class Bus:
    """Publish and subscribe, within one event loop."""

    def __init__(self) -> None:
        self._subscriptions: dict[Subscription, tuple[type[Event], ...]] = {}
        self._routes: dict[type[Event], tuple[Subscription, ...]] = {}
        self._pending: deque[Event] = deque()
        self._publishing = False
        self.faults = FaultLog(paths.logs_dir)
        """Where tracebacks of isolated faults go: a subscriber's, a task's, a part's."""

    def report(self, part: str, error: BaseException, *, doing: str = "", hint: str = "", shown: bool = False) -> Fault:
        """Record an unexpected fault and announce it, the first time, the tenth, the hundredth and so on.

        Args:
            part: what failed, in a person's words.
            doing: what it was doing; may be empty.
            hint: what happens next, or what to do, in one sentence.
            shown: another event already tells the person, such as the end of a turn.
        """
        fault = self.faults.record(part, error, doing)
        if fault.message:
            self.publish(
                FaultReported(
                    part=part,
                    doing=doing,
                    why=fault.why,
                    file=fault.file,
                    count=fault.count,
                    hint=fault.hint or hint,
                    shown=shown,
                    expected=fault.expected,
                )
            )
        return fault

    def publish(self, event: Event) -> None:
        """Put the event into every subscriber's queue, in call order. Never blocks, never raises."""
        if not event.at:
            event = msgspec.structs.replace(event, at=time.time())
        if self._publishing:
            # An overflowing queue reports from inside `offer`: everyone must get the current event first.
            self._pending.append(event)
            return
        self._publishing = True
        try:
            self._hand_out(event)
            while self._pending:
                self._hand_out(self._pending.popleft())
        finally:
            self._publishing = False

    def _hand_out(self, event: Event) -> None:
        kind = type(event)
        route = self._routes.get(kind)
        if route is None:
            route = tuple(
                subscription
                for subscription, types in self._subscriptions.items()
                if not types or issubclass(kind, types)
            )
            self._routes[kind] = route
        for subscription in route:
            subscription.offer(event)

    def subscribe(
        self,
        handler: Handler,
        *types: type[Event],
        name: str,
        limit: int = 10_000,
        when_full: WhenFull = WhenFull.SPILL,
    ) -> Subscription:
        """Call `handler` with every event of these types, or of all types if none is named.

        Args:
            handler: gets a batch of events in order; may be a coroutine function. An exception is reported as
                `SubscriberFailed`. It costs the event at which it was raised if the handler reads its batch once from
                front to back (`for event in batch`), otherwise the batch.
            types: event classes; a base class includes its subclasses.
            name: the subscriber's name, for reports.
            limit: events that may wait before `when_full` applies; at least 1.
            when_full: see `WhenFull`.
        """
        subscription = Subscription(
            name,
            handler,
            limit=limit,
            when_full=when_full,
            report=self.publish,
            discard=self._discard,
            record=self.faults.record,
        )
        self._subscriptions[subscription] = types
        self._routes.clear()
        return subscription

    def _discard(self, subscription: Subscription) -> None:
        """Stop offering events to the subscription."""
        if self._subscriptions.pop(subscription, None) is not None:
            self._routes.clear()

    def wait_for(
        self, kind: type[E], matches: Callable[[E], bool] = lambda _: True, *, timeout: float | None = None
    ) -> asyncio.Future[E]:
        """The next matching event of this type that is published after this call, whenever it is awaited.

        So it is called before what brings the event about. Exceptions from `matches` are raised to who awaits it, and
        `TimeoutError` if none came within `timeout` seconds.
        """
        loop = asyncio.get_running_loop()
        found: asyncio.Future[E] = loop.create_future()

        def look(batch: Sequence[Event]) -> None:
            for event in batch:
                if found.done() or not isinstance(event, kind):
                    continue
                try:
                    if matches(event):
                        found.set_result(event)
                except Exception as error:
                    found.set_exception(error)

        def give_up() -> None:
            if not found.done():
                found.set_exception(TimeoutError(f"no {kind.__name__} within {timeout:g} s"))

        subscription = self.subscribe(look, kind, name=f"wait for {kind.__name__}")
        timer = loop.call_later(timeout, give_up) if timeout is not None else None

        def over(_: asyncio.Future[E]) -> None:
            subscription.unsubscribe()
            if timer is not None:
                timer.cancel()

        found.add_done_callback(over)
        return found

    async def drained(self) -> None:
        """Wait until every subscriber has handled what was published so far.

        A handler may call this: its own queue is not waited for. Two handlers that wait for each other never finish,
        so use a deadline there.
        """
        for subscription in tuple(self._subscriptions):
            await subscription.drained()

    async def close(self, *, timeout: float = 10.0) -> list[str]:
        """Let subscribers finish their queues and what follows from them, then stop them all. `timeout`: seconds to
        wait for that.

        Returns:
            The names of the subscribers that were cut off.
        """
        with contextlib.suppress(TimeoutError):
            async with time_limit(timeout):
                while busy := [subscription for subscription in self._subscriptions if subscription.busy]:
                    await busy[0].drained()
        everyone = tuple(self._subscriptions)
        cut_off = [subscription.name for subscription in everyone if subscription.busy]
        for subscription in everyone:
            subscription.unsubscribe()
        for subscription in everyone:
            await subscription.stopped(timeout=1.0)
        return cut_off
