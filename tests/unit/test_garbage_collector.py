"""The collector while a process works: what rests is not walked through again, and cycles go in the end."""

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from gshtui.system import garbage_collector
from gshtui.system.garbage_collector import GarbageCollector


class Cycle:
    """Refers to itself."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def found_as_left() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    assert gc.get_threshold() == before and gc.isenabled()
    gc.freeze()  # what is left is not walked through in all tests that come


def look(one: GarbageCollector) -> None:
    """What happens when the time has come."""
    assert one._timer is not None
    one._timer.cancel()
    one._look()


async def test_what_is_there_at_the_beginning_is_not_walked_through() -> None:
    one = GarbageCollector()
    gc.disable()
    one.begin()
    try:
        assert gc.isenabled() and gc.get_freeze_count() > 1_000
        assert gc.get_threshold() == garbage_collector.YOUNG
    finally:
        one.end()


async def test_a_rest_collects_what_came_and_then_lets_it_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collector, "REST", 0.0)
    one = GarbageCollector()
    one.begin()
    try:
        gone, kept = weakref.ref(Cycle()), [Cycle() for _ in range(10)]
        one.worked()
        look(one)
        assert gone() is None and len(kept) == 10
        frozen = gc.get_freeze_count()
        assert frozen > 1_000 and not any(found is kept for found in gc.get_objects())
        left = weakref.ref(kept.pop())
        one.worked()
        look(one)
        assert left() is not None
        one._thorough_at = 0.0
        one.worked()
        look(one)
        assert left() is None
    finally:
        one.end()


async def test_while_work_goes_on_it_waits_but_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    one = GarbageCollector()
    one.begin()
    try:
        gone = weakref.ref(Cycle())
        one.worked()
        look(one)
        assert gone() is not None
        monkeypatch.setattr(garbage_collector, "LATEST", 0.0)
        kept = Cycle()
        look(one)
        assert gone() is None
        left = weakref.ref(kept)
        del kept
        for overdue, found in ((0.5, True), (1.5, False)):
            one._thorough_at = asyncio.get_running_loop().time() - overdue * garbage_collector.THOROUGH
            one.worked()
            look(one)
            assert (left() is not None) is found, "what was there is looked through again, though nothing ever rests"
    finally:
        one.end()
