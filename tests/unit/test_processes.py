"""A child that is killed is gone, whatever is left in its pipes and whoever holds them."""

from __future__ import annotations

import asyncio
import os
import signal

from gshtui.system import processes


async def started(script: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec("/bin/sh", "-c", script, stdout=pipe, stderr=pipe)


async def test_a_child_whose_output_nobody_reads_any_more_is_killed() -> None:
    process = await started("exec yes")
    assert process.stdout is not None
    await process.stdout.readexactly(1 << 18)  # there is always more: the reader's buffer is full, and it has stopped
    async with asyncio.timeout(5):
        await processes.kill_child(process)
    assert process.returncode == -9


async def test_one_that_has_ended_is_left_to_itself() -> None:
    process = await started("echo done; exit 3")
    await process.communicate()
    async with asyncio.timeout(5):
        await processes.kill_child(process)
    assert process.returncode == 3


async def test_a_pipe_that_a_grandchild_holds_is_waited_for_no_longer_than_said() -> None:
    process = await started("sleep 20 & echo $!; exec sleep 20")
    assert process.stdout is not None
    grandchild = int(await process.stdout.readline())
    before = asyncio.get_running_loop().time()
    await processes.kill_child(process, within=0.2)
    assert asyncio.get_running_loop().time() - before < 5
    assert process.returncode == -9
    os.kill(grandchild, signal.SIGKILL)
    await processes.kill_child(process)
