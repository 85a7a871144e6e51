"""The process on another machine in which the tools of one native agent act; the agent itself runs elsewhere.

Started by the script that `hosts/host_package.py` puts beside our package there. `join NAME` connects standard input
and output, which come over ssh, to the process of this name, and starts it if there is none. That one outlives the
connection: a call goes on while the network is away, and its result waits. It is a hub without parts: no record, no
model and no key; what may run is decided elsewhere. It ends with its agent, or when nobody has come back for long.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui import __version__
from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import try_lock
from gshtui.system.network.peer import peer_of

if TYPE_CHECKING:
    from gshtui.context.assembly.instruction_files import InstructionSection
    from gshtui.hub.hub import Hub
    from gshtui.settings.loader import Loaded
    from gshtui.tools.remote.remote_calls import Answer, Facts, FromTools, Hello, Order, ToTools

_IDLE = 1800.0
"""Seconds that it stays with nothing to do and nobody connected."""
_AWAY = 86_400.0
"""Seconds that it stays with a call in progress, or a result that nobody has taken."""
_START_WITHIN = 30.0
TOOL_ROOMS = (
    *("gshtui.tools.commands", "gshtui.tools.code.python_commands"),
    *("gshtui.guard.sandbox.sandboxes", "gshtui.agents.skills.commands", "gshtui.context.assembly.instruction_files"),
    *("gshtui.tools.files.code_outline", "gshtui.tools.remote.remote_calls", "gshtui.agents.toolbox"),
)
_UNSENT = 200_000
"""Characters of a call's output that wait for a connection; the result has all of it."""
_UNREAD = 8_000_000
"""Bytes that may wait in the connection before output is dropped."""


def socket_of(name: str) -> Path:
    """Where the process of this name listens. Raises `FolderError`."""
    return paths.runtime_dir() / f"tools-{name}.s"


class _Call(msgspec.Struct):
    """A call in progress, or one whose answer has not been taken."""

    task: asyncio.Task[None] | None = None
    unsent: deque[str] = msgspec.field(default_factory=deque[str])
    size: int = 0
    answer: Answer | None = None


