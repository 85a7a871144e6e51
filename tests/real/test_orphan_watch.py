"""A command outside the sandbox does not outlive the process that ran it, however that one ends; others stay."""

import asyncio
import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from gshtui.system.processes.processes import wait_for_end
from gshtui.tools.shell.command_output import Capture, Spool
from gshtui.tools.shell.shell_process import Start, run_supervised
from tests.kit.command import ROOT
from tests.kit.tmux import eventually

LINE = "sleep 1000 & echo $$ $! > begun.new; mv begun.new begun; wait"


async def work(folder: str) -> None:
    """Run two commands: one that has ended, whose detached child stays, and one that runs until this is killed."""
    place = Path(folder)
    detached = "setsid sh -c 'echo $$ > detached; exec sleep 1000' > /dev/null 2>&1 < /dev/null & "
    detached += "until test -s detached; do :; done"
    for line in (detached, LINE):
        start = Start(("sh", "-c", line), place, {"PATH": "/usr/bin:/bin"})
        await run_supervised(start, 600, asyncio.Event(), Capture(Spool(1_000), lambda _: None))


BEGINS = """
import os, signal, subprocess
from gshtui.system.caller_environment import MARK
from gshtui.tools.shell.shell_process import dies_with_us
with dies_with_us("just-now"):
    child = subprocess.Popen(["sh", "-c", "sleep 1000; true"], env={MARK: "just-now"}, start_new_session=True)
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


async def test_a_command_that_has_only_just_begun_ends_too() -> None:
    """Its process was killed before it could tell whom it had started."""
    run = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", BEGINS], cwd=ROOT, stdout=subprocess.PIPE)
    with contextlib.suppress(psutil.NoSuchProcess):
        begun = psutil.Process(int(run.stdout))
        assert not await asyncio.to_thread(wait_for_end, [begun], 60.0)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT])
async def test_a_killed_process_takes_its_commands_with_it(number: signal.Signals, tmp_path: Path) -> None:
    code = "import asyncio, sys; from tests.real.test_orphan_watch import work; asyncio.run(work(sys.argv[1]))"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(tmp_path), cwd=ROOT)
    await eventually(lambda: asyncio.to_thread((tmp_path / "begun").exists))
    running = [psutil.Process(int(pid)) for pid in (tmp_path / "begun").read_text().split()]
    detached = psutil.Process(int((tmp_path / "detached").read_text()))
    watch = [each for each in psutil.Process(child.pid).children() if each not in running]
    child.send_signal(number)
    await child.wait()
    try:
        assert watch and not await asyncio.to_thread(wait_for_end, [*running, *watch], 60.0)
        assert detached.is_running()
    finally:
        detached.kill()
