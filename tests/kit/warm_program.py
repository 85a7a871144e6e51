"""A process that has loaded the program and forks for each command: no command pays for what it imports.

It has run turns, too, in a home of its own: what the first one makes (schemas, patterns, decoders) is there in a fork.
For tests that run many commands and look at what they do, not at how they start. A fork has its own environment,
folder, umask and standard streams, and is a whole process otherwise: it can be killed, and leaves nothing behind. What
is asked of a process from outside (`ps`, `/proc/PID/environ`) is that of the process that it was forked from.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tests.kit import warm_client
from tests.kit.command import DEADLINE, ROOT, CommandResult, environment

PROGRAM = "gshtui.cli.entry:main"
ROOMS = (
    "agents",
    "bus",
    "cli",
    "commands",
    "context",
    "fleet",
    "guard",
    "headless",
    "hub",
    "programs",
    "settings",
    "shell",
    "store",
    "system",
    "text",
    "tmux",
)
"""What commands load."""
SDKS = ("openai.resources.responses", "gshtui.providers.adapters.anthropic", "regex")
"""What a request to most providers loads, and a search."""
ACP = (*SDKS, "acp.connection", "acp.exceptions", "gshtui.features.acp.acp_server")
"""What an agent over the Agent Client Protocol loads, and its server."""
WINDOW = (*SDKS, "gshtui.ui.window.app", "gshtui.headless.turns.line_face")
"""What a window loads."""
PRACTICE = (
    ("prompt", "--json", "hello"),
    ("run", "agent ls"),
    ("run", "usage"),
    ("session", "ls"),
    ("run", "help", "help"),
)
"""Commands that the first of the forks has run before."""
_LENGTH = 8
"""Digits in front of a request."""


@dataclass(frozen=True, slots=True)
class WarmCommand:
    """A fork that runs. `output` and `errors` (none on a terminal) are to be read and closed by whoever started it."""

    pid: int
    output: int
    errors: int
    _ended: int

    def kill(self) -> None:
        """End it at once, if it still runs."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has just ended

    def wait(self) -> int:
        """Its exit code, once it has ended; negative: the signal that ended it."""
        with os.fdopen(self._ended, "rb") as told:
            return int(told.read())

    def ends_within(self, seconds: float | None) -> bool:
        """Whether it ends, or has ended, in this time. It is read by `wait` alone."""
        return bool(select.select([self._ended], [], [], seconds)[0])

    def finish(self) -> CommandResult:
        """All that it printed, and its exit code. One that runs for too long is killed."""
        late = threading.Timer(DEADLINE, self.kill)
        late.start()
        try:
            with ThreadPoolExecutor(1) as reader:
                complained = reader.submit(_read, self.errors)
                said = _read(self.output)
                return CommandResult(self.wait(), said.decode(), complained.result().decode())
        finally:
            late.cancel()


