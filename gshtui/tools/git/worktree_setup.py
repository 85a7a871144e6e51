"""A worktree's set-up and tear-down commands: run once each, and only if a person agrees to the exact arguments.

Both start what the repository supplies (build scripts, packages' hooks), so they have the sandbox of agents' commands
around them wherever that works.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval.gate import Call, Gate
from gshtui.guard.secrets.child_environment import agent_environment, command_environment
from gshtui.system.caller_environment import MARK, caller_environ
from gshtui.system.files import private_files
from gshtui.system.ids import new_id
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import literal, one_line, plain, visible
from gshtui.tools.git import setup_record
from gshtui.tools.git.setup_record import SetupRecord

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ObeyedFiles, ProjectSandbox
    from gshtui.guard.sandbox.sandbox_run import SandboxRun
    from gshtui.guard.sandbox.sandboxes import Sandboxes


_KEPT = 4 << 20
"""Bytes of a command's output that are kept: the last ones."""
_MOST = 5
"""Refusals, and files taken out, that are named."""


REFUSED = "The sandbox: "
"""How a sentence begins that says what it refused."""


class SetupProcess(msgspec.Struct, frozen=True):
    """What became of it.

    Attributes:
        printed: the end of its output, at most 4 MB.
        code: its exit code; `None`: it was ended, because it took too long.
        sandbox: whether it ran in the sandbox, as a sentence; empty: nobody offered one.
        refused: what the sandbox refused to it, with what would allow it, and what was taken out: a sentence each.
    """

    printed: bytes
    code: int | None
    sandbox: str = ""
    refused: tuple[str, ...] = ()


async def run_process(
    argv: Sequence[str], folder: Path, within: float, sandboxes: Sandboxes | None = None
) -> SetupProcess:
    """Run it in a worktree, and wait for its end. `within`: seconds until it is ended. `sandboxes`: gives the sandbox;
    where none works, it runs without. Raises `OSError`: it cannot be started.
    """
    if sandboxes is None:
        return await _ended(argv, folder, command_environment(caller_environ()), within)
    real = Path(await asyncio.to_thread(os.path.realpath, folder))
    sandbox = await _sandbox(argv, real, sandboxes)
    if isinstance(sandbox, str):
        done = await _ended(argv, folder, command_environment(caller_environ()), within)
        return replace(done, sandbox=f"It ran outside the sandbox: {sandbox}.")
    environ = agent_environment(caller_environ(), sandboxes.settings.environment)
    return await _ended_in(sandbox, argv, real, environ, within)


async def place_of(argv: Sequence[str], folder: Path, sandboxes: Sandboxes | None) -> str:
    """Where `run_process` would run it, as a sentence; empty where nobody offers a sandbox."""
    if sandboxes is None:
        return ""
    sandbox = await _sandbox(argv, Path(await asyncio.to_thread(os.path.realpath, folder)), sandboxes)
    if isinstance(sandbox, str):
        return f"It runs with all your rights, outside the sandbox: {sandbox}."
    return f"It runs in the sandbox: {sandbox.reach}."


async def _sandbox(argv: Sequence[str], folder: Path, sandboxes: Sandboxes) -> ProjectSandbox | str:
    """The sandbox for a command; or why it has none of ours, as the end of a sentence."""
    if len(argv) > 1 and os.path.basename(argv[0]) == "gsh-tui" and argv[1] == "sandbox":  # noqa: PTH119 - a word
        return "the command makes its own, and there is none within another"
    sandbox = await sandboxes.sandbox(folder)
    return sandbox if isinstance(sandbox, str) else await asyncio.to_thread(sandbox.with_programs, argv)


async def _ended_in(
    sandbox: ProjectSandbox, argv: Sequence[str], folder: Path, environ: Mapping[str, str], within: float
) -> SetupProcess:
    from gshtui.guard.sandbox.sandbox_refusal import refusals_in, unreadable_in
    from gshtui.guard.sandbox.sandbox_run import SandboxRun  # with its proxy, only where there is a sandbox

    call = new_id()
    absent = await asyncio.to_thread(sandbox.absent)
    moved: list[str] = []
    try:
        async with SandboxRun(sandbox, argv, folder, {**environ, MARK: call, "PWD": str(folder)}) as run:
            done = await _ended(run.argv, folder, {}, within, call, run)
    finally:  # also of one that was cancelled
        moved = await asyncio.shield(asyncio.to_thread(_taken_out, sandbox, absent))
    found = {each.subject: each for each in run.refusals}
    networked = sandbox.network or bool(sandbox.hosts)
    walls = None if done.code else partial(sandbox.is_read_only, folder=folder)
    printed = done.printed.decode("utf-8", "replace")
    told = refusals_in(printed, network=networked, is_read_only=walls)
    for each in (*told, *unreadable_in(printed, sandbox.secrets(), sandbox.project)):
        found.setdefault(each.subject, each)
    sentences = [f"{REFUSED}{each.sentence}." for each in list(found.values())[:_MOST]]
    return replace(done, sandbox=f"It ran in the sandbox: {sandbox.reach}.", refused=(*sentences, *moved))


