"""A shell's process and everything that it starts: begun in the sandbox or outside, waited for, ended without a rest.

Its output goes to pipes of its own. When it ends, is cancelled or times out, every process it started is ended too,
except those that detached on purpose before a normal end.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import SandboxUse
from gshtui.system.caller_environment import MARK
from gshtui.system.ids import new_id
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.tools.files import file_access
from gshtui.tools.shell.command_output import Capture

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ObeyedFiles, ProjectSandbox
    from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal
    from gshtui.guard.sandbox.sandbox_run import SandboxRun


class End(enum.Enum):
    """What ended a run."""

    EXIT = "exit"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


class Run(msgspec.Struct):
    """How a run ended."""

    end: End
    code: int
    seconds: float
    ended: list[str]
    """Processes that had to be ended with the command."""
    kept: list[str]
    """Processes that detached themselves and are still running."""
    sandboxed: str = ""
    """What it could reach, if it ran in the sandbox."""
    networked: bool = False
    """Whether it had the network there, or some hosts of it."""
    moved: list[str] = msgspec.field(default_factory=list[str])
    """What it made that other programs would obey, and where it is kept now."""
    refused: list[SandboxRefusal] = msgspec.field(default_factory=list["SandboxRefusal"])
    """What the sandbox refused to it."""
    read_in: Path | None = None
    """Where it started, if it is a line that only reads, in a sandbox of its own."""
    walls: Callable[[str], bool] | None = None
    """Whether what it named so can only be read there; `None`: it ran in no sandbox, or one in which nothing can."""
    secrets: tuple[Path, ...] = ()
    """Files of the project that it could not read there."""
    project: Path | None = None
    began: bool = True
    """The command itself was started, not only its sandbox."""

    @property
    def shell_code(self) -> int:
        """Its exit code as a shell says it: 128 and the signal that ended it."""
        return self.code if self.code >= 0 else 128 - self.code

    def with_refusals_in(self, output: str) -> Run:
        """The run with the refusals that only its output tells of. Blocks for a moment.

        Of a run that succeeded, a message counts only if what it names can be shown to be read-only there.
        """
        if not self.sandboxed or (not self.code and self.walls is None):
            return self
        from gshtui.guard.sandbox.sandbox_refusal import NETWORK, hidden_in, refusals_in, unreadable_in

        if self.read_in is not None:
            told = hidden_in(output, self.read_in)
        else:
            told = refusals_in(output, network=self.networked, is_read_only=None if self.code else self.walls)
            told += unreadable_in(output, self.secrets, self.project) if self.project is not None else []
        known = {each.subject for each in self.refused}
        found = [*self.refused, *(each for each in told if each.subject not in known)]
        if any(each.kind == "host" and each.subject != NETWORK for each in found):
            found = [each for each in found if each.subject != NETWORK]  # it is named
        return replace(self, refused=found)

    @property
    def refused_writes(self) -> list[SandboxRefusal]:
        """What it could not write, so that it has not done all that it was to do, whatever its exit code."""
        return [each for each in self.refused if each.kind in ("path", "limit")]

    @property
    def sandbox_use(self) -> SandboxUse | None:
        """What became of it in the sandbox; `None`: it ran in none."""
        if not self.sandboxed:
            return None
        # What holds keys is asked about where a command names it, not because one came upon it.
        refused = [each for each in self.refused if each.kind != "hidden" or self.read_in is not None]
        hosts = tuple(dict.fromkeys(each.host for each in refused if each.host))
        only_hosts = all(each.host for each in refused)
        return SandboxUse(tuple(each.sentence for each in refused), hosts if only_hosts else ())


class Start(msgspec.Struct, frozen=True):
    """What is started, where, with which variables and which standard input."""

    argv: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str]
    stdin: bytes = b""
    mark: str = ""
    """Names the call in its processes' environment, so that another process can find them; empty: a new one."""


