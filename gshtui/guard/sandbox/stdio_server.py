"""The process of a server that speaks over its standard input and output: started, in a sandbox where there is one,
its error output kept for people, and ended with all that it started.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.guard.sandbox.sandbox import ProjectSandbox
from gshtui.system import caller_environment
from gshtui.system.ids import new_id
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import literal, one_line

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox_run import SandboxRun

FindSandbox = Callable[[Path, str], Awaitable[ProjectSandbox | str]]
"""(the project's real folder, conversation) → its sandbox, or why there is none, as the end of a sentence."""
_STDERR_LINES = 40
_STDERR_LINE = 2_000
_CLOSES_WITHIN = 2.0
"""Seconds a server has to end once its input is closed."""


class ServerProcess(msgspec.Struct):
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
    _run: SandboxRun | None = None
    _swept: list[Path] | None = None
    listening: asyncio.Task[None] | None = None

    @property
    def said(self) -> list[str]:
        """The last lines of its error output, as one can show them."""
        return list(self._said)

    @property
    def refused(self) -> list[str]:
        """What the sandbox refused to it, with what would allow that."""
        found = [each.sentence for each in self._run.refusals] if self._run is not None else []
        moved = [f"{path.name} is not left in the project: it is {path}" for path in (self._swept or ())]
        return [*found, *moved]

    @property
    def end(self) -> str:
        """How it ended, as the end of a sentence, with what it last said and what it was refused."""
        code = self.process.returncode
        if code is None:
            how = "it closed its output"
        else:
            how = f"it was killed by signal {-code}" if code < 0 else f"it ended with exit code {code}"
        told = [f"it said: {line.rstrip('.')}" for line in self.said[-1:]]
        told += [f"the sandbox: {each}" for each in self.refused[:1]]
        return f"{how} ({'; '.join(told)})" if told else how

    async def close(self, within: float = _CLOSES_WITHIN) -> None:
        """End it and everything that it started. May be called again. `within`: seconds that it has to end by itself
        once its input is closed.
        """
        process = self.process
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        with contextlib.suppress(TimeoutError):
            async with time_limit(within):
                await process.wait()
        if process.returncode is None and self.contained:
            with contextlib.suppress(ProcessLookupError):
                process.kill()  # all that is in the sandbox ends with it
        elif not self.contained:
            await asyncio.to_thread(processes.end_call_processes, process.pid, self._mark)
        await cancel_and_wait(self.listening)
        await processes.kill_child(process)
        await self._surroundings.aclose()


async def start_server_process(
    argv: Sequence[str], cwd: Path, environ: Mapping[str, str], sandbox: ProjectSandbox | str, about: str
) -> ServerProcess:
    """Start a server's program.

    Args:
        sandbox: where it runs, or why there is none, as the end of a sentence.
        about: the server in a person's words.

    Raises `OSError`: it cannot be started; `ValueError`: an argument cannot be passed on.
    """
    mark = new_id()
    own = {**environ, caller_environment.MARK: mark}
    own.pop("PYTHONUNBUFFERED", None)
    surroundings = contextlib.AsyncExitStack()
    words, passed = tuple(argv), ()
    run, swept = None, None
    try:
        if isinstance(sandbox, ProjectSandbox):
            from gshtui.guard.sandbox.sandbox_run import SandboxRun  # with its proxy, only where there is a sandbox

            sandbox = await asyncio.to_thread(sandbox.with_programs, words)
            run = SandboxRun(sandbox, words, cwd, own, watched=False)
            await surroundings.enter_async_context(run)
            words, passed, own = run.argv, run.descriptors, {}
            absent = await asyncio.to_thread(sandbox.absent)
            surroundings.push_async_callback(asyncio.to_thread, sandbox.take_out, absent)
            swept = absent.opened.swept if absent.opened is not None else None
        process = await processes.start_child(
            *words,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=cwd,
            env=own,
            start_new_session=True,
            pass_fds=passed,
            limit=1 << 20,
        )
    except BaseException:
        await surroundings.aclose()
        raise
    if run is not None:
        run.started(process.pid)
    said: deque[str] = deque(maxlen=_STDERR_LINES)
    outside = "" if run is not None else str(sandbox)
    started = ServerProcess(process, run is not None, outside, mark, surroundings, said, run, swept)
    assert process.stderr is not None
    started.listening = start_job(_listen(process.stderr, said), f"what {about} says")
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
