"""The `bash` tool: run one command in a fresh shell, with a time limit, and leave nothing behind.

The shell has no terminal, no input, no start-up files and none of the person's keys. When the command ends, is
cancelled or times out, every process it started is ended too, except those that detached on purpose before a normal
end.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Mark, Outcome, SandboxUse
from gshtui.commands.schema import PLAIN, RARE, ToolParameters
from gshtui.guard import shell_policy
from gshtui.guard.child_environment import agent_environment, command_environment
from gshtui.system import processes
from gshtui.system.environment import MARK
from gshtui.system.ids import new_id
from gshtui.text.sanitise import literal, one_line
from gshtui.tools import file_access, path_location
from gshtui.tools.command_output import Capture, Spool, output_text, show_output
from gshtui.tools.shell_assessment import assess_line, leads_to
from gshtui.tools.workspace import AssessedLine, ToolConfig, Workspace

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ObeyedFiles, ProjectSandbox
    from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal
    from gshtui.guard.sandbox.sandbox_run import SandboxRun
    from gshtui.guard.shell_policy import Judgement

DESCRIPTION = """\
Run a command line in a fresh bash in the working folder: builds, tests, git. There is no terminal and no input: pass \
-y or -m, start no editor or pager. cd and variables last for one call: `cd web && npm test`. \
Background jobs end with it; to keep one: `setsid make serve >log 2>&1 &`. For files prefer `read`, `glob`, `grep`, \
`edit` and `write`."""
DETAILS = """\
Output and errors come together; long output is shortened in the middle. Keys and tokens are removed from \
the environment."""
_LONGEST = 131_000
"""The longest argument that the system accepts, in bytes."""
_NOT_STARTED = "Nothing was run: the sandbox in which lines that only read run here did not start."
_ASK_AGAIN = "If you run it again, the person is asked whether it may run without."


class BashParameters(ToolParameters):
    """What to run."""

    command: Annotated[str, Mark.VERBATIM] = Field(description="Command line for bash", json_schema_extra=PLAIN)
    timeout_ms: int = Field(default=0, ge=0, description="Time limit; 0: 120000; at most an hour")
    working_dir: str = Field(
        default="", description="Folder to run in; empty: the working folder", json_schema_extra=RARE
    )
    sandbox: bool = Field(default=False, description="It can change only the project, without network")


class _End(enum.Enum):
    EXIT = "exit"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"


@dataclass(slots=True)
class _Run:
    """How a run ended."""

    end: _End
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
    moved: list[str] = field(default_factory=list[str])
    """What it made that other programs would obey, and where it is kept now."""
    refused: list[SandboxRefusal] = field(default_factory=list["SandboxRefusal"])
    """What the sandbox refused to it."""
    read_in: Path | None = None
    """Where it started, if it is a line that only reads, in a sandbox of its own."""
    began: bool = True
    """The command itself was started, not only its sandbox."""


async def assess(workspace: Workspace, invocation: Invocation, parameters: BashParameters) -> Assessment:
    """Warn the person who decides of what the line seems to do; no such reading is complete."""
    folder = await asyncio.to_thread(_folder, invocation, parameters.working_dir)
    workspace.record_assessed(invocation, parameters.working_dir or ".", folder.real)
    assessment = await asyncio.to_thread(assess_line, parameters.command, folder, invocation.project)
    if assessment.reads and await _has_no_view(workspace.config, parameters.command, folder):
        why = "the sandbox in which such lines run here did not start (rule reader)"
        assessment = replace(assessment, inside=False, reads=False, why=why)
    ends = await asyncio.to_thread(leads_to, parameters.command, folder.real, invocation.project)
    workspace.record_line(invocation, AssessedLine(assessment.inside, ends))
    if not assessment.sandbox or workspace.config.sandboxes is None:
        return replace(assessment, sandbox=False)
    if assessment.reads and not await workspace.config.sandboxes.is_proven():
        return replace(assessment, sandbox=False)  # its run waits for the self-test
    sandbox = await _sandbox(workspace, invocation)
    if isinstance(sandbox, str):
        why = f"{assessment.why}; there is no sandbox: {sandbox}" if assessment.why else ""
        return replace(assessment, sandbox=False, why=why)
    return assessment


async def _sandbox(workspace: Workspace, invocation: Invocation) -> ProjectSandbox | str:
    """The sandbox of the caller's project; or why there is none."""
    sandboxes = workspace.config.sandboxes
    if sandboxes is None:
        return "there is none here"
    for host in invocation.hosts:
        sandboxes.grant_host(invocation.session, host)
    return await sandboxes.sandbox(Path(os.path.realpath(invocation.project)), invocation.session)


