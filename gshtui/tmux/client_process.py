"""tmux clients as processes on the event loop: one that runs, and one for each forked call, with nothing left behind.

Starts, feeds and ends them. A client hands its pipes to the server, so if the server is stopped they stay open after
the client is killed; dropping a client therefore waits only for the process. On another machine the client runs behind
`ssh`: this is the one place where that differs. A forked call has several commands and a deadline; their outputs are
separated, and long or secret text goes to its standard input. It is the fallback for the control client, and does what
only a fork can do (`load-buffer -`).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import msgspec

from gshtui.hosts.host_errors import HostError
from gshtui.hosts.host_link import HostLink, PreparedCommand
from gshtui.system.processes.processes import finish_start
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux import tmux_program
from gshtui.tmux.panes import FORMAT
from gshtui.tmux.quoting import quoted
from gshtui.tmux.tmux_errors import TmuxError, from_host, from_reply, program_missing, timed_out

OnData = Callable[[int, bytes], None]
_REAP_WITHIN = 2.0


class ClientProcess(asyncio.SubprocessProtocol):
    """A tmux client.

    Attributes:
        ended: set when the process has ended.
        finished: set when it has ended and all its output was read.
        status: its exit status, once it has ended.
    """

    def __init__(self, on_data: OnData) -> None:
        self.ended = asyncio.Event()
        self.finished = asyncio.Event()
        self.status = 0
        self._on_data = on_data
        self._remote: PreparedCommand | None = None
        self._said = b""
        self._transport: asyncio.SubprocessTransport | None = None

    @classmethod
    async def start(
        cls, arguments: Sequence[str], on_data: OnData, *, cwd: str | None = None, link: HostLink | None = None
    ) -> ClientProcess:
        """Start tmux with these arguments; `on_data` takes (1 or 2, bytes). `link`: the machine to start it on; `None`:
        this one. Raises `TmuxError`: missing, refused, unreachable.
        """
        remote = None
        if link is None:
            program = await asyncio.to_thread(tmux_program.find)
            argv, environment = (program, "-u", *arguments), tmux_program.client_environment()
        else:
            try:
                remote = await link.prepare(tmux_program.remote_client(link.settings), *arguments)
            except HostError as error:
                raise from_host(error) from error
            argv, environment, cwd = remote.argv, remote.environment, "/"

        def client_of() -> ClientProcess:
            made = cls(on_data)
            made._remote = remote
            return made

        start = asyncio.get_running_loop().subprocess_exec(
            client_of, *argv, env=environment, cwd=cwd, start_new_session=True
        )
        try:
            _, client = await finish_start(start, lambda started: started[1].drop())
        except FileNotFoundError as error:
            raise program_missing() from error
        except OSError as error:
            raise TmuxError("refused", f"Cannot start tmux: {error.strerror}.") from error
        return client

    def check_begun(self) -> None:
        """After its end: raise `TmuxError` (missing, unreachable) if it never ran, or if the connection broke."""
        remote = self._remote
        if remote is None or (remote.output.begun and self.status != 255):
            return
        self._said += remote.errors.end()
        raise from_host(remote.explain(self._said))

    def write(self, data: bytes) -> None:
        pipe = self._input()
        if pipe is not None:
            pipe.write(data)

    def close_input(self) -> None:
        pipe = self._input()
        if pipe is not None:
            pipe.close()

    async def drop(self) -> None:
        """End it at once, with its group, and close our ends of its pipes."""
        transport = self._transport
        if transport is None:
            return
        if not self.ended.is_set():
            self._kill()
            with contextlib.suppress(TimeoutError):
                async with time_limit(_REAP_WITHIN):
                    await self.ended.wait()
        transport.close()

    # -- asyncio's side --------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if self._remote is not None:
            data = (self._remote.output if fd == 1 else self._remote.errors).feed(data)
            if self._remote.output.flooded:
                self._kill()
            if fd == 2:
                self._said = (self._said + data)[-4_000:]
        if data:
            self._on_data(fd, data)

    def process_exited(self) -> None:
        if self._transport is not None:
            self.status = self._transport.get_returncode() or 0
        self.ended.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has ended and its pipes are closed."""
        self.ended.set()
        self.finished.set()

    def _kill(self) -> None:
        if self._transport is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._transport.get_pid(), signal.SIGKILL)

    def _input(self) -> asyncio.WriteTransport | None:
        if self._transport is None:
            return None
        pipe = self._transport.get_pipe_transport(0)
        return None if pipe is None or pipe.is_closing() else cast("asyncio.WriteTransport", pipe)


_ROOM = 12_000
DEADLINE = 4.0
"""Seconds that a call may take; a healthy one takes some milliseconds."""
REMOTE_DEADLINE = 15.0
"""The same on another machine, which may have to be connected to first."""


class TmuxQuestion(msgspec.Struct, frozen=True):
    """A command line, and the pane (by `PaneInfo.target`) that is described with its answer, in the same moment."""

    line: str
    about: str = ""
    format: str = FORMAT
    """The question about the pane."""
    in_one_step: bool = False
    """Whether nothing may happen between the line and the description. The line must be one that tmux understands."""

    def sealed(self, seal: str) -> str:
        """The command after it, which prints the seal and the description."""
        if not self.about:
            return f"display-message -p {quoted(seal)}"
        return f"display-message -p -t {quoted(self.about)} {quoted(seal + self.format)}"


class Reply(msgspec.Struct, frozen=True):
    """One command's answer. `error` is empty if it succeeded; `about` has the question's format."""

    lines: tuple[str, ...] = ()
    error: str = ""
    about: str = ""

    def text(self) -> tuple[str, ...]:
        """The lines of a success. Raises `TmuxError` for a failure."""
        if self.error:
            raise from_reply(self.error)
        return self.lines