def _taken_out(sandbox: ProjectSandbox, absent: ObeyedFiles) -> list[str]:
    """Take out what other programs would obey; a sentence for each file."""
    try:
        moved = sandbox.take_out(absent)
    except OSError as error:
        return [f"Cannot take out of the worktree what other programs would obey: {error.strerror or error}."]
    shown = [(one_line(literal(path.name), 100), one_line(literal(str(path)), 400)) for path in moved]
    why = "is not left in the worktree, since other programs would obey it"
    told = [f"{name} {why}: it is {to}." for name, to in shown]
    return [*told[:_MOST], *([f"{len(told) - _MOST} more were not left in it, either."] if len(told) > _MOST else [])]


async def _ended(
    argv: Sequence[str],
    folder: Path,
    environ: Mapping[str, str],
    within: float,
    call: str = "",
    run: SandboxRun | None = None,
) -> SetupProcess:
    """Start it, and return when it has ended, or has been ended; also when this task is cancelled.

    Args:
        call: the mark of its processes, if `environ` is not what they get.
        run: the sandbox that it starts in.
    """
    mark = call or new_id()
    try:
        process = await processes.start_child(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env=environ if run is not None else {**environ, MARK: mark},
            start_new_session=True,
            pass_fds=() if run is None else run.descriptors,
        )
    except asyncio.CancelledError:  # its start was undone; what it has started meanwhile has only the mark
        await asyncio.shield(asyncio.to_thread(processes.end_call_processes, None, mark))
        raise
    if run is not None:
        run.started(process.pid)
    assert process.stdout is not None
    printed = b""
    timed_out = False
    try:
        with processes.call_runs(process.pid, mark):
            async with time_limit(within):
                while block := await process.stdout.read(65_536):
                    printed = (printed + block)[-_KEPT:]
                await process.wait()
    except TimeoutError:
        timed_out = True
    finally:
        if process.returncode is None:
            await asyncio.shield(asyncio.to_thread(processes.end_call_processes, process.pid, mark))
        await processes.kill_child(process)
    return SetupProcess(printed, None if timed_out else process.returncode)


SETUP_WITHIN = 600.0
"""Seconds."""
_TAIL = 4_096


class Consent(Protocol):
    """Asks whether exactly these arguments may run in this folder."""

    async def __call__(self, argv: tuple[str, ...], folder: Path, refused: tuple[str, ...] = (), /) -> bool:
        """`refused`: they ran there and failed, for what the sandbox refused; may they once more, outside of it?"""
        ...


class SetupResult(msgspec.Struct, frozen=True):
    """Result of a set-up command. `note` is a sentence for people."""

    ran: bool
    ok: bool
    note: str
    said: str = ""
    """The note without what the command printed."""
    code: int | None = None
    """The exit code; `None`: it has none."""
    output: str = ""
    """The file that has what it printed; empty: none."""
    sandbox: str = ""
    """Whether it ran in the sandbox, as a sentence; empty: it was not run, or there are no sandboxes."""
    refused: tuple[str, ...] = ()
    """What the sandbox refused to it and what would allow it, a sentence each."""


async def no_consent(_argv: tuple[str, ...], _folder: Path, _refused: tuple[str, ...] = ()) -> bool:
    return False


async def run_setup(
    argv: Sequence[str],
    folder: Path,
    consent: Consent,
    *,
    agreed: bool = False,
    output: Path | None = None,
    sandboxes: Sandboxes | None = None,
) -> SetupResult:
    """Run the set-up command if it is agreed to. Never raises for what the command does.

    Args:
        agreed: a person agreed to exactly these arguments along with the worktree.
        output: folder that keeps all that it printed, in a file of its own, and a record of what became of it.
        sandboxes: gives the sandbox that it runs in; where none works it runs without, as it was agreed to.
    """
    words = one_line(shlex.join(argv), 200)
    if not agreed and not await consent(tuple(argv), folder):
        said = (
            f"The set-up command `{words}` was not run: nobody approved it (`setup=true` does, in a shell `--setup`)."
        )
        result = SetupResult(False, True, said, said)
    else:
        result = await _run_or_again("set-up", argv, folder, consent, output, sandboxes)
    if output is not None:
        record = SetupRecord(
            command=words,
            said=result.said,
            code=result.code,
            output=result.output,
            sandbox=result.sandbox,
            refused=result.refused,
        )
        with contextlib.suppress(OSError):  # the note says it all the same
            await asyncio.to_thread(setup_record.write, output, folder, record)
    return result


