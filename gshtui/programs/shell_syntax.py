"""Whether a shell would take a line as it stands, asked of the shell itself, which runs nothing.

Refuses to guess for a shell that is not installed here. Called before a line is typed to one.
"""

from __future__ import annotations

import asyncio
import shutil

from gshtui.guard.sanitise import one_line, plain
from gshtui.system import child

_WITHIN = 5.0
"""Seconds for the answer."""
_BARE = {"zsh": ("-f",), "bash": ("--norc",), "fish": ("--no-config",)}


async def misunderstood(program: str, line: str) -> str:
    """What this shell finds wrong with a line, or what it lacks; empty when nothing is known to be.

    Args:
        program: the shell's name.
    """
    shell = await asyncio.to_thread(shutil.which, program.removeprefix("-"))
    if shell is None:
        return ""
    name = shell.rpartition("/")[2]
    # In a group of its own, since some take `a &&` for whole at the end; and as it stands, since some take the group's
    # brace for a part of it.
    for text in (line,) if name == "fish" else (line, f"{{ {line}\n}}"):
        if why := await _refused(shell, *_BARE.get(name, ()), "-n", "-c", text):
            return why
    return ""


async def _refused(*argv: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_WITHIN):
            _, errors = await process.communicate()
    except TimeoutError:
        await child.kill(process)
        return ""
    return (one_line(plain(errors.decode("utf-8", "replace")), 300) or "it is not whole") if process.returncode else ""