class OneShotTransport:
    """Runs tmux clients against one socket.

    Args:
        address: the arguments that name the socket (`-L name` or `-S path`).
        link: the machine that it is on; `None`: this one.
    """

    def __init__(self, address: Sequence[str], link: HostLink | None = None) -> None:
        self.address = tuple(address)
        self.link = link
        self.from_file = False
        """Give scripts as a file, for a tmux that reads none from standard input."""
        self._left: set[ClientProcess] = set()

    async def ask(self, questions: Sequence[str | TmuxQuestion], *, deadline: float = DEADLINE) -> list[Reply]:
        """Run command lines, as many per client as its arguments can hold; a failing one does not stop the next.
        Raises `TmuxError`: missing, gone, timeout; or refused, if tmux could not parse any of it.
        """
        replies: list[Reply] = []
        asked = [TmuxQuestion(question) if isinstance(question, str) else question for question in questions]
        seal = secrets.token_hex(12)
        for batch in _batches(asked):
            # `if-shell -F` reads a line of tmux's language from an argument, and its failure stays its own.
            words = [word for question in batch for word in (*_given(question, seal), ";")]
            output, errors, _ = await self.run(*words, deadline=deadline)
            replies += _replies(output, errors, seal, len(batch))
        return replies

    async def feed(self, lines: Sequence[str], *, deadline: float = DEADLINE) -> list[Reply]:
        """Run command lines that must not be seen in a listing of processes, nor fit into arguments.

        They go in on standard input. Raises `TmuxError` as `ask` does.
        """
        seal = secrets.token_hex(12)
        script = "".join(
            f"{line} ; display-message -p {seal}+\n{TmuxQuestion('').sealed(f'{seal}-')}\n" for line in lines
        ).encode()
        if self.from_file:
            with tempfile.NamedTemporaryFile(prefix="gsh-tmux-") as file:  # 0600, and gone when tmux has read it
                await asyncio.to_thread(_fill, file.name, script)
                output, errors, _ = await self.run("source-file", file.name, deadline=deadline, patient=True)
        else:
            output, errors, _ = await self.run("source-file", "-", stdin=script, deadline=deadline, patient=True)
        return _replies(output, errors, seal, len(lines))

    async def close(self) -> None:
        """End the clients that were left waiting."""
        while self._left:
            await self._left.pop().drop()

    async def run(
        self, *arguments: str, stdin: bytes = b"", deadline: float = DEADLINE, patient: bool = False
    ) -> tuple[bytes, bytes, int]:
        """Run one client with arguments that we made ourselves; returns (stdout, stderr, exit status).

        `patient`: leave the client running after the deadline instead of ending it: a server that was stopped while
        reading from a client can crash on continuing if that client is gone. Raises `TmuxError`: missing, timeout or
        unreachable.
        """
        if self.link is not None:
            deadline = max(deadline, REMOTE_DEADLINE)
        try:
            async with time_limit(deadline):
                return await self._run(arguments, stdin, patient)
        except TimeoutError as error:
            raise timed_out(deadline) from error

    async def _run(self, arguments: Sequence[str], stdin: bytes, patient: bool) -> tuple[bytes, bytes, int]:
        heard: dict[int, list[bytes]] = {1: [], 2: []}
        words = (*self.address, *arguments)
        client = await ClientProcess.start(words, lambda fd, data: heard[fd].append(data), link=self.link)
        try:
            client.write(stdin)
            client.close_input()
            await client.finished.wait()
            client.check_begun()
        finally:
            self._left -= {left for left in self._left if left.ended.is_set()}
            if patient and not client.ended.is_set():
                self._left.add(client)
            else:
                await client.drop()
        return b"".join(heard[1]), b"".join(heard[2]), client.status


def _given(question: TmuxQuestion, seal: str) -> tuple[str, ...]:
    """The arguments that ask it: the line with the mark of its success, then the seal."""
    marked = f"{question.line} ; display-message -p {seal}+"
    return "if-shell", "-F", "1", marked, ";", "if-shell", "-F", "1", question.sealed(f"{seal}-")


def _batches(questions: Sequence[TmuxQuestion]) -> Iterator[list[TmuxQuestion]]:
    """What fits into the arguments of one client: a message between client and server has 16 KB."""
    batch: list[TmuxQuestion] = []
    size = 0
    for question in questions:
        needed = len(question.line.encode()) + len(question.sealed("").encode()) + 150
        if batch and size + needed > _ROOM:
            yield batch
            batch, size = [], 0
        batch.append(question)
        size += needed
    if batch:
        yield batch


def _fill(path: str, script: bytes) -> None:
    Path(path).write_bytes(script)


def _replies(output: bytes, errors: bytes, seal: str, count: int) -> list[Reply]:
    """Cut the output at the seals. An error line belongs to the first command without its mark of success."""
    complaints = [line for line in errors.decode("utf-8", "replace").splitlines() if line.strip()]
    good, end = f"{seal}+", f"{seal}-"
    replies: list[Reply] = []
    lines: list[str] = []
    for line in output.decode("utf-8", "replace").split("\n"):
        if not line.startswith(end):
            lines.append(line)
            continue
        about = line[len(end) :]
        if lines and lines[-1] == good:
            replies.append(Reply(tuple(lines[:-1]), about=about))
        else:
            error = complaints.pop(0) if complaints else "the command failed"
            replies.append(Reply(tuple(lines), error, about))
        lines = []
    if len(replies) < count:
        raise from_reply(complaints[0] if complaints else "server exited")
    return replies