async def run_teardown(
    argv: Sequence[str],
    folder: Path,
    consent: Consent,
    *,
    agreed: bool = False,
    output: Path | None = None,
    sandboxes: Sandboxes | None = None,
) -> SetupResult:
    """Run the tear-down command in a worktree that is about to be removed, likewise. `output`: folder that keeps all
    that it printed, in a file of its own.
    """
    if not agreed and not await consent(tuple(argv), folder):
        words = one_line(shlex.join(argv), 200)
        return SetupResult(False, True, f"The tear-down command `{words}` was not run: nobody approved it.")
    return await _run_or_again("tear-down", argv, folder, consent, output, sandboxes)


async def _run_or_again(
    kind: str, argv: Sequence[str], folder: Path, consent: Consent, output: Path | None, sandboxes: Sandboxes | None
) -> SetupResult:
    """Run it; if it fails for what the sandbox refused, once more outside, where a person allows that."""
    result = await _run(kind, argv, folder, output, sandboxes)
    refused = tuple(each for each in result.refused if each.startswith(REFUSED))
    if result.ok or not refused or not await consent(tuple(argv), folder, refused):
        return result
    again = await _run(kind, argv, folder, output, None)
    sandbox = "It ran once more, outside the sandbox, as a person allowed it."
    return replace(again, sandbox=sandbox, note=f"{again.note} {sandbox}")


async def _run(
    kind: str, argv: Sequence[str], folder: Path, output: Path | None, sandboxes: Sandboxes | None
) -> SetupResult:
    words = one_line(shlex.join(argv), 200)
    try:
        done = await run_process(argv, folder, SETUP_WITHIN, sandboxes)
    except OSError as error:
        said = f"Cannot start the {kind} command `{words}`: {error.strerror or error}."
        return SetupResult(True, False, said, said)
    file, kept = await asyncio.to_thread(_keep, output, folder, done.printed)
    if done.code is None:
        said = f"The {kind} command `{words}` was ended after {SETUP_WITHIN:g} s."
    elif done.code:
        said = f"The {kind} command `{words}` failed with exit code {done.code}."
    else:
        said = f"The {kind} command `{words}` succeeded."
    ok = done.code == 0
    sandbox = f" {done.sandbox}" if done.sandbox and not ok else ""
    refused = "".join(f" {each}" for each in done.refused)
    note = f"{said}{sandbox}{refused}{'' if ok else _said(done.printed[-_TAIL:])}{kept}"
    return SetupResult(True, ok, note, said, done.code, file, done.sandbox, done.refused)


def _keep(output: Path | None, folder: Path, printed: bytes) -> tuple[str, str]:
    """Keep what a command printed. Returns the file, and a sentence that says where."""
    if output is None or not printed:
        return "", ""
    file = output / f"{folder.name}-{new_id()}.log"
    try:
        private_files.make_folder(output)
        private_files.write_whole(file, printed)
    except OSError as error:
        return "", f" Its output could not be kept: {error.strerror or error}."
    return str(file), f" Its output is in {one_line(str(file), 400)}."


def _said(tail: bytes) -> str:
    lines = [line for line in plain(tail.decode("utf-8", "replace")).splitlines() if line.strip()]
    return f" Its last output: {one_line(' / '.join(lines[-3:]), 300).removesuffix('.')}." if lines else ""


TOOL = "worktree_setup"
OUTSIDE = "worktree_setup_outside"
"""Another name, so that what was always allowed in the sandbox is asked about outside of it."""
WAIT = 120.0
"""Time to wait for an answer, in seconds."""


def consent_by_gate(
    gate: Gate,
    agent: str,
    wait: float = WAIT,
    *,
    what: str = "set-up command, in the new worktree",
    sandboxes: Callable[[], Sandboxes | None] = lambda: None,
) -> Consent:
    """Ask on behalf of this agent; `always` holds for the same arguments in the same project.

    Args:
        what: what the command is, and where it runs.
        sandboxes: gives those that the command will run in, for the question to say so.
    """

    async def consent(argv: tuple[str, ...], folder: Path, refused: tuple[str, ...] = ()) -> bool:
        words = shlex.join(argv)
        where = await place_of(argv, folder, sandboxes())
        if refused:
            where = "\n".join((*refused, "It runs once more, with all your rights, outside the sandbox."))
        call = Call(agent, "", new_id(), OUTSIDE if refused else TOOL, {"command": words, "folder": str(folder)})
        question = Assessment(
            Effect.EXECUTE,
            visible(words),
            inside=False,
            only_person=True,
            detail=f"The project's {what} {visible(str(folder))}:\n{visible(words)}\n{where}",
            key="" if refused else words,
            pattern="" if refused else words,
            warnings=("runs once more, outside the sandbox; what it has done already stays done",) if refused else (),
        )
        try:
            async with time_limit(wait):
                return (await gate.review(call, question)).allowed
        except TimeoutError:
            return False

    return consent
