"""The bus and its awkward subscribers: failing, hanging, cancelled, leaving in the middle, publishing at the end."""

import asyncio
from collections.abc import Sequence

import pytest

from gshtui.bus.bus import Bus, WhenFull
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, TextDelta, TurnFinished
from gshtui.bus.events.hub_events import Noticed, SubscriberFailed, SubscriberLagged
from gshtui.bus.subscription import Subscription

pytestmark = pytest.mark.faults


def notices(count: int, start: int = 0) -> list[Noticed]:
    return [Noticed(text=str(number)) for number in range(start, start + count)]


class Log:
    """Keeps what it gets."""

    def __init__(self, bus: Bus, *types: type[Event], name: str = "log") -> None:
        self.events: list[Event] = []
        self.subscription = bus.subscribe(self.events.extend, *types, name=name)

    def texts(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Noticed)]


async def test_a_failure_costs_one_event_and_is_reported() -> None:
    bus = Bus()
    log, failures = Log(bus, Noticed), Log(bus, SubscriberFailed)
    got: list[str] = []

    def handle(batch: Sequence[Event]) -> None:
        for event in batch:
            assert isinstance(event, Noticed)
            if event.text == "3":
                raise KeyError("three")
            got.append(event.text)

    bus.subscribe(handle, Noticed, name="picky")
    for event in notices(6):
        bus.publish(event)
    await bus.drained()
    assert got == ["0", "1", "2", "4", "5"]
    assert log.texts() == ["0", "1", "2", "3", "4", "5"]
    assert [(e.subscriber, e.event, e.why, e.lost) for e in failures.events if isinstance(e, SubscriberFailed)] == [
        ("picky", "Noticed", "KeyError: 'three'", 1)
    ]
    await bus.close()


async def test_a_handler_that_works_on_the_whole_batch_is_never_given_an_event_twice() -> None:
    bus = Bus()
    failures = Log(bus, SubscriberFailed)
    seen: list[str] = []

    def handle(batch: Sequence[Event]) -> None:
        texts = [event.text for event in batch if isinstance(event, Noticed)]
        seen.extend(texts)
        if "1" in texts:
            raise OSError("disk")

    bus.subscribe(handle, Noticed, name="bulk")
    for event in notices(4):
        bus.publish(event)
    await bus.drained()
    bus.publish(Noticed(text="later"))
    await bus.drained()
    assert seen == ["0", "1", "2", "3", "later"]
    assert [e.lost for e in failures.events if isinstance(e, SubscriberFailed)] == [4]
    await bus.close()


async def test_a_handler_that_always_fails_reports_in_bounded_number() -> None:
    bus = Bus()
    failures = Log(bus, SubscriberFailed)

    def handle(batch: Sequence[Event]) -> None:
        for _ in batch:
            raise RuntimeError("always")

    bus.subscribe(handle, name="broken")
    for event in notices(500):
        bus.publish(event)
    await bus.drained()
    reports = [e for e in failures.events if isinstance(e, SubscriberFailed)]
    assert sum(e.lost for e in reports) == 500
    assert len(reports) == 2
    assert await bus.close() == []


async def test_a_hanging_subscriber_holds_up_nobody_and_is_named_at_the_end() -> None:
    bus = Bus()
    log = Log(bus, Noticed)

    async def hang(_: Sequence[Event]) -> None:
        await asyncio.Event().wait()

    bus.subscribe(hang, Noticed, name="stuck")
    for event in notices(3):
        bus.publish(event)
    await log.subscription.drained()
    assert log.texts() == ["0", "1", "2"]
    assert await bus.close(timeout=0.01) == ["stuck"]


async def test_a_cancelled_wait_inside_a_handler_is_a_failure_not_the_end() -> None:
    bus = Bus()
    failures = Log(bus, SubscriberFailed)
    got: list[Event] = []

    async def handle(batch: Sequence[Event]) -> None:
        for event in batch:
            if not got:
                got.append(event)
                await asyncio.wait_for(cancelled(), timeout=None)
            got.append(event)

    async def cancelled() -> None:
        raise asyncio.CancelledError

    bus.subscribe(handle, Noticed, name="waiter")
    for event in notices(2):
        bus.publish(event)
    await bus.drained()
    bus.publish(Noticed(text="2"))
    await bus.drained()
    assert [e.text for e in got if isinstance(e, Noticed)] == ["0", "1", "2"]
    assert len(failures.events) == 1
    await bus.close()


