"""Start a child so that the start can be cancelled; end one child with its pipes, or everything that a command started.

Processes are identified by pid and start time, never by name. Every wait has a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import os
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

from gshtui.system.caller_environment import MARK, caller_inherited
from gshtui.system.expected_error import ProgramMissing
from gshtui.system.processes.process_limits import limited
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job

if TYPE_CHECKING:
    import psutil

T = TypeVar("T")

_WITHIN = 2.0
_UNSTARTED_WITHIN = 0.3
"""Seconds to wait for the end of a child whose start was cancelled: nobody has seen it."""


async def start_child(
    *argv: str,
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    cwd: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    start_new_session: bool = False,
    pass_fds: Sequence[int] = (),
    limit: int = 1 << 16,
) -> asyncio.subprocess.Process:
    """Start a program as `asyncio.create_subprocess_exec` does, with the umask and limits of whoever this runs for;
    cancelled, it ends what it has started, and soon.

    `limit`: bytes that a reader of its pipes keeps. Raises `ProgramMissing`: there is no such program; it is an
    `OSError`, as all others are that keep it from starting. Raises `ValueError`: an argument cannot be passed on.
    """
    _await_ends_without_threads()
    command = limited(argv)
    if len(command) > len(argv) and not _is_there(argv[0], cwd or "", env):
        raise ProgramMissing(argv[0])  # of the program itself, what sets its limits would print this
    start = asyncio.create_subprocess_exec(
        *command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=cwd,
        env=env,
        start_new_session=start_new_session,
        pass_fds=pass_fds,
        limit=limit,
        umask=caller_inherited().umask,
    )

    try:
        return await finish_start(
            start, lambda process: kill_child(process, _UNSTARTED_WITHIN, is_leader=start_new_session)
        )
    except FileNotFoundError as error:
        # Of a missing folder it says the same.
        if isinstance(error.filename, str) and error.filename == argv[0] and (cwd is None or os.path.isdir(cwd)):  # noqa: PTH112
            raise ProgramMissing(argv[0]) from error
        raise


def _is_there(program: str, cwd: str | Path, env: Mapping[str, str] | None) -> bool:
    path = os.pathsep.join(os.get_exec_path(env))
    return bool(shutil.which(os.path.join(cwd, program) if "/" in program else program, path=path))  # noqa: PTH118


@functools.cache
def _await_ends_without_threads() -> None:
    """Have asyncio learn of a child's end from the kernel, as it does from Python 3.12 on, not by a thread for each."""
    if sys.version_info < (3, 12) and sys.platform == "linux":
        from gshtui.system.processes.child_watcher import KernelChildWatcher

        asyncio.set_child_watcher(KernelChildWatcher())  # pyright: ignore[reportDeprecated]


async def finish_start(start: Awaitable[T], end: Callable[[T], Awaitable[None]]) -> T:
    """Await the start of a process. Cancelled, let the start finish, end what it started, and pass the cancellation on.

    CPython 3.11 itself then waits until nobody holds the process's pipes any more; what it left running may for ever.
    `end`: ends what was started; has a deadline of its own.
    """
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.shield(start_job(_undo(starting, end), "ending a process whose start was cancelled"))
        raise


async def _undo(starting: asyncio.Future[T], end: Callable[[T], Awaitable[None]]) -> None:
    done, _ = await asyncio.wait((starting,), timeout=_WITHIN)
    if not done:
        starting.cancel()  # once more: at the end of the loop, CPython 3.11 waits for ever after the first one
    elif not starting.cancelled():
        with contextlib.suppress(OSError, ValueError):  # there is nothing to end
            await end(starting.result())