async def run_in_sandbox(
    sandbox: ProjectSandbox,
    start: Start,
    limit: float,
    cancelled: asyncio.Event,
    capture: Capture,
    errors: Capture | None = None,
) -> Run:
    """Run it where it can change nothing but the project. Arguments and errors are those of `run_supervised`."""
    with file_access.explaining("Nothing was run: what it makes cannot be noted"):
        absent = await asyncio.to_thread(sandbox.absent)
    secrets: list[Path] = []
    try:
        secrets = await asyncio.to_thread(sandbox.secrets)
        done = await run_supervised(start, limit, cancelled, capture, errors, sandbox)
    except OSError as error:
        raise file_access.explained(error, "Nothing was run") from error
    finally:  # also of a call that was cancelled
        moved = await asyncio.shield(asyncio.to_thread(_taken_out, sandbox, absent))
    networked = sandbox.network or bool(sandbox.hosts)
    return replace(
        done,
        sandboxed=sandbox.reach,
        networked=networked,
        moved=[f"{path.name} → {path}" for path in moved],
        secrets=tuple(secrets),
        project=sandbox.project,
        walls=partial(sandbox.is_read_only, folder=start.folder),
    )


def _taken_out(sandbox: ProjectSandbox, absent: ObeyedFiles) -> list[Path]:
    with file_access.explaining("Cannot take out of the project what other programs would obey"):
        return sandbox.take_out(absent)


async def run_supervised(
    start: Start,
    limit: float,
    cancelled: asyncio.Event,
    capture: Capture,
    errors: Capture | None = None,
    sandbox: ProjectSandbox | None = None,
) -> Run:
    """Start it and wait until it and everything it started are dealt with, even when this task is cancelled.

    Args:
        limit: seconds that it may take.
        cancelled: once set, it is ended.
        errors: reads its standard error; by default that joins the output.

    Raises `CommandError`: it cannot be started.
    """
    call = start.mark or new_id()
    environ = {**start.environ, MARK: call, "PWD": str(start.folder)}
    async with contextlib.AsyncExitStack() as surroundings:
        run: SandboxRun | None = None
        if sandbox is not None:
            run = await _prepared(surroundings, sandbox, start, environ)
        given = surroundings.enter_context(_input(start.stdin)) if start.stdin else None
        lead = surroundings.enter_context(dies_with_us(call)) if run is None else None
        try:
            shell = await processes.start_child(
                *(start.argv if run is None else run.argv),
                stdin=asyncio.subprocess.DEVNULL if given is None else given,
                stdout=capture.write_end,
                stderr=capture.write_end if errors is None else errors.write_end,
                cwd=start.folder,
                env=environ if run is None else {},
                start_new_session=True,
                pass_fds=() if run is None else run.descriptors,
            )
        except OSError as error:
            raise file_access.explained(error, f"Cannot start {start.argv[0]} in {start.folder}") from error
        except asyncio.CancelledError:
            # Its start was undone; what it has started meanwhile in sessions of their own has only the mark.
            await asyncio.shield(asyncio.to_thread(processes.end_call_processes, None, call))
            raise
        if run is not None:
            run.started(shell.pid)
        elif lead is not None:
            lead(shell.pid)
        surroundings.enter_context(processes.call_runs(shell.pid, call))
        done = await _ended(shell, cancelled, limit, [capture] if errors is None else [capture, errors], call)
        if run is None or sandbox is None:
            return done
        if sandbox.view is not None:
            return replace(done, sandboxed=sandbox.reach, read_in=start.folder, began=run.began)
    return replace(done, refused=run.refusals)


def _input(data: bytes) -> IO[bytes]:
    """A file to read standard input from: a pipe would have to be fed."""
    file = tempfile.TemporaryFile(prefix="gsh-input-")  # noqa: SIM115 - its reader closes it
    file.write(data)
    file.seek(0)
    return file


async def _prepared(
    surroundings: contextlib.AsyncExitStack, sandbox: ProjectSandbox, start: Start, environ: Mapping[str, str]
) -> SandboxRun:
    from gshtui.guard.sandbox.sandbox_run import SandboxRun  # with its proxy, only where there is a sandbox

    reads = sandbox.view is not None  # a reader starts nothing and fills no disk: there is nothing to watch
    run = SandboxRun(sandbox, start.argv, start.folder, environ, watched=not reads, asked=reads)
    with file_access.explaining("Cannot prepare the sandbox"):
        return await surroundings.enter_async_context(run)