class ToolProcess:
    """See the module. Made inside a running loop."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._instance = os.urandom(8).hex()
        self._hub: Hub | None = None
        self._hello: Hello | None = None
        self._starting = asyncio.Lock()
        self._instructions: InstructionSection | None = None
        self._notes: list[tuple[str, str]] = []
        self._calls: dict[str, _Call] = {}
        self._line: asyncio.StreamWriter | None = None
        self._end: asyncio.TimerHandle | None = None

    async def close(self) -> None:
        """End every call, and what they left running."""
        from gshtui.system.tasks import cancel_and_wait

        await cancel_and_wait(*(call.task for call in self._calls.values()), within=5.0)
        if self._hub is not None:
            await self._hub.stop()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from hello to its end. The latest one counts: an older one has broken unnoticed."""
        from gshtui.tools.remote.remote_calls import Bye, read_order

        try:
            if not peer_of(writer.get_extra_info("socket")).is_us:
                return
            while line := await reader.readline():
                message = read_order(line)
                if isinstance(message, Bye):
                    self.ended.set()
                    return
                await self._take(message, writer)
        except (OSError, ValueError, msgspec.DecodeError):
            pass  # it broke, or nothing of ours is at its other end
        finally:
            if self._line is writer:
                self._line = None
                self.plan_end()
            with contextlib.suppress(OSError):
                writer.close()

    async def _take(self, message: ToTools, writer: asyncio.StreamWriter) -> None:
        from gshtui.tools.remote.remote_calls import Cancel, Hello, Order, Taken

        match message:
            case Hello():
                await self._greet(message, writer)
            case _ if self._line is not writer:
                writer.close()  # it has not said who it is, or another one has come
            case Order():
                self._order(message)
            case Cancel():
                self._drop(message.id)
            case Taken():
                self._calls.pop(message.id, None)
            case _:
                pass

    async def _greet(self, hello: Hello, writer: asyncio.StreamWriter) -> None:
        from gshtui.tools.remote.remote_calls import PROTOCOL, ToolsRefused, Welcome, to_line

        if (hello.protocol, hello.version) != (PROTOCOL, __version__):
            why = f"It has gsh-tui {__version__}, and this machine has {hello.version}."
            writer.write(to_line(ToolsRefused(why)))
            return
        if not Path(hello.folder).is_dir():
            writer.write(to_line(ToolsRefused(f"There is no folder {hello.folder} any more.")))
            return
        for id in self._calls.keys() - set(hello.wanted):
            self._drop(id)
        async with self._starting:  # a second connection waits for what the first one has begun
            if self._hub is None:
                self._hub = await self._start_hub(hello)
        if self._line is not None:
            self._line.close()
        self._hello, self._line = hello, writer
        if self._end is not None:
            self._end.cancel()
        writer.write(to_line(Welcome(__version__, self._instance, await self._facts())))

    async def _start_hub(self, hello: Hello) -> Hub:
        from gshtui.context.assembly.instruction_files import InstructionSection
        from gshtui.settings.loader import load

        folder = Path(hello.folder)
        hub = _make_hub(await asyncio.to_thread(load, folder), hello.paths)
        await hub.start()
        self._instructions = InstructionSection(
            folder, lambda text, hint: self._notes.append((text, hint)), trusted=hello.trusted
        )
        return hub

    async def _facts(self) -> Facts:
        from gshtui.agents.skills.skill_store import read_skills, skills_section
        from gshtui.tools.remote.remote_calls import Facts, Instruction

        hub, instructions = self._hub, self._instructions
        assert hub is not None and instructions is not None
        await hub.branch.read_branch()
        told = await instructions(False)
        skills = await asyncio.to_thread(lambda: skills_section(read_skills(hub.options.cwd)))
        notes, self._notes = tuple(self._notes), []
        return Facts(
            str(hub.options.cwd),
            str(hub.project),
            f"{platform.system()} {platform.machine()}",
            hub.branch.name,
            skills,
            await asyncio.to_thread(_rules_of, hub.project),
            tuple(Instruction(one.source, one.text, one.path) for one in told.passages),
            notes,
        )

    # -- calls -----------------------------------------------------------------------------------------------------

    def _order(self, order: Order) -> None:
        from gshtui.tools.remote.remote_calls import Failed

        call = self._calls.get(order.id)
        if call is not None:  # it has come before: nothing is done twice
            if call.answer is not None:
                self._send(call.answer)
            elif call.unsent:
                self._send_output(order.id, call)
            return
        if order.given_to not in ("", self._instance):
            why = "The process of the tools there has ended meanwhile; whether this was done is not known."
            self._send(Failed(order.id, why, "Look at what is there before you do it again."))
            return
        call = self._calls[order.id] = _Call()
        call.task = asyncio.ensure_future(self._carry_out(order, call))

    async def _carry_out(self, order: Order, call: _Call) -> None:
        from gshtui.commands.declaration import CommandError
        from gshtui.tools.remote.remote_calls import Failed

        try:
            answer = await self._answer(order, call)
        except CommandError as error:
            data = error.data
            answer = Failed(order.id, error.message, error.hint, data)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # the agent hears of it, and its other calls go on
            answer = Failed(order.id, f"{order.command} failed there: {type(error).__name__}: {error}.")
        call.answer = answer
        self._send(answer)
        if self._line is None:
            self.plan_end()

    async def _answer(self, order: Order, call: _Call) -> Answer:
        from gshtui.agents.toolbox import assess
        from gshtui.commands.execution import run_parsed
        from gshtui.commands.language import validate
        from gshtui.tools.remote.remote_calls import Judged, Looked, done, invocation_of

        hub = self._hub
        assert hub is not None
        if order.what == "look":
            return Looked(order.id, await self._facts())
        command = hub.registry.get(order.command)
        parameters = validate(command, order.arguments)
        invocation = invocation_of(order.place, hub.options.cwd, hub.project)
        if order.what == "assess":
            return Judged(order.id, await assess(command, invocation, parameters, order.arguments))
        outcome = await run_parsed(
            command, parameters, replace(invocation, output=partial(self._print, order.id, call))
        )
        return done(order.id, outcome, await hub.branch.read_branch())

    def _print(self, id: str, call: _Call, text: str) -> None:
        call.unsent.append(text)
        call.size += len(text)
        while call.size > _UNSENT:
            call.size -= len(call.unsent.popleft())
        self._send_output(id, call)

    def _send_output(self, id: str, call: _Call) -> None:
        from gshtui.tools.remote.remote_calls import CallOutput

        line = self._line
        if line is None or line.transport.get_write_buffer_size() > _UNREAD:
            return
        text, call.size = "".join(call.unsent), 0
        call.unsent.clear()
        self._send(CallOutput(id, text))

    def _send(self, message: FromTools) -> None:
        from gshtui.tools.remote.remote_calls import to_line

        if self._line is not None and not self._line.is_closing():
            self._line.write(to_line(message))

    def _drop(self, id: str) -> None:
        call = self._calls.pop(id, None)
        if call is not None and call.task is not None:
            call.task.cancel()

    def plan_end(self) -> None:
        """End it, if nobody comes back."""
        if self._end is not None:
            self._end.cancel()
        self._end = asyncio.get_running_loop().call_later(_AWAY if self._calls else _IDLE, self.ended.set)


