"""One subscriber's bounded queue, its rule for overflow, and the merging of display-only events."""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import groupby

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import SubscriberFailed, SubscriberLagged
from gshtui.system.faults import Fault, in_one_line


def merged(events: Iterable[Event]) -> deque[Event]:
    """Merge events of the same merge key at the place of the first; keep the rest and the order."""
    out: list[Event] = []
    groups: dict[object, tuple[int, list[Event]]] = {}
    for event in events:
        key = event.merge_key()
        if key is None:
            out.append(event)
        elif (group := groups.get(key)) is None:
            groups[key] = (len(out), [event])
            out.append(event)
        else:
            group[1].append(event)
    for place, group in groups.values():
        out[place] = fold_events(group)
    return deque(out)


def joined(events: Iterable[Event]) -> list[Event]:
    """Merge neighbours of the same merge key; keep the rest and the order."""
    out: list[Event] = []
    for key, run in groupby(events, lambda event: event.merge_key()):
        same = list(run)
        out += same if key is None else [fold_events(same)]
    return out


def fold_events(events: list[Event]) -> Event:
    """Fold many events, oldest first, into one.

    Neighbours are joined in rounds, not one by one from the left, which would copy ten thousand pieces of text ten
    thousand times. So `merged_with` must be associative.
    """
    while len(events) > 1:
        pairs = [older.merged_with(newer) for older, newer in zip(events[::2], events[1::2], strict=False)]
        if len(events) % 2:
            pairs.append(events[-1])
        events = pairs
    return events[0]


Handler = Callable[[Sequence[Event]], Awaitable[None] | None]
"""Gets events in order, at least one. May be a coroutine function."""


class WhenFull(enum.Enum):
    """What happens to a subscriber that is `limit` events behind."""

    MERGE = "merge"
    """Merge events of the same `merge_key`; keep those without one. For rendering."""
    SPILL = "spill"
    """Lose nothing: the queue grows, and the hub is told once. For records."""
    DROP_OLDEST = "drop"
    """Drop the oldest, counted and reported. For subscribers that only care about the present."""


class Batch(list[Event]):
    """The events for a handler. Tracks how far it was read, so that a failure costs one event, not all of them."""

    passes = 0
    read = 0

    def __iter__(self) -> Iterator[Event]:
        self.passes += 1
        self.read = 0
        for event in super().__iter__():
            self.read += 1
            yield event
        self.read = len(self) + 1

    def after_failure(self) -> tuple[Batch, Batch]:
        """Return the events lost to the failure, and those the handler has not seen.

        A batch read once from front to back failed at the event just read. For any other handler we cannot know what
        it has done, and handling an event twice is worse than reporting it lost.
        """
        if self.passes == 1 and self.read <= len(self):
            return Batch(self[self.read - 1 : self.read]), Batch(self[self.read :])
        return self, Batch()


