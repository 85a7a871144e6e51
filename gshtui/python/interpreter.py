"""One Python interpreter in a process of its own, which keeps its variables from block to block.

A worker of our own (`worker/`), not ipykernel with jupyter_client: it is ready in a fifth of the time, needs nothing
installed in the person's Python, speaks over an inherited socket pair instead of five TCP ports that a sandbox without
network does not have, and stands still between blocks, so that nothing runs that nobody asked for.

The process is a supervisor with the interpreter below it, in the sandbox where there is one. It ends with its owner,
also after kill -9, and everything that it started ends with it. Whatever a block does costs only this interpreter:
an interrupt that it ignores, its memory, its processes, its output, its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib.util
import json
import os
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.python.protocol import (
    HEAD,
    LONGEST,
    Ask,
    Done,
    InterpreterReady,
    KeptVariables,
    Variable,
    decode,
    encode,
)
from gshtui.system import caller_environment
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ObeyedFiles, ProjectSandbox
    from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal
    from gshtui.guard.sandbox.sandbox_run import SandboxRun

PACKAGE = Path(__file__).resolve().parents[1]
_START = """\
import sys
sys.path = [p for p in sys.path if p]
import importlib.util as u
s = u.spec_from_file_location("gshtui", {init!r}, submodule_search_locations=[{package!r}])
m = u.module_from_spec(s)
sys.modules["gshtui"] = m
sys.dont_write_bytecode = True
from gshtui.python.worker.worker_process import main
main()
"""
"""Loads the worker from its files alone: neither our packages nor the project's modules are in its way."""
_READY_WITHIN = 20.0
_INTERRUPT_WITHIN = 2.0
"""Seconds that a block has for its own end after an interrupt."""
_ANSWER_WITHIN = 5.0
_KEEP_WITHIN, _RESTORE_WITHIN = 4.0, 10.0
"""Seconds for all the variables, after which it is interrupted like a block."""
_END_BY_ITSELF = 3.0
"""Seconds for the end of a process that has closed its connection."""
_END_WITHIN = 3.0
_ASKED_AT_ONCE = 8
_AFTER_ANSWER = 1.0
"""Seconds that a block has at least after an answer that took longer than its time."""
_RUN, _STAND = b"r", b"s"
"""As `worker/worker_process.py` reads them."""

Answer = Callable[[str, dict[str, object]], Awaitable[object]]
"""(what, details) → the answer to a block's question to the hub. Raises an `ExpectedError`."""


class InterpreterError(ExpectedError):
    """There is no interpreter, or it cannot do this now."""


class InterpreterLimits(msgspec.Struct, frozen=True):
    """What one interpreter may take, with everything that it starts."""

    memory: int = 8 << 30
    """Bytes."""
    processes: int = 1024
    file: int = 4 << 30
    """Bytes of one file that it writes."""


class InterpreterOptions(msgspec.Struct, frozen=True):
    """How an interpreter is started.

    Args:
        program: the Python to run.
        folder: its working folder.
        sandbox: where it runs; `None`: nowhere special.
        shown: folders that it must see even if the sandbox hides what they are in.
        environ: its variables.
        keeps: whether its variables are asked for after each block, to be kept.
    """

    program: str
    folder: Path
    sandbox: ProjectSandbox | None = None
    shown: tuple[Path, ...] = ()
    environ: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    limits: InterpreterLimits = msgspec.field(default_factory=InterpreterLimits)
    keeps: bool = False


BlockState = Literal["done", "timeout", "interrupted", "ended"]
"""done: it ran to its end or to an error. ended: it took the interpreter with it."""


class BlockEnd(msgspec.Struct, frozen=True):
    """How a block ended."""

    state: BlockState
    done: Done | None = None
    """The interpreter's report; `None`: there was none any more."""
    seconds: float = 0.0
    alive: bool = True
    """Whether the interpreter still has its variables."""
    why: str = ""
    """Why it has ended, as a clause."""
    moved: tuple[str, ...] = ()
    """What the block made that other programs would obey, and where it is kept now."""
    refused: tuple[SandboxRefusal, ...] = ()
    """What the sandbox refused to the block, as far as the sandbox itself knows."""
    variables: Done | None = None
    """What there is to keep after it; `None`: nothing was asked for."""


