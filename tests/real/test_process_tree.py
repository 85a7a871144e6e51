"""The end of processes by pid and start time."""

import asyncio

import psutil

from gshtui.system.processes import process_tree
from tests.kit.tmux import eventually


async def test_what_nobody_reaps_has_ended() -> None:
    """As below the first process of a container, which may reap nothing."""
    parent = await asyncio.create_subprocess_exec("sh", "-c", "sleep 1000 & exec sleep 1001")
    try:

        async def children() -> list[psutil.Process]:
            return [child for child in psutil.Process(parent.pid).children() if "1000" in child.cmdline()]

        (child,) = await eventually(children)
        assert await asyncio.to_thread(process_tree.end, child.pid, process_tree.start_time(child.pid), 5.0)
        assert child.status() == psutil.STATUS_ZOMBIE
    finally:
        parent.kill()
        await parent.wait()