class WarmProcess:
    """A fork as `subprocess.Popen` has a process. Wait for it, or end it."""

    def __init__(self, fork: WarmCommand, stdin: int | None = None) -> None:
        """`stdin`: our end of its standard input."""
        self.pid = fork.pid
        self.returncode: int | None = None
        self.stdin = None if stdin is None else os.fdopen(stdin, "wb", buffering=0)
        self.stdout = os.fdopen(fork.output, "rb")
        self.stderr = os.fdopen(fork.errors, "rb")
        self._fork = fork

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code, once it has ended. Raises `subprocess.TimeoutExpired`."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return code

    def communicate(self, given: bytes | None = None, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Give it this, and read all that it prints until it has ended."""
        with ThreadPoolExecutor(2) as reader:
            complained, printed = reader.submit(self.stderr.read), reader.submit(self.stdout.read)
            if self.stdin is not None:
                with contextlib.suppress(BrokenPipeError), self.stdin as stdin:
                    stdin.write(given or b"")
            try:
                return printed.result(timeout), complained.result(timeout)
            except TimeoutError:
                self.kill()
                raise
            finally:
                self.wait(DEADLINE)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """End it with its process group, if it still runs, and close its streams."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
        for stream in (self.stdin, self.stdout, self.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
        self.wait(DEADLINE)

    def _ended(self, within: float | None) -> int | None:
        if self.returncode is None and self._fork.ends_within(within):
            self.returncode = self._fork.wait()
        return self.returncode


class WarmProgram:
    """Forks on request. Close it.

    Args:
        more: further modules to load.
        rooms: of the package that are loaded whole.
        base: the warm program that it is a fork of, so that only the rest has to be loaded.
    """

    def __init__(self, *more: str, rooms: Sequence[str] = ROOMS, base: WarmProgram | None = None) -> None:
        self._ends = contextlib.ExitStack()
        self._asked, theirs = socket.socketpair()
        self._one_at_a_time = threading.Lock()
        self._process: subprocess.Popen[bytes] | WarmProcess
        words = [",".join(rooms), *more]
        with theirs:
            if base is not None:
                call = f"{__name__}:serve_here"
                self._process = WarmProcess(base.start(*words, call=call, stdin=theirs.fileno(), cwd=ROOT))
                return
            argv = [sys.executable, "-m", "tests.kit.warm_program", *words]
            self._process = subprocess.Popen(argv, cwd=ROOT, env=environment(), stdin=theirs.fileno())

    def start(
        self,
        *words: str,
        call: str = PROGRAM,
        stdin: int = subprocess.DEVNULL,
        terminal: int | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> WarmCommand:
        """Run a function with these words in a fork, in the test's environment with `env` added.

        Args:
            call: `module:function`; the function takes the words and returns the exit code.
            stdin: a descriptor, which stays the caller's to close.
            terminal: one that becomes the fork's own, with all its standard streams; the caller's to close, too.
        """
        place = {"cwd": str(cwd or Path.cwd()), "env": environment(env), "umask": warm_client.umask()}
        fields = {"call": call, "words": words, **place}
        if terminal is not None:
            told = os.pipe()
            self._ask({**fields, "terminal": True}, [*(os.dup(terminal) for _ in range(3)), told[1]])
            return WarmCommand(int(_line(told[0])), -1, -1, told[0])
        output, errors, told = os.pipe(), os.pipe(), os.pipe()
        given = os.open(os.devnull, os.O_RDONLY) if stdin == subprocess.DEVNULL else os.dup(stdin)
        self._ask(fields, [given, output[1], errors[1], told[1]])
        return WarmCommand(int(_line(told[0])), output[0], errors[0], told[0])

    def _ask(self, fields: Mapping[str, Any], theirs: Sequence[int]) -> None:
        """Have a fork made. `theirs`: its standard streams, and where is told how it ends; they are closed here."""
        request = json.dumps(fields).encode()
        try:
            with self._one_at_a_time:
                socket.send_fds(self._asked, [f"{len(request):{_LENGTH}}".encode()], list(theirs))
                self._asked.sendall(request)
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def argv(self, call: str = PROGRAM) -> list[str]:
        """What starts a program that forks for each call: for what another program starts, or a shell finds.

        Args:
            call: as of `start`.
        """
        return [sys.executable, "-I", "-S", warm_client.__file__, str(self._place), call]

    @cached_property
    def _place(self) -> Path:
        """The socket that such programs ask at."""
        folder = Path(tempfile.mkdtemp(prefix="gsh-warm-"))
        self._ends.callback(shutil.rmtree, folder, ignore_errors=True)
        listening = self._ends.enter_context(socket.socket(socket.AF_UNIX))
        listening.bind(str(folder / "socket"))
        listening.listen()
        answering = threading.Thread(target=self._answer, args=[listening], daemon=True)
        answering.start()
        self._ends.callback(answering.join, DEADLINE)
        self._ends.callback(listening.shutdown, socket.SHUT_RDWR)
        return folder / "socket"

    def _answer(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return  # it was shut down
            threading.Thread(target=self._answer_one, args=[client], daemon=True).start()

    def _answer_one(self, client: socket.socket) -> None:
        with client, contextlib.suppress(ConnectionError):
            length, streams, _, _ = socket.recv_fds(client, _LENGTH, 3)
            told = os.pipe()
            fields = json.loads(client.recv(int(length), socket.MSG_WAITALL))
            self._ask(fields, [*streams, told[1]])
            pid = int(_line(told[0]))
            client.sendall(f"{pid:{_LENGTH}}".encode())
            if client in select.select([told[0], client], [], [])[0]:  # whoever stood for it was killed
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            client.sendall(f"{int(_read(told[0])):{_LENGTH}}".encode())

    def run(
        self,
        *words: str,
        stdin: bytes | int = subprocess.DEVNULL,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> CommandResult:
        """Run a command of the program to its end. `stdin`: bytes that are piped in, or a descriptor."""
        if isinstance(stdin, int):
            return self.start(*words, stdin=stdin, cwd=cwd, env=env).finish()
        theirs, ours = os.pipe()
        try:
            started = self.start(*words, stdin=theirs, cwd=cwd, env=env)
        finally:
            os.close(theirs)
        with ThreadPoolExecutor(1) as writer:
            writer.submit(_write, ours, stdin)
            return started.finish()

    def close(self) -> None:
        """End it; forks that still run go on."""
        self._ends.close()
        self._asked.close()
        self._process.kill()
        self._process.wait(DEADLINE)
        if isinstance(self._process, WarmProcess):
            self._process.close()


def run_gsh(
    *arguments: str,
    stdin: bytes | int = subprocess.DEVNULL,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> CommandResult:
    """As `tests.kit.command.run_gsh`, by a warm program that all tests of this process share."""
    return shared(*SDKS).run(*arguments, stdin=stdin, cwd=cwd, env=env)


@contextlib.contextmanager
def start_gsh(
    *arguments: str,
    stdin: int = subprocess.DEVNULL,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    warm: WarmProgram | None = None,
) -> Generator[WarmProcess]:
    """As `tests.kit.command.start_gsh`, by a warm program that all tests of this process share.

    `warm`: one that has loaded more.
    """
    theirs, ours = os.pipe() if stdin == subprocess.PIPE else (stdin, None)
    try:
        fork = (warm or shared(*SDKS)).start(*arguments, stdin=theirs, cwd=cwd, env=env)
    finally:
        if ours is not None:
            os.close(theirs)
    with contextlib.closing(WarmProcess(fork, ours)) as process:
        yield process


@cache
def shared(*more: str, rooms: Sequence[str] = ROOMS) -> WarmProgram:
    """A warm program that has loaded this, for all tests of this process: a fork of the one for most commands."""
    base = None if (more, rooms) == (SDKS, ROOMS) else shared(*SDKS)
    made = WarmProgram(*more, rooms=rooms, base=base)
    atexit.register(made.close)
    return made


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def _write(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(descriptor, "wb") as stream:
        stream.write(data)


def _line(descriptor: int) -> str:
    read = bytearray()
    while not read.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        assert byte, "the warm program has ended"
        read += byte
    return read.decode()


# -- in the process that forks ----------------------------------------------------------------------------------------


def serve(asked: socket.socket) -> None:
    """Fork for each request until the other side is gone."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    while True:
        length, descriptors, _, _ = socket.recv_fds(asked, _LENGTH, 4)
        if not length:
            return
        data = asked.recv(int(length), socket.MSG_WAITALL)
        if os.fork() == 0:
            try:
                asked.close()
                _supervise(json.loads(data), *descriptors)
            finally:
                os._exit(1)
        for descriptor in descriptors:
            os.close(descriptor)


def _supervise(request: dict[str, Any], given: int, output: int, errors: int, told: int) -> None:
    """Fork once more, say which process does it, and how that ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(told)
            code = _become(request, given, output, errors)()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        finally:
            if "terminal" in request:
                atexit._run_exitfuncs()  # what a window leaves on its terminal
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    os.close(given)
    os.close(output)
    os.close(errors)
    os.write(told, f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    os.write(told, str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _become(request: dict[str, Any], given: int, output: int, errors: int) -> Callable[[], int]:
    """Make this process the one that was asked for; what it is to do."""
    os.setsid()
    for descriptor, standard in ((given, 0), (output, 1), (errors, 2)):
        os.dup2(descriptor, standard)
        os.close(descriptor)
    if "terminal" in request:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.chdir(request["cwd"])
    os.umask(request["umask"])
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    module, _, name = request["call"].partition(":")
    words = request["words"]
    sys.argv = ["gsh-tui", *words]
    function = getattr(importlib.import_module(module), name)
    return lambda: int(function(list(words)))


def load(rooms: Sequence[str], more: Sequence[str]) -> None:
    """Import all modules of these rooms, and these."""
    import gshtui

    for room in rooms:
        for found in pkgutil.walk_packages([f"{gshtui.__path__[0]}/{room}"], f"gshtui.{room}."):
            importlib.import_module(found.name)
    if rooms:
        from gshtui.hub.command_offers import load_rooms
        from gshtui.settings.settings_tables import Features

        load_rooms(Features())
    for name in more:
        importlib.import_module(name)


def practise() -> None:
    """Run commands and a turn with a tool, whose output nobody sees."""
    from tests.kit.home import made_up_home
    from tests.kit.loopback.apis import loopback, variables
    from tests.kit.loopback.script import Call, Say

    url, begun, ends = list[str](), threading.Event(), threading.Event()

    async def answer() -> None:
        async with loopback("anthropic", [[Call("bash", {"command": "true"})], [Say("Done.")]], repeat=True) as server:
            url.append(server.url)
            begun.set()
            await asyncio.to_thread(ends.wait)

    kept, before, argv = [os.dup(number) for number in range(3)], Path.cwd(), sys.argv
    nowhere = os.open(os.devnull, os.O_RDWR)
    server = threading.Thread(target=asyncio.run, args=(answer(),))
    server.start()
    begun.wait()
    try:
        for standard in range(3):
            os.dup2(nowhere, standard)
        with made_up_home() as home:
            os.chdir(home.path)
            os.environ.update(variables("anthropic", url[0]))
            module, _, name = PROGRAM.partition(":")
            for words in PRACTICE:
                sys.argv = ["gsh-tui", *words]
                with contextlib.suppress(SystemExit):
                    getattr(importlib.import_module(module), name)(list(words))
    finally:
        ends.set()
        server.join()
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(before)
        sys.argv = argv
        for standard, copy in enumerate(kept):
            os.dup2(copy, standard)
            os.close(copy)
        os.close(nowhere)


def serve_here(words: Sequence[str]) -> int:
    """Load what the words say, and fork for the requests that come on standard input."""
    rooms, *more = words
    first = "gshtui" not in sys.modules
    load(rooms.split(",") if rooms else (), more)
    if first and rooms:
        practise()
    serve(socket.socket(fileno=os.dup(0)))
    return 0


if __name__ == "__main__":
    sys.exit(serve_here(sys.argv[1:]))