class Interpreter:
    """Made by `start_interpreter`; `end` when it is no longer needed."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        options: InterpreterOptions,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        owner: socket.socket,
        output: int,
        mark: str,
        answer: Answer,
        surroundings: contextlib.AsyncExitStack,
        sandboxed: SandboxRun | None = None,
    ) -> None:
        self.options = options
        self._sandboxed = sandboxed
        self.output = output
        """The descriptor from which what it prints is read; it does not block."""
        self.names: list[str] = []
        """The variables after the last block."""
        self.version = ""
        self.blocks = 0
        self._process = process
        self._reader, self._writer = streams
        self._owner = owner
        self._mark = mark
        self._answer = answer
        self._surroundings = surroundings
        self._waiting: dict[int, asyncio.Future[Done]] = {}
        self._ready: asyncio.Future[InterpreterReady] = asyncio.get_running_loop().create_future()
        self._asked: set[asyncio.Task[None]] = set()
        self._next = 0
        self._whole = False
        self._stop = asyncio.Event()
        self._ended = False
        self.turn = asyncio.Lock()
        """Held by whoever has it do something, with what reads its output meanwhile."""
        self._reading = start_job(self._read(), "a Python interpreter")

    @property
    def alive(self) -> bool:
        return not self._ended and self._process.returncode is None and not self._reading.done()

    @property
    def busy(self) -> bool:
        return self.turn.locked()

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self._process.pid

    async def ready(self) -> None:
        """Wait until it takes blocks. Raises `InterpreterError`, and has ended then."""
        try:
            async with time_limit(_READY_WITHIN):
                self.version = (await self._ready).version
        except TimeoutError:
            await self.end()
            raise InterpreterError(f"Python was not ready within {_READY_WITHIN:g} s.") from None
        except BaseException:
            await self.end()
            raise
        self._say(_STAND)

    async def run(self, code: str, name: str, limit: float, cancelled: asyncio.Event | None = None) -> BlockEnd:
        """Run a block, holding `turn`. Only cancellation raises, after the block has ended.

        Args:
            name: of its file in tracebacks.
            limit: seconds.
            cancelled: interrupts it.
        """
        self._stop.clear()
        self.blocks += 1
        before = self._refusals()
        loop = asyncio.get_running_loop()
        started, seconds = loop.time(), 0.0
        moved: list[str] = []
        variables: Done | None = None
        try:
            async with self._looked_after(moved):
                end = await self._run(code, name, limit, cancelled)
                seconds = loop.time() - started
                if end.done is not None:
                    self.names = end.done.names
                if self.options.keeps and end.done is not None and self.alive:
                    variables = await self._within(_KEEP_WITHIN, {"do": "keep", "whole": self._whole})
                    self._whole = bool(variables.fault)
        except OSError as error:
            why = f"nothing was run: what it makes cannot be noted: {error.strerror or error}"
            return BlockEnd("ended", None, 0.0, self.alive, why)
        refused = tuple(each for each in self._refusals() if each not in before)
        return BlockEnd(end.state, end.done, seconds, self.alive, end.why, tuple(moved), refused, variables)

    def forget_kept(self) -> None:
        """What it had to keep after the last block is lost: after the next one it gives all of it again."""
        self._whole = True

    async def restore(self, kept: KeptVariables) -> tuple[Done, tuple[str, ...]]:
        """Set the variables of an earlier interpreter; it may have ended afterwards, for they are code. Returns its
        report, and what was taken out of the project as after a block. Raises `OSError`: nothing was done.
        """
        moved: list[str] = []
        async with self.turn, self._looked_after(moved):
            done = await self._within(_RESTORE_WITHIN, {"do": "restore", "kept": kept})
        self.names = done.names
        return done, tuple(moved)

    @contextlib.asynccontextmanager
    async def _looked_after(self, moved: list[str]) -> AsyncGenerator[None]:
        """Let it work, and take out of the project what other programs would obey. Raises `OSError`, at the start."""
        sandbox = self.options.sandbox
        absent = await asyncio.to_thread(sandbox.absent) if sandbox is not None else None
        try:
            yield
        except asyncio.CancelledError:
            await asyncio.shield(start_job(self._stop_block(), "the end of a Python block"))
            raise
        finally:
            self._say(_STAND)
            moved += await asyncio.shield(asyncio.to_thread(_taken_out, sandbox, absent))

    async def _within(self, limit: float, message: dict[str, object]) -> Done:
        """Have it do something other than a block; it is interrupted after so many seconds, and ended if that fails."""
        try:
            answer = self._request(message)
            await asyncio.wait([answer], timeout=limit)
            if not answer.done():
                await self._stop_block()
            return answer.result() if answer.done() else Done(0, ok=False, fault="it took too long")
        except InterpreterError as error:
            return Done(0, ok=False, fault=error.message)

    def _refusals(self) -> list[SandboxRefusal]:
        return [] if self._sandboxed is None else self._sandboxed.refusals

    async def _run(self, code: str, name: str, limit: float, cancelled: asyncio.Event | None) -> BlockEnd:
        try:
            answer = self._request({"do": "run", "code": code, "name": name})
        except InterpreterError as error:
            return BlockEnd("ended", why=error.message)
        events = [self._stop, *([cancelled] if cancelled is not None else [])]
        stops = [asyncio.ensure_future(event.wait()) for event in events]
        try:
            await self._first(limit, answer, *stops)
        finally:
            stopped = any(stop.done() for stop in stops)
            for stop in stops:
                stop.cancel()
        if answer.done():
            return self._finished(answer, "done")
        await self._stop_block()
        return self._finished(answer, "interrupted" if stopped else "timeout")

    async def _first(self, limit: float, *awaited: asyncio.Future[Any]) -> None:
        """Wait for the first of these, as long as the block may work; the hub's answers take what they take."""
        loop = asyncio.get_running_loop()
        until = loop.time() + limit
        while not any(one.done() for one in awaited):
            if loop.time() < until:
                await asyncio.wait(awaited, timeout=until - loop.time(), return_when=asyncio.FIRST_COMPLETED)
            elif self._asked:
                await asyncio.wait((*awaited, *self._asked), return_when=asyncio.FIRST_COMPLETED)
                until = max(until, loop.time() + _AFTER_ANSWER)
            else:
                return

    def _finished(self, answer: asyncio.Future[Done], state: BlockState) -> BlockEnd:
        if answer.cancelled() or not answer.done() or answer.exception() is not None:
            error = None if answer.cancelled() or not answer.done() else answer.exception()
            return BlockEnd("ended" if state == "done" else state, why=str(error or ""))
        return BlockEnd(state, answer.result())

    async def _stop_block(self) -> None:
        """Interrupt the running block; end the interpreter if that does not end it."""
        waiting = list(self._waiting.values())
        with contextlib.suppress(InterpreterError):
            self._send({"do": "interrupt", "id": self._next})
        if waiting:
            await asyncio.wait(waiting, timeout=_INTERRUPT_WITHIN)
        if any(not answer.done() for answer in waiting):
            await self.end()

    def interrupt(self) -> bool:
        """Interrupt the running block; whether there is one."""
        self._stop.set()
        return self.busy

    async def variables(self) -> list[Variable]:
        """The variables now. Raises `InterpreterError` while a block is running, or if it has ended."""
        if self.busy:
            raise InterpreterError("A block is running.", "Wait for it, or interrupt it with `python interrupt`.")
        async with self.turn:
            answer = self._request({"do": "variables"})
            try:
                async with time_limit(_ANSWER_WITHIN):
                    return (await asyncio.shield(answer)).variables
            except TimeoutError:
                raise InterpreterError(
                    "The interpreter does not answer.", "`python restart` starts a new one."
                ) from None
            finally:
                self._say(_STAND)

    async def end(self) -> None:
        """End it and everything that it started. Returns once they are gone; may be called again."""
        self._ended = True
        for task in tuple(self._asked):
            task.cancel()
        with contextlib.suppress(OSError):
            self._owner.shutdown(socket.SHUT_WR)
        try:
            async with time_limit(_END_WITHIN):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            if self.options.sandbox is None:
                await asyncio.to_thread(processes.end_call_processes, self.pid, self._mark)
            with contextlib.suppress(TimeoutError):
                async with time_limit(_END_WITHIN):
                    await self._process.wait()
        if asyncio.current_task() is not self._reading:
            await asyncio.wait([self._reading], timeout=_END_WITHIN)

    async def close(self) -> None:
        """End it, and give back its descriptors. Nothing may be read from `output` afterwards."""
        await self.end()
        self._writer.close()
        self._owner.close()
        await self._surroundings.aclose()
        if self.output >= 0:
            os.close(self.output)
            self.output = -1

    def _request(self, message: dict[str, object]) -> asyncio.Future[Done]:
        """Let it go on, and send it something to do."""
        if not self.alive:
            raise InterpreterError("The interpreter has ended.")
        self._next += 1
        answer: asyncio.Future[Done] = asyncio.get_running_loop().create_future()
        self._waiting[self._next] = answer
        self._say(_RUN)
        self._send({**message, "id": self._next})
        return answer

    def _send(self, message: dict[str, object]) -> None:
        if self._ended or self._writer.is_closing():
            raise InterpreterError("The interpreter has ended.")
        self._writer.write(encode(message))

    def _say(self, word: bytes) -> None:
        with contextlib.suppress(OSError):  # the supervisor has ended, and all with it
            self._owner.send(word)

    async def _read(self) -> None:
        why = "it closed its connection with the hub"
        try:
            while True:
                (size,) = HEAD.unpack(await self._reader.readexactly(HEAD.size))
                if size > LONGEST:
                    why = "it sent too much at once"
                    break
                self._handle(await self._reader.readexactly(size))
        except (asyncio.IncompleteReadError, OSError):
            pass
        except msgspec.DecodeError:
            why = "it sent something else than reports"
        why = await self._reason(why)
        self._ended = True
        error = InterpreterError(why)
        for answer in (*self._waiting.values(), self._ready):
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # it may be that nobody waits
        self._waiting.clear()

    async def _reason(self, why: str) -> str:
        """Why it has ended, once it has: as its supervisor says, or as its exit code does."""
        try:
            async with time_limit(_END_BY_ITSELF):
                code = await self._process.wait()
        except TimeoutError:
            await self.end()
            return why
        with contextlib.suppress(OSError):
            if said := self._owner.recv(500):
                return said.decode("utf-8", "replace")
        return _exit_text(code) if code else why

    def _handle(self, data: bytes) -> None:
        message = decode(data)
        if isinstance(message, InterpreterReady):
            if not self._ready.done():
                self._ready.set_result(message)
        elif isinstance(message, Done):
            answer = self._waiting.pop(message.id, None)
            if answer is not None and not answer.done():
                answer.set_result(message)
        else:
            self._ask(message)

    def _ask(self, asked: Ask) -> None:
        if len(self._asked) >= _ASKED_AT_ONCE:
            self._reply(asked.id, error=f"More than {_ASKED_AT_ONCE} questions at once.")
            return
        task = start_job(self._answered(asked), "a question of a Python block")
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)

    async def _answered(self, asked: Ask) -> None:
        try:
            value = await self._answer(asked.what, asked.more)
        except ExpectedError as error:
            self._reply(asked.id, error=f"{error.message} {error.hint}".rstrip())
        except asyncio.CancelledError:
            self._reply(asked.id, error="The question was withdrawn.")
            raise
        except Exception:
            self._reply(asked.id, error="It failed inside gsh-tui; the log says why.")
            raise
        else:
            self._reply(asked.id, value=value)

    def _reply(self, number: int, **more: object) -> None:
        with contextlib.suppress(InterpreterError):
            self._send({"do": "answer", "id": number, **more})


