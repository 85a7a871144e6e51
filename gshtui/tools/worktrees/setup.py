"""The set-up command of a new worktree, from the configuration: run once, with consent to its exact arguments.

Refuses to run anything by itself: whoever makes the worktree brings the consent, and without one it is only mentioned.
The command gets the environment that agents' commands get, no terminal, and a time limit.
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gshtui.bus.ids import new_id
from gshtui.guard.sanitise import one_line, plain
from gshtui.system import child
from gshtui.tools import processes
from gshtui.tools.environment import MARK, scrubbed

SETUP_WITHIN = 600.0
"""Seconds."""
_TAIL = 4_096

Consent = Callable[[tuple[str, ...], Path], Awaitable[bool]]
"""Whether these very arguments may be run in this folder."""


@dataclass(frozen=True, slots=True)
class SetUp:
    """What came of a set-up command. `note` is a sentence for people."""

    ran: bool
    ok: bool
    note: str


async def no_consent(_argv: tuple[str, ...], _folder: Path) -> bool:
    """Nobody has agreed."""
    return False


async def set_up(
    argv: Sequence[str], folder: Path, consent: Consent, *, agreed: bool = False, timeout: float = SETUP_WITHIN
) -> SetUp:
    """Run the command, when that is agreed to. Never raises for what the command does.

    Args:
        agreed: consent to these very arguments was given with the worktree itself.
    """
    words = one_line(shlex.join(argv), 200)
    if not agreed and not await consent(tuple(argv), folder):
        return SetUp(False, True, f"The set-up command `{words}` was not run: nobody agreed to it (setup=true does).")
    call = new_id()
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=folder,
            env=scrubbed(os.environ) | {MARK: call},
            start_new_session=True,
        )
    except OSError as error:
        return SetUp(False, False, f"The set-up command `{words}` cannot be started: {error.strerror or error}.")
    assert process.stdout is not None
    tail = b""
    try:
        async with asyncio.timeout(timeout):
            while block := await process.stdout.read(65_536):
                tail = (tail + block)[-_TAIL:]
            code = await process.wait()
    except TimeoutError:
        return SetUp(True, False, f"The set-up command `{words}` was ended after {timeout:g} s.{_said(tail)}")
    finally:
        if process.returncode is None:
            await asyncio.shield(asyncio.to_thread(processes.end_family, process.pid, call))
            await child.kill(process)
    if code:
        return SetUp(True, False, f"The set-up command `{words}` ended with {code}.{_said(tail)}")
    return SetUp(True, True, f"The set-up command `{words}` ran.")


def _said(tail: bytes) -> str:
    lines = [line for line in plain(tail.decode("utf-8", "replace")).splitlines() if line.strip()]
    return f" Its last words: {one_line(' / '.join(lines[-3:]), 300)}" if lines else ""