@pytest.mark.parametrize("is_async", [False, True])
async def test_unsubscribing_inside_the_handler(is_async: bool) -> None:
    """It runs to its end, is not called again, and others go on."""
    bus = Bus()
    log = Log(bus, Noticed)
    calls: list[list[str]] = []
    subscription: Subscription

    def handle(batch: Sequence[Event]) -> None:
        calls.append([event.text for event in batch if isinstance(event, Noticed)])
        bus.publish(Noticed(text="published by the handler"))
        subscription.unsubscribe()
        calls[-1].append("ran to its end")

    async def handle_async(batch: Sequence[Event]) -> None:
        handle(batch)
        await asyncio.sleep(0)
        calls[-1].append("also after waiting")

    subscription = bus.subscribe(handle_async if is_async else handle, Noticed, name="once")
    bus.publish(Noticed(text="0"))
    await bus.drained()
    await subscription.stopped(timeout=5)
    bus.publish(Noticed(text="1"))
    await bus.drained()
    assert calls == [["0", "ran to its end"] + (["also after waiting"] if is_async else [])]
    assert log.texts() == ["0", "published by the handler", "1"]
    await bus.close()


async def test_unsubscribing_cancels_a_handler_at_work_and_lets_waiters_go() -> None:
    bus = Bus()
    started, ended = asyncio.Event(), asyncio.Event()

    async def handle(_: Sequence[Event]) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    subscription = bus.subscribe(handle, Noticed, name="long")
    bus.publish(Noticed(text="0"))
    await started.wait()
    waiter = asyncio.create_task(subscription.drained())
    subscription.unsubscribe()
    await asyncio.wait_for(waiter, 30)
    assert ended.is_set()
    assert subscription.behind == 0
    await bus.close()


async def test_what_is_published_while_closing_is_still_handled() -> None:
    bus = Bus()
    log = Log(bus, Noticed)

    async def chain(batch: Sequence[Event]) -> None:
        for event in batch:
            assert isinstance(event, Noticed)
            await asyncio.sleep(0)
            if int(event.text) < 5:
                bus.publish(Noticed(text=str(int(event.text) + 1)))

    bus.subscribe(chain, Noticed, name="chain")
    bus.publish(Noticed(text="0"))
    assert await bus.close() == []
    assert log.texts() == ["0", "1", "2", "3", "4", "5"]
    bus.publish(Noticed(text="after the end"))
    assert len(log.events) == 6


async def test_closing_from_inside_a_handler_does_not_wait_for_itself() -> None:
    bus = Bus()
    log = Log(bus, Noticed)
    closed = asyncio.Event()

    async def quitter(_: Sequence[Event]) -> None:
        await bus.drained()
        assert await bus.close() == []
        closed.set()

    bus.subscribe(quitter, Noticed, name="quitter")
    bus.publish(Noticed(text="0"))
    await asyncio.wait_for(closed.wait(), 30)
    assert log.texts() == ["0"]


