"""A time limit ends its block with `TimeoutError`, whether or not the task is being cancelled."""

import asyncio
import contextlib

import pytest

from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait
from tests.kit import source


async def test_it_ends_what_takes_too_long_and_nothing_else() -> None:
    async with time_limit(30):
        pass
    async with time_limit(None) as limit:
        assert limit.when() is None
    with pytest.raises(TimeoutError):
        async with time_limit(0):
            await asyncio.Event().wait()
    with pytest.raises(KeyError):
        async with time_limit(30):
            raise KeyError


async def test_the_clean_up_of_a_cancelled_task_goes_on_behind_its_time_limits() -> None:
    begun, done = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            for _ in range(2):
                with contextlib.suppress(TimeoutError):
                    async with time_limit(0):
                        await asyncio.Event().wait()
            done.set()

    task = asyncio.create_task(work())
    await begun.wait()
    await cancel_and_wait(task)
    assert done.is_set() and task.cancelled()


async def test_a_cancellation_from_outside_is_none_of_its_own() -> None:
    begun = asyncio.Event()

    async def work() -> None:
        async with time_limit(30):
            begun.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await begun.wait()
    await cancel_and_wait(task)
    assert task.cancelled()


def test_it_is_the_one_way_to_limit_a_wait() -> None:
    own = "gshtui/system/processes/time_limit.py"
    assert [source.name(path) for path in source.files() if "asyncio.timeout" in path.read_text("utf-8")] == [own]
