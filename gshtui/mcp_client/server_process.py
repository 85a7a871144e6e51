"""The process of a server that speaks over its standard input and output: started, in the sandbox where that holds,
its error output kept for people, and ended with all that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gshtui.guard.child_environment import agent_environment
from gshtui.guard.sandbox.overlapping_runs import OverlappingRuns
from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.mcp_client.server_definition import McpError, ResolvedServer, ServerDefinition
from gshtui.settings import paths
from gshtui.system import environment, private_files, processes
from gshtui.system.ids import new_id
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.host_rules import HostRules
from gshtui.text.sanitise import literal, one_line

LONGEST = 16 * 1024 * 1024
"""Bytes of one line of a server; a longer one is not read."""
_STDERR_LINES = 40
_STDERR_LINE = 2_000
_CLOSES_WITHIN = 2.0
"""Seconds a server has to end once its input is closed."""

FindSandbox = Callable[[Path, str], Awaitable[ProjectSandbox | str]]
"""(the project's real folder, conversation) → its sandbox, or why there is none."""


@dataclass(slots=True)
class ServerProcess:
    """A server that was started.

    Attributes:
        contained: it runs in the sandbox.
        outside: why it does not, as the end of a sentence; empty: it does.
    """

    process: asyncio.subprocess.Process
    contained: bool
    outside: str
    _mark: str
    _surroundings: contextlib.AsyncExitStack
    _said: deque[str]
    listening: asyncio.Task[None] | None = None

    @property
    def said(self) -> list[str]:
        """The last lines of its error output, as one can show them."""
        return list(self._said)

    @property
    def end(self) -> str:
        """How it ended, as the end of a sentence; empty: it has not."""
        code = self.process.returncode
        if code is None:
            return ""
        return f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"

    async def close(self) -> None:
        """End it and everything that it started. May be called again."""
        process = self.process
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSES_WITHIN):
                await process.wait()
        if process.returncode is None and self.contained:
            with contextlib.suppress(ProcessLookupError):
                process.kill()  # all that is in the sandbox ends with it
        elif not self.contained:
            await asyncio.to_thread(processes.end_call_processes, process.pid, self._mark)
        await cancel_and_wait(self.listening)
        await processes.kill_child(process)
        await self._surroundings.aclose()


def scratch_folder(name: str) -> Path:
    """The folder of a server's own, which it may write to in the sandbox."""
    return paths.cache_dir(create=False) / "mcp" / name


async def start_server(
    definition: ServerDefinition, resolved: ResolvedServer, environ: Mapping[str, str], find_sandbox: FindSandbox | None
) -> ServerProcess:
    """Start a server's program.

    Raises:
        McpError: it cannot be started.
    """
    mark = new_id()
    own = {**agent_environment(environ), **resolved.env, environment.MARK: mark}
    own.pop("PYTHONUNBUFFERED", None)
    surroundings = contextlib.AsyncExitStack()
    argv, passed = resolved.argv, ()
    run = None
    sandbox = await _sandbox(definition, find_sandbox)
    if isinstance(sandbox, ProjectSandbox):
        sandbox = await asyncio.to_thread(sandbox.with_programs, argv)
    try:
        if isinstance(sandbox, ProjectSandbox):
            from gshtui.guard.sandbox.sandbox_run import SandboxRun  # with its proxy, only where there is a sandbox

            scratch = scratch_folder(definition.name)
            own = {"npm_config_cache": str(scratch / "npm"), "UV_CACHE_DIR": str(scratch / "uv"), **own}
            run = SandboxRun(sandbox, argv, resolved.cwd, own, watched=False)
            await surroundings.enter_async_context(run)
            argv, passed, own = run.argv, run.descriptors, {}
            absent = await asyncio.to_thread(sandbox.absent)
            surroundings.push_async_callback(asyncio.to_thread, sandbox.take_out, absent)
        process = await processes.start_child(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=resolved.cwd,
            env=own,
            start_new_session=True,
            pass_fds=passed,
            limit=1 << 20,
        )
    except (OSError, ValueError) as error:
        await surroundings.aclose()
        why = getattr(error, "strerror", None) or str(error)
        program = one_line(literal(resolved.argv[0]), 100)
        raise McpError(
            f"The MCP server {definition.name} cannot be started: {program}: {why}.",
            f"`gsh-tui mcp doctor {definition.name}` checks it.",
        ) from error
    except BaseException:
        await surroundings.aclose()
        raise
    if run is not None:
        run.started(process.pid)
    said: deque[str] = deque(maxlen=_STDERR_LINES)
    started = ServerProcess(process, run is not None, "" if run is not None else str(sandbox), mark, surroundings, said)
    assert process.stderr is not None
    started.listening = start_job(_listen(process.stderr, said), f"what the MCP server {definition.name} says")
    return started


async def _listen(stderr: asyncio.StreamReader, said: deque[str]) -> None:
    """Keep the last lines of its error output; nothing of it reaches our own."""
    rest = b""
    while piece := await stderr.read(1 << 16):
        *lines, rest = (rest + piece)[-(1 << 18) :].split(b"\n")
        for line in (*lines[-_STDERR_LINES:], *([rest] if len(rest) > _STDERR_LINE else [])):
            if text := line.decode("utf-8", "replace").strip():
                said.append(one_line(literal(text[:_STDERR_LINE]), 300))
        if len(rest) > _STDERR_LINE:
            rest = b""
    if text := rest.decode("utf-8", "replace").strip():
        said.append(one_line(literal(text[:_STDERR_LINE]), 300))


async def _sandbox(definition: ServerDefinition, find: FindSandbox | None) -> ProjectSandbox | str:
    """The sandbox of a server, or why there is none, as the end of a sentence.

    The project can be read, and written only where its settings say so; a folder of its own can be written.
    """
    if not definition.settings.sandbox:
        return "its settings say so"
    if find is None:
        return "there is no sandbox here"
    project = Path(os.path.realpath(definition.project))
    found = await find(project, "")
    if isinstance(found, str):
        return found
    return await asyncio.to_thread(_narrowed, found, definition, project)


def _narrowed(sandbox: ProjectSandbox, definition: ServerDefinition, project: Path) -> ProjectSandbox:
    scratch = scratch_folder(definition.name)
    private_files.make_folder(scratch)
    named = [Path(os.path.realpath(project / Path(word).expanduser())) for word in definition.settings.writable]
    all_of_it = project in named
    return replace(
        sandbox,
        writable=(Path(os.path.realpath(scratch)), *(path for path in named if path != project and path.is_dir())),
        read_only=not all_of_it,
        nested=tuple(one for one in sandbox.nested if one.root == project) if all_of_it else (),
        runs=OverlappingRuns(),  # it runs for hours, in which a person makes files of their own
        hosts=sandbox.hosts | HostRules.parse(definition.settings.hosts),
    )
