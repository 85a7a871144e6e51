"""Whether the sandbox holds on this machine: the known escapes are tried in a made-up project, before it is relied on.

Some systems forbid what it needs, and some kernels allow what it forbids, so nothing is assumed from a version.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from gshtui.guard.sandbox.sandbox import PYTHON, ProjectSandbox
from gshtui.system.processes import processes
from gshtui.system.struct_types import learned

_WITHIN = 10.0
_SCRIPT = Path(__file__).with_name("escapes.py")


async def try_escapes(
    program: str, base: Path, *, make: Callable[[ProjectSandbox], ProjectSandbox] = lambda sandbox: sandbox
) -> str:
    """Try to get out of a sandbox in every known way. Returns why it cannot be relied on; empty: it holds.

    Args:
        program: bubblewrap's absolute path.
        base: an existing folder for the made-up project, where commands of the real one could not write.
        make: changes the sandbox that is tried.
    """
    try:
        place = Path(os.path.realpath(await asyncio.to_thread(tempfile.mkdtemp, prefix="sandbox-", dir=base)))
    except OSError as error:
        return f"it cannot be tried in {base}: {error.strerror or error}"
    try:
        return await _tried(program, place, make)
    finally:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


async def _tried(program: str, place: Path, make: Callable[[ProjectSandbox], ProjectSandbox]) -> str:
    project, secret, outside = place / "project", place / "project" / "secret", place / "outside"
    with contextlib.ExitStack() as closing:
        try:
            (project / ".git" / "hooks").mkdir(parents=True)
            for file in (secret, outside, project / ".git" / "hooks" / "pre-commit"):
                file.write_text("it is to be read by nobody\n", "utf-8")
            way = closing.enter_context(socket.socket(socket.AF_UNIX))
            way.bind(str(project / "s"))
            way.listen()
            letters = closing.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            letters.bind(str(project / "d"))
            script = _SCRIPT.read_text("utf-8")
            port = closing.enter_context(socket.create_server(("127.0.0.1", 0)))
        except OSError as error:
            return f"it cannot be tried: {error.strerror or error}"
        sandbox = make(ProjectSandbox(program, project, place, hidden=(secret,)))
        number = 0 if sandbox.network else port.getsockname()[1]
        told = (str(outside), str(secret), str(project / "s"), str(project / "d"), str(number))
        return await _run(sandbox, [PYTHON, "-I", "-S", "-c", script, *told], project)


async def _run(sandbox: ProjectSandbox, argv: list[str], project: Path) -> str:
    try:
        command = sandbox.command(argv, project, {"PATH": os.defpath})
    except OSError as error:
        return f"it cannot be started: {error.strerror or error}"
    try:
        child = await processes.start_child(
            *command.argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
            cwd=project,
            pass_fds=command.descriptors,
        )
    except OSError as error:
        return f"it cannot be started: {error.strerror or error}"
    finally:
        for descriptor in command.descriptors:
            os.close(descriptor)
    try:
        output, said = await asyncio.wait_for(child.communicate(), _WITHIN)
    except TimeoutError:
        return f"it took longer than {_WITHIN:g} s"
    finally:
        await processes.kill_child(child)
    try:
        worked = msgspec.json.decode(output, type=learned(list[str]))
    except msgspec.DecodeError:
        return f"it does not start: {said.decode('utf-8', 'replace').strip()[:200] or f'exit code {child.returncode}'}"
    return f"a command in it can {' and '.join(worked)}" if worked else ""
