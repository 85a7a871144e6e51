"""The bus under random publishers and subscribers: order, loss and isolation, for every rule for a full queue.

The subscribers are slow at random points of the schedule, never for a time: they wait for a turn that the test gives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gshtui.bus.bus import Bus, Handler, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, TextDelta
from gshtui.bus.events.hub_events import Noticed, SubscriberFailed, SubscriberLagged

Step = tuple[str, int]


@dataclass
class Listener:
    """A subscriber that handles a batch only when it is let, fails on chosen events, and keeps what it handled."""

    rule: WhenFull
    limit: int
    slow: bool
    fails_on: frozenset[int]
    gate: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(0))
    got: list[Event] = field(default_factory=list)

    async def handle(self, batch: Sequence[Event]) -> None:
        if self.slow:
            await self.gate.acquire()
        for event in batch:
            if isinstance(event, Noticed) and int(event.text) in self.fails_on:
                raise ValueError(event.text)
            self.got.append(event)

    def let_go(self) -> None:
        self.slow = False
        self.gate.release()


listeners = st.lists(
    st.tuples(
        st.sampled_from(list(WhenFull)),
        st.integers(1, 12),
        st.booleans(),
        st.frozensets(st.integers(0, 60), max_size=4),
    ),
    min_size=1,
    max_size=5,
)
schedules = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.integers(0, 3)),
        st.tuples(st.just("yield"), st.integers(1, 4)),
        st.tuples(st.just("let"), st.integers(0, 4)),
    ),
    max_size=60,
)


async def play(spec: list[tuple[Any, ...]], schedule: list[Step], make: Any) -> tuple[list[Event], list[Listener], Any]:
    """Run a schedule; returns what was published, the listeners, and the reports that an unhurried reader saw."""
    bus = Bus()
    all_listeners = [Listener(*one) for one in spec]
    reports: list[Event] = []
    bus.subscribe(reports.extend, SubscriberFailed, SubscriberLagged, name="reports", limit=1_000_000)
    for at, listener in enumerate(all_listeners):
        bus.subscribe(listener.handle, name=str(at), limit=listener.limit, when_full=listener.rule)
    published: list[Event] = []
    for what, number in schedule:
        if what == "publish":
            event = make(len(published), number)
            published.append(event)
            bus.publish(event)
        elif what == "yield":
            for _ in range(number):
                await asyncio.sleep(0)
        elif number < len(all_listeners):
            all_listeners[number].gate.release()
    for listener in all_listeners:
        listener.let_go()
    assert await bus.close() == []
    return published, all_listeners, reports


def numbered(count: int, _: int) -> Event:
    return Noticed(text=str(count))


def numbers(events: list[Event]) -> list[int]:
    return [int(event.text) for event in events if isinstance(event, Noticed)]


@pytest.mark.faults
@given(listeners, schedules)
def test_order_loss_and_isolation(spec: list[tuple[Any, ...]], schedule: list[Step]) -> None:
    """Whatever the schedule: everyone sees the publishing order, and what it does not see is reported, exactly."""
    published, all_listeners, reports = asyncio.run(play(spec, schedule, numbered))
    for at, listener in enumerate(all_listeners):
        got = numbers(listener.got)
        assert got == sorted(got), "out of order, or twice"
        failed = {
            int(r.why.partition(": ")[2])
            for r in reports
            if isinstance(r, SubscriberFailed) and r.subscriber == str(at)
        }
        missing = set(range(len(published))) - set(got)
        assert failed <= missing
        assert failed <= listener.fails_on
        lagged = [r for r in reports if isinstance(r, SubscriberLagged) and r.subscriber == str(at)]
        if listener.rule is WhenFull.DROP_OLDEST:
            handled = len(listener.got) + len(failed)
            offered = len(published) + len(reports)
            assert handled + sum(r.dropped for r in lagged) == offered
        else:
            assert missing == failed, "lost something without a failure"
            assert not any(r.dropped for r in lagged)


def delta(count: int, number: int) -> Event:
    if number == 3:
        return Noticed(text=str(count))
    if number == 2:
        return AgentStatusChanged(agent="main", status="thinking", doing=str(count))
    return TextDelta(agent="main", session="s", message=f"m{number}", text=f"{count} ")


@given(listeners, schedules)
def test_merging_loses_no_text_and_keeps_the_last_state(spec: list[tuple[Any, ...]], schedule: list[Step]) -> None:
    spec = [(WhenFull.MERGE, limit, slow, frozenset()) for _, limit, slow, _ in spec]
    published, all_listeners, reports = asyncio.run(play(spec, schedule, delta))

    def text(events: list[Event], message: str) -> str:
        return "".join(e.text for e in events if isinstance(e, TextDelta) and e.message == message)

    def states(events: list[Event]) -> list[str]:
        return [e.doing for e in events if isinstance(e, AgentStatusChanged)]

    for at, listener in enumerate(all_listeners):
        assert text(listener.got, "m0") == text(published, "m0")
        assert text(listener.got, "m1") == text(published, "m1")
        assert numbers(listener.got) == numbers(published)
        assert states(listener.got)[-1:] == states(published)[-1:]
        merged = sum(r.merged for r in reports if isinstance(r, SubscriberLagged) and r.subscriber == str(at))
        assert len(listener.got) + merged == len(published) + len(reports)


@given(schedules)
def test_everyone_sees_one_order(schedule: list[Step]) -> None:
    """Also of reports, which are published from inside `publish`."""
    spec = [(WhenFull.SPILL, limit, True, frozenset[int]()) for limit in (1, 2, 3)]
    _, all_listeners, _ = asyncio.run(play(spec, schedule, numbered))
    first = all_listeners[0].got
    for listener in all_listeners[1:]:
        assert listener.got == first


_D, _S = WhenFull.DROP_OLDEST, WhenFull.SPILL


@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(list(WhenFull))), min_size=3, max_size=8))
@example([(0, _S), (4, _D), (0, _D), (0, _D), (9, _D), (1, _S)])
def test_full_queues_do_not_call_forth_each_others_reports(spec: list[tuple[int, WhenFull]]) -> None:
    """One burst: at most a report when a queue is full and one when it has caught up, however many are full."""

    async def burst() -> int:
        bus = Bus()
        reports: list[Event] = []
        bus.subscribe(reports.extend, SubscriberLagged, name="reports")
        for at, (pace, rule) in enumerate(spec):
            bus.subscribe(paced(pace), name=str(at), limit=1, when_full=rule)
        for number in range(3):
            bus.publish(Noticed(text=str(number)))
        assert await bus.close() == []
        return len(reports)

    assert asyncio.run(burst()) <= 2 * len(spec)


def paced(turns: int) -> Handler:
    """A handler that gives up its turn so many times for each event."""

    async def handle(batch: Sequence[Event]) -> None:
        for _ in batch:
            for _ in range(turns):
                await asyncio.sleep(0)

    return handle
