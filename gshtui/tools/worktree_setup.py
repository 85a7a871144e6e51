"""The set-up command of a new worktree: run once, and only if a person agrees to its exact arguments."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval import Call, Gate
from gshtui.system import processes
from gshtui.system import processes as child
from gshtui.system.environment import MARK, command_environment
from gshtui.system.ids import new_id
from gshtui.text.sanitise import one_line, plain, visible

SETUP_WITHIN = 600.0
"""Seconds."""
_TAIL = 4_096

Consent = Callable[[tuple[str, ...], Path], Awaitable[bool]]
"""Asks whether exactly these arguments may run in this folder."""


@dataclass(frozen=True, slots=True)
class SetupResult:
    """Result of a set-up command. `note` is a sentence for people."""

    ran: bool
    ok: bool
    note: str


async def no_consent(_argv: tuple[str, ...], _folder: Path) -> bool:
    """Refuse."""
    return False


async def run_setup(argv: Sequence[str], folder: Path, consent: Consent, *, agreed: bool = False) -> SetupResult:
    """Run the command if it is agreed to. Never raises for what the command does.

    Args:
        agreed: a person agreed to exactly these arguments along with the worktree.
    """
    words = one_line(shlex.join(argv), 200)
    if not agreed and not await consent(tuple(argv), folder):
        return SetupResult(
            False, True, f"The set-up command `{words}` was not run: nobody approved it (setup=true does)."
        )
    call = new_id()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env=command_environment(os.environ) | {MARK: call},
            start_new_session=True,
        )
    except OSError as error:
        return SetupResult(False, False, f"Cannot start the set-up command `{words}`: {error.strerror or error}.")
    assert process.stdout is not None
    tail = b""
    try:
        async with asyncio.timeout(SETUP_WITHIN):
            while block := await process.stdout.read(65_536):
                tail = (tail + block)[-_TAIL:]
            code = await process.wait()
    except TimeoutError:
        return SetupResult(
            True, False, f"The set-up command `{words}` was ended after {SETUP_WITHIN:g} s.{_said(tail)}"
        )
    finally:
        if process.returncode is None:
            await asyncio.shield(asyncio.to_thread(processes.end_call_processes, process.pid, call))
            await child.kill_child(process)
    if code:
        return SetupResult(True, False, f"The set-up command `{words}` failed with exit code {code}.{_said(tail)}")
    return SetupResult(True, True, f"The set-up command `{words}` succeeded.")


def _said(tail: bytes) -> str:
    lines = [line for line in plain(tail.decode("utf-8", "replace")).splitlines() if line.strip()]
    return f" Its last output: {one_line(' / '.join(lines[-3:]), 300)}" if lines else ""


TOOL = "worktree_setup"
WAIT = 120.0
"""Time to wait for an answer, in seconds."""


def consent_by_gate(gate: Gate, agent: str, wait: float = WAIT) -> Consent:
    """Ask on behalf of this agent; `always` holds for the same arguments in the same project."""

    async def consent(argv: tuple[str, ...], folder: Path) -> bool:
        words = shlex.join(argv)
        call = Call(agent, "", new_id(), TOOL, {"command": words, "folder": str(folder)})
        question = Assessment(
            Effect.EXECUTE,
            visible(words),
            inside=False,
            detail=f"The project's set-up command, in the new worktree {visible(str(folder))}:\n{visible(words)}",
            key=words,
            pattern=words,
        )
        try:
            async with asyncio.timeout(wait):
                return (await gate.review(call, question)).allowed
        except TimeoutError:
            return False

    return consent
