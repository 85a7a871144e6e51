"""The `bash` tool: run one command in a fresh shell, with a time limit, and leave nothing behind.

The shell has no terminal, no input, no start-up files and none of the person's keys. When the command ends, is
cancelled or times out, every process it started is ended too, except those that detached on purpose before a normal
end. Output and errors share one pipe: only so do they come in the order in which they were written. Read from two, the
lines of a loop that prints to both in turn were in order in 3 of 200 runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Mark, Outcome
from gshtui.commands.schema import PLAIN, RARE, ToolParameters
from gshtui.guard.policy import shell_policy
from gshtui.guard.secrets.child_environment import agent_environment, command_environment
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.files import path_location
from gshtui.tools.files.workspace import AssessedLine, ToolConfig, Workspace
from gshtui.tools.shell.command_output import Capture, Spool, output_text, show_output
from gshtui.tools.shell.shell_assessment import assess_line, leads_to
from gshtui.tools.shell.shell_process import End, Run, Start, run_in_sandbox, run_supervised

if TYPE_CHECKING:
    from gshtui.guard.policy.shell_policy import Judgement
    from gshtui.guard.sandbox.sandbox import ProjectSandbox

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
    return replace(assessment, reach=sandbox.reach)


async def _sandbox(workspace: Workspace, invocation: Invocation) -> ProjectSandbox | str:
    """The sandbox of the caller's project; or why there is none."""
    sandboxes = workspace.config.sandboxes
    if sandboxes is None:
        return "there is none here"
    for host in invocation.hosts:
        sandboxes.grant_host(invocation.session, host)
    return await sandboxes.sandbox(Path(os.path.realpath(invocation.project)), invocation.session)


async def run(workspace: Workspace, invocation: Invocation, parameters: BashParameters) -> Outcome:
    config = workspace.config
    command = _checked(invocation, parameters.command)
    folder = await asyncio.to_thread(_folder, invocation, parameters.working_dir)
    path_location.confirm_unchanged(workspace, invocation, folder)
    limit = min(parameters.timeout_ms or config.bash_timeout_ms, config.max_timeout_ms) / 1000
    from gshtui.guard.policy.shell_policy import ENVIRONMENT, judge

    judged = await asyncio.to_thread(judge, command, folder.real, invocation.project)
    ends = await asyncio.to_thread(leads_to, command, folder.real, invocation.project)
    _confirm_unchanged(workspace, invocation, AssessedLine(judged.contained and folder.inside, ends), judged)
    # A read-only command may run without a question, so it must not start programs that the repository supplies.
    reads = judged.reads and invocation.caller.is_agent
    environ = _environment(config, invocation) | (dict(ENVIRONMENT) if reads else {})
    start = Start((config.bash, "--norc", "--noprofile", "-c", command), folder.real, environ)
    must = invocation.sandboxed or parameters.sandbox
    view = await _reading_sandbox(workspace, invocation, folder, judged) if reads and not must else None
    spool = Spool(config.max_full_bytes)
    try:
        capture = Capture(spool, invocation.output)
        try:
            if must:
                done = await _in_sandbox(workspace, invocation, start, limit, capture)
            else:
                done = await run_supervised(start, limit, invocation.cancelled, capture, sandbox=view)
        finally:
            capture.close()
        if view is not None and not done.began and done.end is End.EXIT:
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
        return agent_environment(config.environ, config.environment)
    return command_environment(config.environ)


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


async def _in_sandbox(
    workspace: Workspace, invocation: Invocation, start: Start, limit: float, capture: Capture
) -> Run:
    """Run it where it can change nothing but the project. Raises `CommandError` where that is impossible by now."""
    sandbox = await _sandbox(workspace, invocation)
    if isinstance(sandbox, str):
        raise CommandError(f"The command may run in the sandbox only, and cannot run there: {sandbox}.")
    return await run_in_sandbox(sandbox, start, limit, invocation.cancelled, capture)


def _outcome(spool: Spool, done: Run, limit: float, fault: str, most: int) -> Outcome:
    full, gap, size = output_text(spool)
    done = done.with_refusals_in(full)
    notes = "\n".join(_notes(done, limit, fault))
    seen = show_output(full, most, notes, "(no output)", gap)
    return Outcome(
        data={
            "exit_code": done.code,
            "timed_out": done.end is End.TIMEOUT,
            "cancelled": done.end is End.CANCELLED,
            "seconds": round(done.seconds, 3),
            "bytes": spool.size,
            "sandboxed": bool(done.sandboxed),
            "refused": [{"kind": each.kind, "subject": each.subject, "allow": each.allow} for each in done.refused],
            "output": seen.output,
        },
        sandbox=done.sandbox_use,
        text=seen.text,
        is_error=done.code != 0 or done.end is not End.EXIT,
        full=full,
        notes=notes,
        gap=gap,
        cut=seen.cut,
        bytes=size,
        timed_out=done.end is End.TIMEOUT,
    )


def _notes(done: Run, limit: float, fault: str) -> list[str]:
    notes: list[str] = []
    others = f"; ended with it: {_few(done.ended)}" if done.ended else ""
    if done.end is End.TIMEOUT:
        notes.append(f"[timed out after {limit:g} s and was ended{others}]")
    elif done.end is End.CANCELLED:
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
    failed = done.code or done.end is not End.EXIT
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
