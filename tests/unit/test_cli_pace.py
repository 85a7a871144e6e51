"""Looks at many screens come one by one."""

from __future__ import annotations

import asyncio

from gshtui.programs.status_watcher import Pacer


async def test_the_first_goes_on_at_once_and_the_others_one_by_one_in_their_order() -> None:
    pace, went = Pacer(), list[int]()
    loop = asyncio.get_running_loop()

    async def look(number: int) -> float:
        await pace.wait()
        went.append(number)
        return loop.time()

    began = loop.time()
    times = await asyncio.gather(*(look(number) for number in range(10)))
    assert went == list(range(10))
    assert times[9] - began >= 9 * 0.005
    await pace.wait()
    assert loop.time() >= times[9]