async def run(workspace: Workspace, invocation: Invocation, parameters: BashParameters) -> Outcome:
    """Run it."""
    config = workspace.config
    command = _checked(invocation, parameters.command)
    folder = await asyncio.to_thread(_folder, invocation, parameters.working_dir)
    path_location.confirm_unchanged(workspace, invocation, folder)
    limit = min(parameters.timeout_ms or config.bash_timeout_ms, config.max_timeout_ms) / 1000
    from gshtui.guard.shell_policy import ENVIRONMENT, judge

    judged = await asyncio.to_thread(judge, command, folder.real, invocation.project)
    ends = await asyncio.to_thread(leads_to, command, folder.real, invocation.project)
    _confirm_unchanged(workspace, invocation, AssessedLine(judged.contained and folder.inside, ends), judged)
    # A read-only command may run without a question, so it must not start programs that the repository supplies.
    reads = judged.reads and invocation.caller.is_agent
    environ = _environment(config, invocation) | (dict(ENVIRONMENT) if reads else {})
    start = _Start((config.bash, "--norc", "--noprofile", "-c", command), folder.real, environ)
    must = invocation.sandboxed or parameters.sandbox
    view = await _reading_sandbox(workspace, invocation, folder, judged) if reads and not must else None
    spool = Spool(config.max_full_bytes)
    try:
        capture = Capture(spool, invocation.output)
        try:
            if must:
                done = await _in_sandbox(workspace, invocation, start, limit, capture)
            else:
                done = await _supervised(invocation, start, limit, capture, view)
        finally:
            capture.close()
        if view is not None and not done.began and done.end is _End.EXIT:
            raise await asyncio.to_thread(_not_started, config, folder.project, spool)
        most = invocation.limit(config.max_output_bytes)
        return await asyncio.to_thread(_outcome, spool, done, limit, capture.fault, most)
    finally:
        spool.close()


def _wants_view(config: ToolConfig, folder: path_location.Location, judged: Judgement) -> bool:
    """Whether a line that only reads is to run in a sandbox, which would not change what it shows."""
    return config.sandboxes is not None and not judged.machine and folder.real.is_relative_to(folder.project)


async def _has_no_view(config: ToolConfig, command: str, folder: path_location.Location) -> bool:
    """Whether the sandbox that a line that only reads is to run in has failed to start."""
    if config.sandboxes is None or not config.sandboxes.has_failed_to_read(folder.project):
        return False
    return _wants_view(
        config, folder, await asyncio.to_thread(shell_policy.judge, command, folder.real, folder.project)
    )


async def _reading_sandbox(
    workspace: Workspace, invocation: Invocation, folder: path_location.Location, judged: Judgement
) -> ProjectSandbox | None:
    """Where a line that only reads runs; `None`: in no sandbox, as none holds here, or it would change what is shown.

    Raises `CommandError` if the one of this project has failed to start since the line was allowed unasked.
    """
    config = workspace.config
    if config.sandboxes is None or not _wants_view(config, folder, judged):
        return None
    if config.sandboxes.has_failed_to_read(folder.project):
        before = workspace.assessed_line(invocation)
        if before is None or before.inside:
            raise CommandError(_NOT_STARTED, hint=_ASK_AGAIN)
    return await config.sandboxes.reading_sandbox(folder.project, judged.folders, (config.bash, *judged.programs))


def _not_started(config: ToolConfig, project: Path, spool: Spool) -> CommandError:
    """Remember that the sandbox of this project's readers does not start, and say so with what was said of it."""
    if config.sandboxes is not None:
        config.sandboxes.reading_failed(project)
    said = one_line(literal(output_text(spool)[0].strip()), limit=200)
    return CommandError(f"{_NOT_STARTED.removesuffix('.')}: {said}." if said else _NOT_STARTED, hint=_ASK_AGAIN)


def _confirm_unchanged(workspace: Workspace, invocation: Invocation, now: AssessedLine, judged: Judgement) -> None:
    """Raise `CommandError` if the line reaches further than it did when it was allowed: a link has been changed."""
    before = workspace.assessed_line(invocation)
    if before is None:
        return
    fresh = [end for end in now.leads_to if end not in before.leads_to]
    if not fresh and (now.inside or not before.inside):
        return
    why = fresh[0] if fresh else judged.sentence
    raise CommandError(
        f"What this line names has changed since it was allowed: {why}.",
        hint="Nothing was run. Look at the links in its paths before you try again.",
    )


def _environment(config: ToolConfig, invocation: Invocation) -> dict[str, str]:
    """A person has their own variables, but for keys; an agent what its commands commonly need."""
    if invocation.caller.is_agent:
        return agent_environment(os.environ, config.environment)
    return command_environment(os.environ)