class Subscription:
    """A place on the bus. See `Bus.subscribe` for the arguments."""

    def __init__(
        self,
        name: str,
        handler: Handler,
        *,
        limit: int,
        when_full: WhenFull,
        report: Callable[[Event], None],
        discard: Callable[[Subscription], None],
        record: Callable[[str, BaseException, str], Fault],
    ) -> None:
        """Args:
        record: writes down what a handler raised.
        """
        if limit < 1:
            raise ValueError(f"the queue of {name!r} must hold at least one event, not {limit}")
        self.name = name
        self._handler = handler
        self._limit = limit
        self._when_full = when_full
        self._report = report
        self._discard = discard
        self._record = record
        self._queue: deque[Event] = deque()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopped = False
        self._full_at = limit
        self._lagging = False
        self._dropped = 0
        self._merged = 0
        self._task = asyncio.get_running_loop().create_task(self._serve(), name=f"bus:{name}")

    def unsubscribe(self) -> None:
        """Stop at once: queued events are not handled, and a running handler is cancelled.

        A handler may unsubscribe itself; it then runs to its end, and is not called again.
        """
        self._discard(self)
        self._stopped = True
        self._queue.clear()
        if not self._is_current():
            self._task.cancel()

    async def close(self) -> None:
        """Accept nothing new, handle the queue, then stop."""
        self._discard(self)
        await self.drained()
        self.unsubscribe()

    async def stopped(self, *, timeout: float) -> None:
        """After `unsubscribe`: wait until the handler has ended, at most `timeout` seconds."""
        if not self._is_current():
            await asyncio.wait([self._task], timeout=timeout)

    async def drained(self) -> None:
        """Wait until everything published so far has been handled. Called from the handler itself, it does not wait."""
        if not self._is_current():
            await self._idle.wait()

    @property
    def busy(self) -> bool:
        """Whether something is queued or being handled, other than by the calling handler."""
        return not self._idle.is_set() and not self._is_current()

    @property
    def behind(self) -> int:
        return len(self._queue)

    def offer(self, event: Event) -> None:
        """Queue the event. Called only by the bus; never raises."""
        if self._stopped:
            return
        queue = self._queue
        if not queue:
            self._idle.clear()
            self._wake.set()
        queue.append(event)
        # Reports never cause an overflow: reports about several full queues would trigger each other forever.
        if len(queue) > self._full_at and type(event) is not SubscriberLagged:
            self._make_room()

    def _make_room(self) -> None:
        if self._when_full is WhenFull.MERGE:
            self._merge()
        elif self._when_full is WhenFull.DROP_OLDEST:
            while len(self._queue) > self._limit:
                self._queue.popleft()
                self._dropped += 1
        else:
            self._full_at = len(self._queue) * 2
        if not self._lagging:
            self._lagging = True
            self._report_lag()

    def _merge(self) -> None:
        before = len(self._queue)
        try:
            self._queue = merged(self._queue)
        except Exception as error:  # the event's own merge rule is at fault; its subscriber still gets all the events
            self._report_failure(error, type(self._queue[-1]).__name__, 0)
        self._merged += before - len(self._queue)
        # Unmergeable events stay. Try again once there are half as many more, so that trying stays cheap.
        self._full_at = max(self._limit, len(self._queue) * 3 // 2 + 1)

    async def _serve(self) -> None:
        try:
            while not self._stopped:
                await self._wake.wait()
                self._wake.clear()
                while self._queue:
                    batch, self._queue = Batch(self._queue), deque[Event]()
                    await self._handle(batch)
                    if self._queue:
                        await asyncio.sleep(0)  # let others run, even if a handler feeds its own queue
                    else:
                        self._caught_up()
                self._idle.set()
        finally:
            self._idle.set()

    def _caught_up(self) -> None:
        self._full_at = self._limit
        if self._lagging:
            self._lagging = False
            if self._dropped or self._merged:
                self._report_lag()

    async def _handle(self, batch: Batch) -> None:
        """Call the handler until the whole batch is handled or known to be lost."""
        repeated: dict[tuple[str, str], int] = {}
        while batch and not self._stopped:
            try:
                result = self._handler(batch)
                if result is not None:
                    await result
                break
            except asyncio.CancelledError as error:
                if (task := asyncio.current_task()) is None or task.cancelling():
                    raise
                failure: BaseException = error  # something that the handler awaited was cancelled, not the handler
            except Exception as error:
                failure = error
            lost, batch = batch.after_failure()
            about = [event for event in lost if type(event) is not SubscriberFailed]
            if not about:  # do not keep reporting to one that fails on the report of its own failure
                self._record(self.name, failure, "")
                continue
            key = (type(about[0]).__name__, in_one_line(failure))
            if key in repeated:
                repeated[key] += len(about)
            else:
                repeated[key] = 0
                self._report_failure(failure, key[0], len(about))
        for (event, why), lost_later in repeated.items():
            if lost_later:
                self._report(SubscriberFailed(subscriber=self.name, event=event, why=why, lost=lost_later))

    def _report_failure(self, error: BaseException, event: str, lost: int) -> None:
        fault = self._record(self.name, error, f"while it handled {event}")
        self._report(
            SubscriberFailed(
                subscriber=self.name, event=event, why=fault.why, lost=lost, file=fault.file, count=fault.count
            )
        )

    def _report_lag(self) -> None:
        dropped, self._dropped = self._dropped, 0
        merged_, self._merged = self._merged, 0
        self._report(SubscriberLagged(subscriber=self.name, dropped=dropped, merged=merged_))

    def _is_current(self) -> bool:
        """Whether the subscription's own handler is calling."""
        try:
            return asyncio.current_task() is self._task
        except RuntimeError:  # no loop runs any more
            return False
