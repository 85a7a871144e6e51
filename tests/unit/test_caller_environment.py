"""Whose variables the running work has: the caller's, in its tasks and threads too, and nobody else's."""

import asyncio
import os

from gshtui.system.caller_environment import caller_environ, working_for


async def test_each_callers_work_has_its_own_variables() -> None:
    async def seen() -> list[str]:
        await asyncio.sleep(0)
        below = asyncio.create_task(asyncio.to_thread(lambda: caller_environ().get("WHO", "")))
        return [caller_environ().get("WHO", ""), await below]

    tasks: list[asyncio.Task[list[str]]] = []
    for name in ("a", "b"):
        with working_for({"WHO": name}):
            tasks.append(asyncio.create_task(seen()))
    assert await asyncio.gather(*tasks) == [["a", "a"], ["b", "b"]]
    assert caller_environ() is os.environ
