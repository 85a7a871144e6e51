"""A worktree's set-up or tear-down command as a process, in the sandbox where that works; all that it starts ends."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui.guard.secrets.child_environment import agent_environment, command_environment
from gshtui.system.caller_environment import MARK, caller_environ
from gshtui.system.ids import new_id
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import literal, one_line

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
