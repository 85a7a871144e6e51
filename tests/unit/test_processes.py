"""A child is gone that is killed or whose start is cancelled, whatever is left in its pipes and whoever holds them."""

import asyncio
import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from gshtui.system.caller_environment import MARK
from gshtui.system.processes import processes
from tests.kit.tmux import eventually


async def started(script: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec("/bin/sh", "-c", script, stdout=pipe, stderr=pipe)


async def test_a_child_whose_output_nobody_reads_any_more_is_killed() -> None:
    process = await started("exec yes")
    assert process.stdout is not None
    await process.stdout.readexactly(1 << 18)  # there is always more: the reader's buffer is full, and it has stopped
    async with asyncio.timeout(30):
        await processes.kill_child(process)
    assert process.returncode == -9


async def test_one_that_has_ended_is_left_to_itself() -> None:
    process = await started("echo done; exit 3")
    await process.communicate()
    async with asyncio.timeout(30):
        await processes.kill_child(process)
    assert process.returncode == 3


async def test_a_pipe_that_a_grandchild_holds_is_waited_for_no_longer_than_said() -> None:
    process = await started("sleep 600 & echo $!; exec sleep 20")
    assert process.stdout is not None
    grandchild = int(await process.stdout.readline())
    await processes.kill_child(process, within=0.2)
    assert process.returncode == -9
    os.kill(grandchild, signal.SIGKILL)  # it is still there
    await processes.kill_child(process)


async def test_a_kill_that_is_cancelled_leaves_no_pipe_open() -> None:
    """As the end of a loop cancels it: what is collected after that can close nothing any more."""
    process = await started("sleep 600 & echo $!; exec sleep 20")
    assert process.stdout is not None
    grandchild = int(await process.stdout.readline())
    killing = asyncio.ensure_future(processes.kill_child(process))
    await asyncio.sleep(0)
    killing.cancel()
    await asyncio.wait((killing,))
    assert vars(process)["_transport"].is_closing()
    os.kill(grandchild, signal.SIGKILL)


async def test_one_that_has_ended_leaves_no_pipe_open_that_another_process_holds() -> None:
    process = await started("setsid sleep 600 & echo $!; exec 2>&-")
    assert process.stdout is not None and process.stderr is not None
    grandchild = int(await process.stdout.readline())

    async def ended() -> bool:
        return process.returncode is not None

    await eventually(ended)
    await processes.kill_child(process, within=0.1)
    assert vars(process)["_transport"].is_closing()
    os.kill(grandchild, signal.SIGKILL)


@pytest.mark.parametrize("own_session", [False, True])
@pytest.mark.parametrize("steps", range(5))
async def test_a_start_that_is_cancelled_at_any_step_ends_though_a_grandchild_holds_a_pipe(
    steps: int, own_session: bool
) -> None:
    before = set(psutil.Process().children())
    reads, writes = os.pipe()
    pipe = asyncio.subprocess.PIPE
    script = f"sleep 30 & echo $! >&{writes}; exec sleep 30"
    start = processes.start_child(
        "bash", "-c", script, stdout=pipe, stderr=pipe, pass_fds=(writes,), start_new_session=own_session
    )
    starting = asyncio.create_task(start)
    for _ in range(steps):
        await asyncio.sleep(0)
    child = next(iter(set(psutil.Process().children()) - before), None)
    grandchild = int(os.read(reads, 20)) if child is not None else None
    try:
        starting.cancel()
        await asyncio.wait([starting], timeout=5)
        assert starting.cancelled()
        assert child is None or not processes.running_processes([child])
        if own_session and grandchild is not None:
            assert (
                processes.wait_for_end([psutil.Process(grandchild)] if psutil.pid_exists(grandchild) else [], 5) == []
            )
    finally:
        if grandchild is not None and not own_session:
            os.kill(grandchild, signal.SIGKILL)
        os.close(reads)
        os.close(writes)


async def ends(*scripts: str) -> list[int]:
    """The exit codes of children that run side by side."""
    children = [await processes.start_child("/bin/sh", "-c", script) for script in scripts]
    return await asyncio.gather(*(child.wait() for child in children))


async def test_ends_are_known_in_the_loop_that_started_a_child_without_a_thread_for_each() -> None:
    scripts = [f"exit {code}" for code in range(8)]
    waiting = asyncio.create_task(ends(*scripts, "sleep 0.2; exit 8", "kill -9 $$"))
    elsewhere = asyncio.create_task(asyncio.to_thread(asyncio.run, ends(*scripts)))
    async with asyncio.timeout(20):
        assert await elsewhere == list(range(8))
        assert await waiting == [*range(9), -signal.SIGKILL]
    if sys.platform == "linux":
        assert not [thread.name for thread in threading.enumerate() if "waitpid" in thread.name]


async def test_where_the_kernel_has_no_descriptor_of_a_child_its_end_is_known_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(pid: int, flags: int = 0) -> int:
        raise OSError(errno.EMFILE, "there are too many")

    monkeypatch.setattr(os, "pidfd_open", none, raising=False)
    async with asyncio.timeout(20):
        assert await ends("exit 3", "exit 4") == [3, 4]


def test_a_process_that_executes_its_program_just_now_belongs_to_its_call_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the two it has left its session and has no environment; on a busy machine, for as long as it likes."""
    if not Path("/proc/self/environ").exists():
        return  # elsewhere nothing tells that a process has no environment yet
    monkeypatch.setattr(processes, "_EXECS_SLOWLY", 30.0)
    call = f"executes-{os.getpid()}"  # another run of this test may be beside it
    line = f"sleep 0.3; {MARK}={call} exec sleep 600"
    with subprocess.Popen(["/bin/sh", "-c", line], env={}, start_new_session=True) as late:
        ended = processes.end_call_processes(None, call)
        assert late.wait(10) < 0
    assert [name.rpartition(" (pid")[0] for name in ended] == ["sleep 600"]


@pytest.mark.parametrize("turns", range(1, 6))
def test_a_start_that_the_end_of_the_loop_cancels_does_not_keep_it(turns: int) -> None:
    async def leave() -> None:
        starting.append(asyncio.ensure_future(processes.start_child("true", stdout=asyncio.subprocess.PIPE)))
        for _ in range(turns):
            await asyncio.sleep(0)

    starting: list[asyncio.Future[asyncio.subprocess.Process]] = []
    asyncio.run(leave())
    assert starting[0].done()


LEADER = """
import psutil, signal, subprocess, sys
child = subprocess.Popen(["sleep", "600"])
def end(*_):
    ended, _ = psutil.wait_procs([psutil.Process(child.pid)], timeout=0.05)
    sys.exit("its child was ended before it" if ended else 3)
signal.signal(signal.SIGTERM, end)
print(child.pid, flush=True)
signal.pause()
"""


def test_a_shell_is_ended_before_the_command_that_it_waits_for() -> None:
    """It would go on with the next one."""
    with subprocess.Popen([sys.executable, "-c", LEADER], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as leader:
        assert leader.stdout is not None and leader.stderr is not None
        child = psutil.Process(int(leader.stdout.readline()))
        processes.end_processes([psutil.Process(leader.pid), child])
        assert (leader.wait(10), leader.stderr.read()) == (3, b"")
        assert not psutil.pid_exists(child.pid) or child.status() == psutil.STATUS_ZOMBIE