async def _ended(
    shell: asyncio.subprocess.Process, cancelled: asyncio.Event, limit: float, captures: list[Capture], call: str
) -> Run:
    started = time.monotonic()
    for capture in captures:
        capture.close_write_end()
    try:
        end = await _end_of(shell, cancelled, limit)
    except asyncio.CancelledError:
        # Ends even if this task is cancelled again: the thread carries on by itself.
        await asyncio.shield(asyncio.to_thread(processes.end_call_processes, shell.pid, call))
        raise
    kept: list[str] = []
    if end is End.EXIT:
        for capture in captures:
            await capture.ended(0.05)
        ended, kept = await asyncio.shield(asyncio.to_thread(_survivors, shell.pid, call, started))
    else:
        ended = await asyncio.shield(asyncio.to_thread(processes.end_call_processes, shell.pid, call))
    for capture in captures:
        await capture.ended(0.05 if kept else 1.0)
    return Run(end, await _exit_code(shell), time.monotonic() - started, ended, kept)


async def _end_of(shell: asyncio.subprocess.Process, cancelled: asyncio.Event, limit: float) -> End:
    exited = asyncio.ensure_future(shell.wait())
    stopped = asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait((exited, stopped), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if exited.done():
            return End.EXIT
        return End.CANCELLED if stopped.done() else End.TIMEOUT
    finally:
        exited.cancel()
        stopped.cancel()


async def _exit_code(shell: asyncio.subprocess.Process) -> int:
    """Return the shell's exit code; SIGKILL's when the shell cannot even be killed because it hangs in the kernel."""
    try:
        async with time_limit(2):
            return await shell.wait()
    except TimeoutError:
        return -signal.SIGKILL


def _survivors(leader: int, call: str, started: float) -> tuple[list[str], list[str]]:
    """After a normal end, end background jobs and leave processes in other sessions. Return both names."""
    living = processes.call_processes(leader, call, time.monotonic() - started)
    jobs = processes.in_session(living, leader)
    names = [processes.process_name(job) for job in jobs]
    processes.end_processes(jobs)
    apart = [process for process in living if process not in jobs]
    return names, [processes.process_name(process) for process in apart]


_WATCH = f"""
trap '' HUP INT QUIT TERM
left=
while read -r call pid; do
    still=
    for each in $left; do [ "${{each%:*}}" = "$call" ] || still="$still $each"; done
    case $pid in
        -) left=$still ;;
        *) left="$still $call:${{pid#?}}" ;;
    esac
done
for each in $left; do
    pid=${{each#*:}} call=${{each%:*}}
    if [ "$pid" ]; then
        kill -s KILL -- "-$pid"
        continue
    fi
    for file in /proc/[0-9]*/environ; do
        grep -qF "{MARK}=$call" "$file" || continue
        pid=${{file#/proc/}} pid=${{pid%/environ}}
        kill -s KILL -- "-$pid" || kill -s KILL "$pid"
    done
done
"""
"""Reads which calls run until nobody can write any more: `CALL +` is about to start, `CALL +PID` leads a group and
`CALL -` is over. What was about to start is found by its mark, where there is a `/proc`: it has its environment before
it lets go of this pipe."""
_watcher: list[subprocess.Popen[bytes]] = []


@contextlib.contextmanager
def dies_with_us(call: str) -> Generator[Callable[[int], None]]:
    """Have what is started within the block killed if this process ends there without doing so itself. `call`: the mark
    in the environment of what is started.

    Yields:
        Takes the group that the started process leads.
    """
    _tell(f"{call} +\n")
    try:
        yield lambda group: _tell(f"{call} +{group}\n")
    finally:
        _tell(f"{call} -\n")


def _tell(line: str) -> None:
    """Tell the watcher, started with the first command; without one, a command is only not looked after."""
    with contextlib.suppress(OSError):
        if not _watcher:
            _watcher.append(
                subprocess.Popen(
                    ("/bin/sh", "-c", _WATCH),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={"PATH": os.defpath},
                    start_new_session=True,
                )
            )
        stdin = _watcher[0].stdin
        assert stdin is not None
        os.write(stdin.fileno(), line.encode())