async def test_a_handler_that_feeds_its_own_queue_leaves_others_their_turn() -> None:
    bus = Bus()
    calls = 0

    def feed(_: Sequence[Event]) -> None:
        nonlocal calls
        calls += 1
        if calls < 10_000:
            bus.publish(Noticed(text="again"))

    subscription = bus.subscribe(feed, Noticed, name="loop")
    bus.publish(Noticed(text="0"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert 1 < calls < 20
    subscription.unsubscribe()
    await bus.close()


async def test_dropping_is_counted_to_the_last_event() -> None:
    bus = Bus()
    reports = Log(bus, SubscriberLagged)
    gate = asyncio.Event()
    got: list[str] = []

    async def handle(batch: Sequence[Event]) -> None:
        await gate.wait()
        got.extend(event.text for event in batch if isinstance(event, Noticed))

    bus.subscribe(handle, Noticed, name="glance", limit=3, when_full=WhenFull.DROP_OLDEST)
    for event in notices(50):
        bus.publish(event)
    gate.set()
    await bus.drained()
    await bus.drained()
    assert got == ["47", "48", "49"]
    assert sum(e.dropped for e in reports.events if isinstance(e, SubscriberLagged)) == 47
    await bus.close()


async def test_a_report_comes_after_the_event_that_caused_it_for_everyone() -> None:
    bus = Bus()
    bus.subscribe(lambda _: None, Noticed, name="tight", limit=1)
    log = Log(bus)
    for event in notices(2):
        bus.publish(event)
    await bus.drained()
    assert [type(event).__name__ for event in log.events] == ["Noticed", "Noticed", "SubscriberLagged"]
    await bus.close()


async def test_a_broken_merge_rule_costs_nothing_but_the_merging() -> None:
    class Odd(Event, frozen=True, kw_only=True):
        text: str

        def merge_key(self) -> object:  # type: ignore[override]
            return ["not", "hashable"]

    bus = Bus()
    failures = Log(bus, SubscriberFailed)
    got: list[Event] = []
    bus.subscribe(got.extend, Odd, name="screen", limit=2, when_full=WhenFull.MERGE)
    for number in range(20):
        bus.publish(Odd(text=str(number)))
    await bus.drained()
    assert [event.text for event in got if isinstance(event, Odd)] == [str(number) for number in range(20)]
    assert [e.subscriber for e in failures.events if isinstance(e, SubscriberFailed)][:1] == ["screen"]
    await bus.close()


async def test_a_queue_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'none' must hold at least one event"):
        Bus().subscribe(lambda _: None, name="none", limit=0)


async def test_ten_thousand_deltas_merge_into_one_in_linear_copies() -> None:
    bus = Bus()
    gate = asyncio.Event()
    got: list[Event] = []

    async def handle(batch: Sequence[Event]) -> None:
        await gate.wait()
        got.extend(batch)

    bus.subscribe(handle, TextDelta, name="screen", limit=1_000, when_full=WhenFull.MERGE)
    pieces = [f"{number:019d} " for number in range(10_000)]
    bus.publish(TextDelta(agent="a", session="s", message="m", text=pieces[0]))
    await asyncio.sleep(0)
    for piece in pieces[1:]:
        bus.publish(TextDelta(agent="a", session="s", message="m", text=piece))
    gate.set()
    await bus.drained()
    assert "".join(event.text for event in got if isinstance(event, TextDelta)) == "".join(pieces)
    assert len(got) <= 1_001
    await bus.close()


async def test_wait_for_finds_times_out_and_passes_on_a_broken_test() -> None:
    bus = Bus()
    waiting = bus.wait_for(Noticed, lambda event: event.text == "2", timeout=60)
    for event in notices(4):
        bus.publish(event)
    assert (await waiting).text == "2"
    with pytest.raises(TimeoutError):
        await bus.wait_for(TurnFinished, timeout=0.001)
    broken = bus.wait_for(Noticed, lambda event: bool(1 // 0), timeout=60)
    bus.publish(Noticed(text="0"))
    with pytest.raises(ZeroDivisionError):
        await broken
    assert await bus.close() == []


async def test_a_base_class_takes_its_subclasses_and_late_subscribers_see_only_what_follows() -> None:
    bus = Bus()
    everything, prompts = Log(bus, Event), Log(bus, PromptSubmitted)
    bus.publish(Noticed(text="0"))
    bus.publish(PromptSubmitted(prompt="p", agent="main", text="hello"))
    late = Log(bus, Noticed)
    bus.publish(Noticed(text="1"))
    await bus.drained()
    assert len(everything.events) == 3
    assert len(prompts.events) == 1
    assert late.texts() == ["1"]
    await bus.close()


async def test_events_are_stamped_once() -> None:
    bus = Bus()
    log = Log(bus, Noticed)
    bus.publish(Noticed(text="now"))
    bus.publish(Noticed(text="then", at=5.0))
    await bus.drained()
    assert log.events[0].at > 1_700_000_000
    assert log.events[1].at == 5.0
    await bus.close()
