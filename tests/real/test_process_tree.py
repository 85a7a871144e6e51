"""The end of processes by pid and start time."""

import asyncio
import sys
from pathlib import Path

import psutil
import pytest

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


COMMAND = "import subprocess as s, sys, os; s.Popen(['bash', '-c', 'sleep 1003'])"
LAUNCHERS = {
    "none": "",
    "of its name": "s.Popen([os.path.dirname(__file__) + '/own/.program', *sys.argv[1:]])",
    "by its interpreter": "s.Popen([sys.executable, '-c', 'import signal; signal.pause()', __file__, *sys.argv[1:]])",
    "a server": "s.Popen(['sh', '-c', 'while :; do read x; done', '/run/it'], stdin=s.PIPE)",
}


@pytest.mark.parametrize("launches", LAUNCHERS)
async def test_the_program_behind_a_launcher_is_no_command_and_all_else_is(launches: str, tmp_path: Path) -> None:
    """Even where a shell becomes its last command, in the program's process group."""
    script = tmp_path / "program"
    script.write_text(f"{COMMAND}\n{LAUNCHERS[launches]}\nimport signal\nsignal.pause()\n", "utf-8")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / ".program").symlink_to("/bin/sleep")
    parent = await asyncio.create_subprocess_exec(sys.executable, script, "1002", start_new_session=True)
    try:

        async def children() -> bool:
            below = psutil.Process(parent.pid).children()
            texts = [" ".join(child.cmdline()) for child in below]
            return "sleep 1003" in texts and len(texts) == 1 + bool(LAUNCHERS[launches])

        assert await eventually(children)
        start = process_tree.start_time(parent.pid)
        assert await asyncio.to_thread(process_tree.below, parent.pid, start, "/run/it") == ["sleep 1003"]
    finally:
        await asyncio.to_thread(process_tree.end, parent.pid, process_tree.start_time(parent.pid), 5.0)
        await parent.wait()