async def kill_child(process: asyncio.subprocess.Process, within: float = _WITHIN, *, is_leader: bool = False) -> None:
    """Kill the child, unless it has ended, and wait until it and its pipes are gone.

    Whoever starts a child calls this in a `finally`, also of one that has ended: its pipes stay open while another
    process holds them, or while more is in them than was read. Nothing else may be reading its pipes.

    Args:
        within: seconds to wait. A child left behind after that is dead; another process holds its pipes.
        is_leader: it leads a group, which is killed with it.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):  # on macOS of a group that has ended
        if is_leader and process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    try:
        async with time_limit(within):
            await asyncio.gather(*(_discard(pipe) for pipe in pipes))
            await process.wait()
            if process.stdin is not None and process.stdin.is_closing():
                with contextlib.suppress(OSError):  # what was written last may not have been taken any more
                    await process.stdin.wait_closed()
    except TimeoutError:
        pass
    finally:  # also where this is cancelled, at the end of the loop: nothing else closes its pipes
        transport: asyncio.SubprocessTransport = vars(process)["_transport"]
        transport.close()


async def _discard(pipe: asyncio.StreamReader) -> None:
    while await pipe.read(1 << 16):
        pass


_EXECS, _EXECS_SLOWLY = 0.02, 0.5
"""Seconds in which a process that has just left its session executes its program, as a rule and on a busy machine:
until then, it has no environment."""
_SETTLED = 60.0
"""Seconds after which a process without an environment is one that was given none."""
_NO_PID_COMES_AGAIN = 2.0
"""Seconds in which no machine starts so many processes that their pids begin anew and pass where they were."""
_FIRST, _GRACE = 0.2, 1.0
"""Seconds for a shell to end before what it has started; and for all to end by themselves."""
_ROUNDS = 8


def call_processes(leader: int | None, call: str, lived: float = math.inf) -> list[psutil.Process]:
    """Every living process of the call: descendants, its session, and all that carry its mark.

    Args:
        leader: pid of the shell, which leads its own session; it may have ended. `None`: not known any more.
        call: value of the mark in the environment.
        lived: seconds since the shell was started; where that is a moment, only later processes are looked at.
    """
    import psutil  # not needed for the first screen

    found: dict[int, psutil.Process] = {}
    try:
        shell = psutil.Process(os.getpid() if leader is None else leader)
        found |= (
            {} if leader is None else {process.pid: process for process in (shell, *shell.children(recursive=True))}
        )
    except psutil.NoSuchProcess:
        pass  # it has ended; what it left behind is found below
    own = os.getpid()
    for process in _candidates(leader, call, is_young=lived < _NO_PID_COMES_AGAIN):
        if process.pid not in found and process.pid != own and _belongs(process, leader, call):
            found[process.pid] = process
    return running_processes(found.values())


def _last_pid() -> int:
    """The pid that was given last, on Linux; 0: not known."""
    try:
        with open("/proc/loadavg", "rb") as file:  # noqa: PTH123 - a Path costs as much as the rest
            return int(file.read().split()[4])
    except (OSError, ValueError, IndexError):
        return 0


def _candidates(leader: int | None, call: str, *, is_young: bool) -> Iterator[psutil.Process]:
    """Every process that may belong to the call: where `/proc` tells at once, those that do; else all. `is_young`: its
    pids are between its shell's and the one that was given last, where that is greater.
    """
    import psutil  # not needed for the first screen

    proc = Path("/proc")
    if not proc.joinpath("self/environ").exists():
        yield from psutil.process_iter()
        return
    mark = f"{MARK}={call}".encode()
    names = [name for name in os.listdir(proc) if name.isdecimal()]  # noqa: PTH208 - names alone: there are many
    if leader is not None and is_young and (last := _last_pid()) >= leader:
        names = [name for name in names if leader <= int(name) <= last]
    for name in names:
        try:
            named = leader is not None and os.getsid(int(name)) == leader
            if not named:
                with open(f"/proc/{name}/environ", "rb") as environ:  # noqa: PTH123 - a Path costs as much as the rest
                    named = mark in environ.read()
            if named:
                yield psutil.Process(int(name))
        except (OSError, psutil.Error):
            continue  # it has ended, or is another user's


def in_session(processes: Iterable[psutil.Process], leader: int) -> list[psutil.Process]:
    """Those still in the shell's session: its background jobs, not what detached on purpose."""
    return [process for process in processes if _session(process) == leader]


_running: dict[int, str] = {}
"""Of the calls of this process that run now: the pid of the shell → the mark."""


@contextlib.contextmanager
def call_runs(leader: int, call: str) -> Generator[None]:
    """Note a call until it is dealt with, for `kill_calls`."""
    _running[leader] = call
    try:
        yield
    finally:
        _running.pop(leader, None)