def _checked(invocation: Invocation, command: str) -> str:
    if not command.strip():
        raise CommandError("The command is empty.")
    if "\0" in command or len(command.encode("utf-8", "replace")) > _LONGEST:
        raise CommandError(
            "The command contains a NUL or is too long for a system call.", hint="Write it to a script first."
        )
    if invocation.caller.is_agent and (why := shell_policy.refused(command)):
        raise CommandError(f"This command is always refused: {why}.")
    return command.encode("utf-8", "replace").decode()


def _folder(invocation: Invocation, asked: str) -> path_location.Location:
    place = path_location.locate(invocation, asked or ".")
    if place.leaves:
        raise CommandError(f"working_dir leads outside the project, to {place.shown}.", hint="Name it by that path.")
    if not place.real.is_dir():
        what = "is not a folder" if place.real.exists() else "does not exist (any more)"
        raise CommandError(
            f"The folder {place.shown} {what}, so nothing can run there.", hint="Set working_dir to another folder."
        )
    return place


@dataclass(frozen=True, slots=True)
class _Start:
    """What is started, where, and with which variables."""

    argv: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str]


async def _in_sandbox(
    workspace: Workspace, invocation: Invocation, start: _Start, limit: float, capture: Capture
) -> _Run:
    """Run it where it can change nothing but the project. Raises `CommandError` where that is impossible by now."""
    sandbox = await _sandbox(workspace, invocation)
    if isinstance(sandbox, str):
        raise CommandError(f"The command may run in the sandbox only, and cannot run there: {sandbox}.")
    absent = await asyncio.to_thread(sandbox.absent)
    try:
        done = await _supervised(invocation, start, limit, capture, sandbox)
    finally:  # also of a call that was cancelled
        moved = await asyncio.shield(asyncio.to_thread(_taken_out, sandbox, absent))
    networked = sandbox.network or bool(sandbox.hosts)
    return replace(
        done, sandboxed=sandbox.reach, networked=networked, moved=[f"{path.name} → {path}" for path in moved]
    )


def _taken_out(sandbox: ProjectSandbox, absent: ObeyedFiles) -> list[Path]:
    try:
        return sandbox.take_out(absent)
    except OSError as error:
        raise file_access.explained(error, "Cannot take out of the project what other programs would obey") from error


async def _supervised(
    invocation: Invocation, start: _Start, limit: float, capture: Capture, sandbox: ProjectSandbox | None = None
) -> _Run:
    """Start the shell and wait until it and everything it started are dealt with, even when this task is cancelled."""
    call = new_id()
    environ = {**start.environ, MARK: call, "PWD": str(start.folder)}
    async with contextlib.AsyncExitStack() as surroundings:
        run: SandboxRun | None = None
        if sandbox is not None:
            run = await _prepared(surroundings, sandbox, start, environ)
        try:
            shell = await asyncio.create_subprocess_exec(
                *(start.argv if run is None else run.argv),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=capture.write_end,
                stderr=capture.write_end,
                cwd=start.folder,
                env=environ if run is None else {},
                start_new_session=True,
                pass_fds=() if run is None else run.descriptors,
            )
        except OSError as error:
            raise file_access.explained(error, f"Cannot start {start.argv[0]} in {start.folder}") from error
        if run is not None:
            run.started(shell.pid)
        done = await _ended(shell, invocation.cancelled, limit, capture, call)
        if run is None or sandbox is None:
            return done
        if sandbox.view is not None:
            return replace(done, sandboxed=sandbox.reach, read_in=start.folder, began=run.began)
    return replace(done, refused=run.refusals)


async def _prepared(
    surroundings: contextlib.AsyncExitStack, sandbox: ProjectSandbox, start: _Start, environ: Mapping[str, str]
) -> SandboxRun:
    from gshtui.guard.sandbox.sandbox_run import SandboxRun  # with its proxy, only where there is a sandbox

    reads = sandbox.view is not None  # a reader starts nothing and fills no disk: there is nothing to watch
    run = SandboxRun(sandbox, start.argv, start.folder, environ, watched=not reads, asked=reads)
    try:
        return await surroundings.enter_async_context(run)
    except OSError as error:
        raise file_access.explained(error, "Cannot prepare the sandbox") from error