def _exit_text(code: int) -> str:
    if code < 0 or code > 128:
        return f"it was killed by signal {-code if code < 0 else code - 128}"
    return f"it ended with exit code {code}"


def _taken_out(sandbox: ProjectSandbox | None, absent: ObeyedFiles | None) -> tuple[str, ...]:
    if sandbox is None or absent is None:
        return ()
    try:
        return tuple(f"{path.name} → {path}" for path in sandbox.take_out(absent))
    except OSError as error:
        return (f"(it could not be taken out of the project: {error.strerror or error})",)


async def start_interpreter(options: InterpreterOptions, answer: Answer) -> Interpreter:
    """Start one, and wait until it takes blocks. `answer`: answers what its blocks ask the hub.
    Raises `InterpreterError`: it does not start; the text says why.
    """
    mark = new_id()
    environ = {**options.environ, caller_environment.MARK: mark, "PWD": str(options.folder), "MPLBACKEND": "Agg"}
    environ.pop("PYTHONUNBUFFERED", None)
    if options.sandbox is not None:  # its home is read-only, which matplotlib complains of at length
        environ.setdefault("MPLCONFIGDIR", "/tmp/matplotlib")
    own_channel, channel = socket.socketpair()
    own_owner, owner = socket.socketpair()
    read_end, write_end = os.pipe()
    limits = options.limits
    given = {
        "channel": channel.fileno(),
        "owner": owner.fileno(),
        "processes": limits.processes,
        "memory": limits.memory,
        "file": limits.file,
        "cloudpickle": str(_cloudpickle() or ""),
        "network": options.sandbox is None or options.sandbox.network or bool(options.sandbox.hosts),
    }
    code = _START.format(init=str(PACKAGE / "__init__.py"), package=str(PACKAGE))
    argv: tuple[str, ...] = (options.program, "-c", code, json.dumps(given))
    surroundings = contextlib.AsyncExitStack()
    run: SandboxRun | None = None
    try:
        passed: tuple[int, ...] = ()
        if options.sandbox is not None:
            run = await surroundings.enter_async_context(_sandbox_run(options, argv, environ))
            argv, passed, environ = run.argv, run.descriptors, {}
        process = await processes.start_child(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_end,
            stderr=write_end,
            cwd=options.folder,
            env=environ,
            start_new_session=True,
            pass_fds=(channel.fileno(), owner.fileno(), *passed),
        )
    except OSError as error:
        for end in (own_channel, own_owner):
            end.close()
        os.close(read_end)
        await surroundings.aclose()
        raise InterpreterError(
            f"Cannot start {options.program}: {error.strerror or error}.", "Set `[python] interpreter`."
        ) from error
    finally:
        os.close(write_end)
        channel.close()
        owner.close()
    if run is not None:
        run.started(process.pid)
    os.set_blocking(read_end, False)
    own_owner.setblocking(False)
    streams = await asyncio.open_connection(sock=own_channel, limit=1 << 20)
    made = Interpreter(process, options, streams, own_owner, read_end, mark, answer, surroundings, run)
    try:
        await made.ready()
    except InterpreterError as error:
        said = _rest(read_end)
        await made.close()
        raise InterpreterError(
            f"{options.program} does not start: {said or error.message}", "Set `[python] interpreter` to another one."
        ) from error
    except BaseException:
        await made.close()
        raise
    return made


@functools.cache
def _cloudpickle() -> Path | None:
    """The folder of the package, which the interpreter loads from there; it is not loaded here."""
    found = importlib.util.find_spec("cloudpickle")
    return Path(found.origin).parent if found is not None and found.origin else None


def _sandbox_run(options: InterpreterOptions, argv: tuple[str, ...], environ: Mapping[str, str]) -> SandboxRun:
    from gshtui.guard.sandbox.sandbox_run import SandboxRun  # with its proxy, only where there is a sandbox

    assert options.sandbox is not None
    packages = (PACKAGE, *filter(None, (_cloudpickle(),)))
    shown = tuple(Path(os.path.realpath(folder)) for folder in (*packages, *options.shown))
    return SandboxRun(replace(options.sandbox, shown=shown), argv, options.folder, environ, watched=False)


def _rest(descriptor: int) -> str:
    """The last line of what it printed."""
    from gshtui.text.sanitise import one_line

    with contextlib.suppress(BlockingIOError):
        lines = os.read(descriptor, 65536).decode("utf-8", "replace").strip().splitlines()
        return one_line(lines[-1], 200) if lines else ""
    return ""
