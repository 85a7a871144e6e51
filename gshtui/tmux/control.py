"""One control-mode client: a single `tmux -C` process that carries every command, and tells what happens.

It sits in a hidden session of its own that ends with it. Each command has a deadline; past one, the client is given up.
It is closed by closing its input, and killed only if that did not help. Called by `ladder` alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
from collections.abc import Callable, Sequence

from gshtui.tmux import program
from gshtui.tmux.blocks import Blocks
from gshtui.tmux.errors import TmuxError, gone, missing, timed_out
from gshtui.tmux.forked import Question, Reply
from gshtui.tmux.panes import HIDDEN
from gshtui.tmux.quoting import command

DEADLINE = 4.0
_CLOSE_WITHIN = 1.0
_READ = 1 << 18


class Control:
    """A client; `connect` makes one.

    Attributes:
        session: the hidden session that it is in.
        lost: set when it has ended, for whatever reason.
    """

    def __init__(self, process: asyncio.subprocess.Process, session: str, note: Callable[[bytes], None]) -> None:
        self.session = session
        self.lost = asyncio.Event()
        self._process = process
        self._secret = secrets.token_hex(12)
        self._number = 0
        self._blocks = Blocks(note)
        self._pending: set[asyncio.Future[Reply]] = set()
        self._reader = asyncio.get_running_loop().create_task(self._read(), name="tmux-control")

    @classmethod
    async def connect(cls, address: Sequence[str], note: Callable[[bytes], None]) -> Control:
        """Start a client on a running server. Raises `TmuxError` (missing, gone, timeout, refused)."""
        session = f"{HIDDEN}{os.getpid()}-{secrets.token_hex(3)}"
        # -N: never start a server. `cat` waits for ever at no cost; a session needs some window.
        new = ("new-session", "-E", "-s", session, "-n", session, "-f", "ignore-size", "-x", "80", "-y", "24", "cat")
        try:
            process = await asyncio.create_subprocess_exec(
                *(program.find(), "-u", "-N", *address, "-C", *new),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=program.client_environment(),
                cwd="/",
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise missing() from error
        except OSError as error:
            raise TmuxError("refused", f"tmux could not be started: {error.strerror}.") from error
        client = cls(process, session, note)
        try:
            (reply,) = await client.ask([command("set-option", "-t", f"={session}:", "destroy-unattached", "on")])
            reply.text()
        except BaseException:
            await client.close()
            raise
        return client

    async def ask(self, questions: Sequence[str | Question], *, deadline: float = DEADLINE) -> list[Reply]:
        """Run command lines, all in one go; a reply for each, in order.

        Raises:
            TmuxError: gone, when the client ended; timeout, and then the client is given up.
        """
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Reply]] = []
        lines: list[str] = []
        if self.lost.is_set():
            raise gone()
        for question in questions:
            if isinstance(question, str):
                question = Question(question)
            self._number += 1
            seal = f"{self._secret}{self._number};"
            future: asyncio.Future[Reply] = loop.create_future()
            self._blocks.expect(seal.encode(), _answering(future))
            futures.append(future)
            lines.append(f"{question.line}\n{question.sealed(seal)}\n")
        self._pending.update(futures)
        self._send("".join(lines))
        try:
            async with asyncio.timeout(deadline):
                return await asyncio.gather(*futures)
        except TimeoutError as error:
            self._abandon()
            raise timed_out(deadline) from error
        finally:
            self._pending.difference_update(futures)

    def tell(self, *lines: str) -> None:
        """Run command lines whose answers do not matter."""
        for line in lines:
            if not self.lost.is_set():
                self._number += 1
                seal = f"{self._secret}{self._number};"
                self._blocks.expect(seal.encode(), _ignored)
                self._send(f"{line}\n{Question(line).sealed(seal)}\n")

    async def close(self) -> None:
        """End the client by ending its input; by force only when it does not take the hint."""
        self._abandon()
        try:
            async with asyncio.timeout(_CLOSE_WITHIN):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            await self._process.wait()
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())

    def _abandon(self) -> None:
        """No more is sent; who waits is told."""
        self.lost.set()
        for future in self._pending:
            if not future.done():
                future.set_exception(gone())
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while data := await self._process.stdout.read(_READ):
                self._blocks.feed(data)
        finally:
            self._abandon()


def _answering(future: asyncio.Future[Reply]) -> Callable[[bool, list[bytes], bytes], None]:
    def answer(succeeded: bool, lines: list[bytes], tail: bytes) -> None:
        if not future.done():
            texts = tuple(line.decode("utf-8", "replace") for line in lines)
            error = "" if succeeded else " ".join(texts) or "the command failed"
            future.set_result(Reply(texts, error, tail.decode("utf-8", "replace")))

    return answer


def _ignored(succeeded: bool, lines: list[bytes], tail: bytes) -> None:
    """Nobody waits for it."""