def kill_calls() -> None:
    """Kill every process of the calls that run, where this process ends without dealing with them. Blocks briefly."""
    for leader, call in tuple(_running.items()):
        with contextlib.suppress(Exception):  # whatever it is, this process ends
            send_signal(call_processes(leader, call), signal.SIGKILL)


def end_call_processes(leader: int | None, call: str) -> list[str]:
    """End every process of the call, asking first. Return the names of those besides the shell."""
    names: dict[int, str] = {}
    for attempt in range(_ROUNDS):
        living = call_processes(leader, call)
        if not living:
            _wait_for_execs()
            living = call_processes(leader, call)
        if not living:
            break
        names |= {process.pid: process_name(process) for process in living if process.pid != leader}
        end_processes(living, force=attempt > 0)
    return list(names.values())


def _wait_for_execs() -> None:
    """Let processes that execute a program just now get their environment, by which they are known. Blocks."""
    until = time.monotonic() + _EXECS_SLOWLY
    time.sleep(_EXECS)
    while _any_executes() and time.monotonic() < until:
        time.sleep(_EXECS)


def _any_executes() -> bool:
    """Whether a process of ours has a program, and no environment yet. Where `/proc` does not tell: no."""
    import psutil  # not needed for the first screen

    proc = Path("/proc")
    if not proc.joinpath("self/environ").exists():
        return False
    for name in (name for name in os.listdir(proc) if name.isdecimal()):  # noqa: PTH208 - names alone: there are many
        try:
            with open(f"/proc/{name}/environ", "rb") as environ:  # noqa: PTH123 - a Path costs as much as the rest
                if environ.read(1):
                    continue
            os.readlink(f"/proc/{name}/exe")  # noqa: PTH115 - as above; the kernel's own and the ended have none
            if psutil.Process(int(name)).create_time() > time.time() - _SETTLED:
                return True
        except (OSError, psutil.Error):
            continue
    return False


def end_processes(processes: list[psutil.Process], *, force: bool = False) -> None:
    """End these: SIGTERM, then SIGKILL for those still there a second later (at once, with `force`).

    The first, which started the others, is asked before them: a shell in a sandbox, which ends with it, would go on
    behind the command that was ended.
    """
    if not force:
        terminate(processes[:1])
        wait_for_end(processes[:1], _FIRST)
        terminate(processes[1:])
        processes = wait_for_end(processes, _GRACE)
    if processes:
        send_signal(processes, signal.SIGKILL)
        wait_for_end(processes, _GRACE)


def terminate(processes: Iterable[psutil.Process]) -> None:
    processes = list(processes)
    send_signal(processes, signal.SIGTERM)
    # A stopped process does not receive a signal until it continues.
    send_signal(processes, signal.SIGCONT)


def process_name(process: psutil.Process) -> str:
    """Name a process by its command line, or its name, and its pid."""
    import psutil  # not needed for the first screen

    try:
        line = " ".join(process.cmdline()) or process.name()
    except psutil.Error:
        line = "?"
    return f"{line[:80]} (pid {process.pid})"


def running_processes(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those still running. psutil compares start times, so a later process with the same pid does not count.

    A zombie has ended; its parent reaps it.
    """
    return [process for process in processes if _alive(process)]


def wait_for_end(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait up to so many seconds; return those still there. Blocks."""
    until = time.monotonic() + seconds
    living = running_processes(processes)
    while living and time.monotonic() < until:
        time.sleep(0.01)
        living = running_processes(living)
    return living


def send_signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    """Send it to each that is ours and still there."""
    import psutil  # not needed for the first screen

    for process in processes:
        try:
            process.send_signal(number)
        except (psutil.Error, OSError):
            continue  # it ended by itself, or is another user's (sudo) and not ours to end


def _belongs(process: psutil.Process, leader: int | None, call: str) -> bool:
    import psutil  # not needed for the first screen

    if leader is not None and _session(process) == leader:
        return True
    try:
        return process.environ().get(MARK) == call
    except (psutil.Error, OSError):
        return False


def _session(process: psutil.Process) -> int:
    try:
        return os.getsid(process.pid)
    except OSError:
        return -1


def _alive(process: psutil.Process) -> bool:
    import psutil  # not needed for the first screen

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
