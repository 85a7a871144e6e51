"""The end of processes by pid and start time."""

import asyncio
import sys

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


async def test_what_a_shell_runs_is_a_command_in_any_group() -> None:
    parent = await asyncio.create_subprocess_exec("sh", "-c", "sleep 1004; true", start_new_session=True)
    try:

        async def below() -> list[str]:
            return await asyncio.to_thread(process_tree.below, parent.pid, process_tree.start_time(parent.pid))

        assert await eventually(below) == ["sleep 1004"]
    finally:
        await asyncio.to_thread(process_tree.end, parent.pid, process_tree.start_time(parent.pid), 5.0)
        await parent.wait()


async def test_what_stays_in_its_process_group_is_the_program_itself() -> None:
    """A launcher with its program, and a command that has a group of its own."""
    script = "import subprocess as s; s.Popen(['sleep', '1002']); s.Popen(['sleep', '1003'], process_group=0).wait()"
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", script, start_new_session=True)
    try:

        async def below() -> list[str]:
            return await asyncio.to_thread(process_tree.below, parent.pid, process_tree.start_time(parent.pid))

        async def started() -> set[str]:
            return {child.name() for child in psutil.Process(parent.pid).children() if "1003" in child.cmdline()}

        assert await eventually(started) and await below() == ["sleep 1003"]
    finally:
        await asyncio.to_thread(process_tree.end, parent.pid, process_tree.start_time(parent.pid), 5.0)
        await parent.wait()
