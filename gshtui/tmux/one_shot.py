"""Forked tmux calls: one process per call, with several commands and a deadline, and nothing left behind.

Passes commands to a short-lived client and separates their outputs. Long or secret text goes to its standard input. It
is the fallback for the control client, and does what only a fork can do (`load-buffer -`).
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from gshtui.hosts.host_link import HostLink
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux.client_process import ClientProcess
from gshtui.tmux.panes import FORMAT
from gshtui.tmux.quoting import quoted
from gshtui.tmux.tmux_errors import from_reply, timed_out

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