async def _ended(
    shell: asyncio.subprocess.Process, cancelled: asyncio.Event, limit: float, capture: Capture, call: str
) -> _Run:
    started = time.monotonic()
    capture.close_write_end()
    try:
        end = await _end_of(shell, cancelled, limit)
    except asyncio.CancelledError:
        # Ends even if this task is cancelled again: the thread carries on by itself.
        await asyncio.shield(asyncio.to_thread(processes.end_call_processes, shell.pid, call))
        raise
    kept: list[str] = []
    if end is _End.EXIT:
        await capture.ended(0.05)
        ended, kept = await asyncio.shield(asyncio.to_thread(_survivors, shell.pid, call))
    else:
        ended = await asyncio.shield(asyncio.to_thread(processes.end_call_processes, shell.pid, call))
    await capture.ended(0.05 if kept else 1.0)
    return _Run(end, await _exit_code(shell), time.monotonic() - started, ended, kept)


async def _end_of(shell: asyncio.subprocess.Process, cancelled: asyncio.Event, limit: float) -> _End:
    exited = asyncio.ensure_future(shell.wait())
    stopped = asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait((exited, stopped), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        if exited.done():
            return _End.EXIT
        return _End.CANCELLED if stopped.done() else _End.TIMEOUT
    finally:
        exited.cancel()
        stopped.cancel()


async def _exit_code(shell: asyncio.subprocess.Process) -> int:
    """Return the shell's exit code; SIGKILL's when the shell cannot even be killed because it hangs in the kernel."""
    try:
        async with asyncio.timeout(2):
            return await shell.wait()
    except TimeoutError:
        return -signal.SIGKILL


def _survivors(leader: int, call: str) -> tuple[list[str], list[str]]:
    """After a normal end, end background jobs and leave processes in other sessions. Return both names."""
    living = processes.call_processes(leader, call)
    jobs = processes.in_session(living, leader)
    names = [processes.process_name(job) for job in jobs]
    processes.end_processes(jobs)
    apart = [process for process in living if process not in jobs]
    return names, [processes.process_name(process) for process in apart]


def _outcome(spool: Spool, done: _Run, limit: float, fault: str, most: int) -> Outcome:
    full, gap, size = output_text(spool)
    if done.sandboxed and done.code:
        from gshtui.guard.sandbox.sandbox_refusal import hidden_in, refusals_in

        known = {each.subject for each in done.refused}
        told = refusals_in(full, network=done.networked) if done.read_in is None else hidden_in(full, done.read_in)
        done = replace(done, refused=[*done.refused, *(each for each in told if each.subject not in known)])
    notes = "\n".join(_notes(done, limit, fault))
    seen = show_output(full, most, notes, "(no output)", gap)
    return Outcome(
        data={
            "exit_code": done.code,
            "timed_out": done.end is _End.TIMEOUT,
            "cancelled": done.end is _End.CANCELLED,
            "seconds": round(done.seconds, 3),
            "bytes": spool.size,
            "sandboxed": bool(done.sandboxed),
            "refused": [{"kind": each.kind, "subject": each.subject, "allow": each.allow} for each in done.refused],
            "output": seen.output,
        },
        sandbox=_sandbox_use(done),
        text=seen.text,
        is_error=done.code != 0 or done.end is not _End.EXIT,
        full=full,
        notes=notes,
        gap=gap,
        cut=seen.cut,
        bytes=size,
        timed_out=done.end is _End.TIMEOUT,
    )


def _sandbox_use(done: _Run) -> SandboxUse | None:
    if not done.sandboxed:
        return None
    hosts = tuple(dict.fromkeys(each.host for each in done.refused if each.host))
    only_hosts = all(each.host for each in done.refused)
    return SandboxUse(tuple(each.sentence for each in done.refused), hosts if only_hosts else ())


def _notes(done: _Run, limit: float, fault: str) -> list[str]:
    notes: list[str] = []
    others = f"; ended with it: {_few(done.ended)}" if done.ended else ""
    if done.end is _End.TIMEOUT:
        notes.append(f"[timed out after {limit:g} s and was ended{others}]")
    elif done.end is _End.CANCELLED:
        notes.append(f"[cancelled after {done.seconds:.1f} s{others}]")
    else:
        if done.code < 0:
            notes.append(f"[exit code: {128 - done.code}, ended by {_signal_name(-done.code)}]")
        elif done.code:
            notes.append(f"[exit code: {done.code}]")
        if done.ended:
            notes.append(f"[background jobs ended with the call: {_few(done.ended)}; `setsid` keeps one alive]")
    if done.kept:
        notes.append(f"[still running, detached: {_few(done.kept)}]")
    failed = done.code or done.end is not _End.EXIT
    if done.sandboxed and failed and (done.read_in is None or done.refused):
        notes.append(f"[ran in the sandbox: {done.sandboxed}]")
    notes += [f"[the sandbox: {each.sentence}]" for each in done.refused[:5]]
    if done.moved:
        notes.append(f"[not left in the project, since other programs would obey it: {_few(done.moved)}]")
    if fault:
        notes.append(f"[part of the output is missing: {fault}]")
    return notes


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