def _rules_of(project: Path) -> str:
    """The text of the project's own rules; empty: it has none."""
    from gshtui.settings.toml_file import read_bytes

    try:
        return (read_bytes(project / ".gsh" / "rules.toml") or b"").decode("utf-8", "replace")
    except OSError:
        return '[[rule]]\ndo = "ask"\nwhy = "the project\'s rules cannot be read"\n'


async def serve(name: str) -> int:
    path = socket_of(name)
    lock = try_lock(path.with_suffix(".lock"))
    if lock is None:
        return 0  # there is one
    try:
        process = ToolProcess()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, process.ended.set)
        path.unlink(missing_ok=True)
        from gshtui.tools.remote.remote_calls import MOST_LINE

        server = await asyncio.start_unix_server(process.serve, path, limit=MOST_LINE)
        path.chmod(0o600)
        process.plan_end()
        try:
            await process.ended.wait()
        finally:
            server.close()
            path.unlink(missing_ok=True)
            await process.close()
    finally:
        path.with_suffix(".lock").unlink(missing_ok=True)
        os.close(lock)
    return 0


def join(name: str) -> int:
    """Connect standard input and output to the process of this name, which is started if there is none."""
    path = socket_of(name)
    if (line := _connected(path)) is None:
        line = _connected_to_new(path, name)
    if line is None:
        return 1
    with line:
        _pump(line)
    return 0


def end(name: str) -> int:
    """End the process of this name, if there is one."""
    if (line := _connected(socket_of(name))) is not None:
        with line:
            line.sendall(b'{"type":"bye"}\n')
            line.settimeout(5.0)
            with contextlib.suppress(OSError):
                while line.recv(1 << 16):
                    pass
    return 0


def _connected(path: Path) -> socket.socket | None:
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(str(path))
        if peer_of(line).is_us:
            return line
    except (FileNotFoundError, ConnectionRefusedError):
        pass
    line.close()
    return None


def _connected_to_new(path: Path, name: str) -> socket.socket | None:
    said = path.with_suffix(".log")
    with os.fdopen(private_files.open_file(said, os.O_WRONLY | os.O_TRUNC), "wb") as log:
        argv = [sys.executable, "-P", str(Path(sys.argv[0]).absolute()), "serve", name]
        null = subprocess.DEVNULL
        child = subprocess.Popen(argv, stdin=null, stdout=log, stderr=log, cwd="/", start_new_session=True)
    until = time.monotonic() + _START_WITHIN
    while time.monotonic() < until:
        if (line := _connected(path)) is not None:
            return line
        if child.poll():
            break
        time.sleep(0.02)
    sys.stderr.write(said.read_text("utf-8", "replace")[-2_000:])
    return None


def _pump(line: socket.socket) -> None:
    """Pass bytes on, both ways, until one side closes."""
    ways: dict[int, tuple[Callable[[], bytes], Callable[[bytes], object]]] = {
        0: (lambda: os.read(0, 1 << 16), line.sendall),
        line.fileno(): (lambda: line.recv(1 << 16), _write_out),
    }
    while True:
        ready, _, _ = select.select(list(ways), [], [])
        for each in ready:
            read, write = ways[each]
            try:
                data = read()
                if not data:
                    return
                write(data)
            except OSError:
                return


def _write_out(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def end_all() -> int:
    """End every such process of this user."""
    for path in paths.runtime_dir().glob("tools-*.s"):
        end(path.stem.removeprefix("tools-"))
    return 0


def _make_hub(loaded: Loaded, only: tuple[tuple[str, ...], ...]) -> Hub:
    """A hub for an agent's tools, not yet started. `only`: the files and folders that they reach; empty: all."""
    from gshtui.hub.composition import build_hub
    from gshtui.hub.hub_options import HubOptions

    return build_hub(HubOptions(loaded.cwd, loaded, respondent="nobody", parts=frozenset(), paths=only, visiting=True))


async def _make_and_close_hub() -> None:
    from gshtui.settings.loader import load

    await _make_hub(load(Path("/")), ()).bus.close()


def check() -> int:
    """Load what the tools need, make a hub as they are given one, and say which version it is."""
    for name in TOOL_ROOMS:
        import_module(name)
    asyncio.run(_make_and_close_hub())
    sys.stdout.write(f"{__version__}\n")
    return 0


def main(argv: list[str]) -> int:
    """Do what the first word says, for the process that the second one names."""
    try:
        match argv:
            case ["serve", name]:
                return asyncio.run(serve(name))
            case ["join", name]:
                return join(name)
            case ["end", name]:
                return end(name)
            case ["end-all"]:
                return end_all()
            case ["version"]:
                return 0
            case _:
                return check()
    except (OSError, ImportError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
