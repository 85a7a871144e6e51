"""One control-mode client: a single `tmux -C` process that runs every command and reports what happens.

It has its own hidden session. Each command has a deadline; if one passes, the client is given up. Closing its input
ends it; it is killed only if that does not help. Called only by `TmuxConnection`.

Parses the output of a control-mode client: which lines answer which command, and which are notifications. Between
`%begin` and its end every line is data, whatever it looks like: a program in a pane can print `%end` with any numbers.
Therefore each command is followed by a seal, a line that no program in a pane can know; only what precedes the seal
counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path

from gshtui.hosts.host_link import HostLink
from gshtui.hosts.remote_shell import path_line
from gshtui.system.files.file_lock import LockHeld, file_lock
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job
from gshtui.tmux.client_process import REMOTE_DEADLINE, ClientProcess, Reply, TmuxQuestion
from gshtui.tmux.panes import HIDDEN
from gshtui.tmux.quoting import quoted
from gshtui.tmux.tmux_errors import TmuxError, connection_lost, server_gone, timed_out

_WITHIN = 3.0
_AGAIN = 0.004


@contextlib.asynccontextmanager
async def server_lock(
    address: Sequence[str], link: HostLink | None = None, *, within: float = _WITHIN
) -> AsyncGenerator[bool]:
    """Wait at most this many seconds for the lock, and hold it inside; yields whether it was acquired.

    tmux 3.3a, which Debian 12 ships, crashes with everything on it if a session is created, ended or renamed at the
    instant when a control client connects. A lock beside the socket keeps the two apart. It never waits long, because a
    stopped process must not block the others.

    Args:
        address: the arguments that name the socket (`-L name` or `-S path`).
        link: the machine that it is on; there, the lock is among our processes here.
    """
    async with contextlib.AsyncExitStack() as stack:
        held = True
        try:
            await stack.enter_async_context(file_lock(_file(address, link), within=within, every=_AGAIN))
        except (LockHeld, OSError):
            # An `OSError`: there is no folder for the socket, and so no server yet, or the file system has no locks.
            held = False
        yield held


def _file(address: Sequence[str], link: HostLink | None) -> Path:
    if link is not None:
        return link.lock_base.with_suffix(".turn")
    flag, socket = address
    if flag == "-L":
        folder = Path(os.environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"
        socket = str(folder / socket)
    return Path(f"{socket}.turn")


Answer = Callable[[bool, list[bytes], bytes], None]
"""(succeeded, lines, text after the seal)"""


class ControlParser:
    """Feeds on bytes; calls `Answer`s in the order of `expect`, and `note` with every other line. `note`: takes a
    notification, without its newline.
    """

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note
        self._said = bytearray()
        """Input not parsed yet."""
        self._waiting: deque[tuple[bytes, Answer]] = deque()
        self._open = b""
        """The numbers of the block that we are in; empty outside."""
        self._foreign = False
        self._searched: int = 0
        """How far the block has been searched for its seal."""

    def expect(self, seal: bytes, answer: Answer) -> None:
        """A command has been sent, and a second one that prints the seal (and maybe more, in the same line)."""
        self._waiting.append((seal, answer))

    def feed(self, data: bytes) -> None:
        """Take more of what the client said."""
        self._said += data
        while self._inside() if self._open and not self._foreign else self._line():
            pass

    def _line(self) -> bool:
        """Parse a line outside of answers. Returns whether there was one."""
        end = self._said.find(b"\n")
        if end < 0:
            return False
        line = bytes(self._said[:end])
        del self._said[: end + 1]
        if self._open:  # a block that answers nobody
            if line in (b"%end " + self._open, b"%error " + self._open):
                self._open = b""
        elif line.startswith(b"%begin "):
            self._open = line[len(b"%begin ") :]
            # The last number says whether the block answers us; others are of hooks and of the client's start.
            self._foreign = not self._waiting or not self._open.endswith(b" 1")
            self._searched = 0
        else:
            self._note(line)
        return True

    def _inside(self) -> bool:
        """Parse a complete answer, up to the end of the block with its seal. Returns whether it is complete."""
        said, (seal, answer) = self._said, self._waiting[0]
        at = said.find(b"\n" + seal, self._searched)
        if at < 0:
            self._searched = max(0, len(said) - len(seal))
            return False
        behind = said.find(b"\n", at + 1)
        last = said.find(b"\n", behind + 1) if behind >= 0 else -1
        if last < 0:
            self._searched = at
            return False
        lines = bytes(said[:at]).split(b"\n")
        tail, closing = bytes(said[at + 1 + len(seal) : behind]), bytes(said[behind + 1 : last])
        begin = lines.pop()
        if not begin.startswith(b"%begin ") or closing != b"%end " + begin[len(b"%begin ") :]:
            self._searched = at + 1  # no seal after all
            return True
        # The last end before the seal is the real one; what stands between the two are notifications.
        ends = b"%end " + self._open, b"%error " + self._open
        end = len(lines) - 1
        while end >= 0 and lines[end] not in ends:
            end -= 1
        del said[: last + 1]
        self._waiting.popleft()
        self._open = b""
        answer(end >= 0 and lines[end] == ends[0], lines[: max(end, 0)], tail)
        for line in lines[end + 1 :]:
            self._note(line)
        return True


DEADLINE = 4.0
_CLOSE_WITHIN = 1.0
LOOK_EVERY = 30
"""Seconds from one look of a hidden session on another machine for its client to the next; without one, it ends.

A client whose connection breaks leaves its session behind, and nobody may ever come back to end that.
"""
# While its client is still leaving, a session is not ended: tmux 3.3 would crash. A client that still has something to
# say when its connection breaks never leaves: tmux waits to be rid of it. What started such a client is gone.
_WHILE_ATTENDED = """\
while sleep "$2"; do
    client=$("$1" list-clients -t "=$0:" -F '#{client_pid}' 2>/dev/null)
    [ -n "$client" ] || exec "$1" kill-session -t "=$0:"
    parent=$(ps -o ppid= -p "$client" 2>/dev/null | tr -d ' ')
    first=${first:-$parent}
    case "$parent" in
        1) kill -KILL "$client" ;;
        "$first") ;;
        *) [ -z "$parent" ] || kill -KILL "$client" ;;
    esac
done
"""


class ControlClient:
    """A client; `connect` makes one.

    Attributes:
        session: the hidden session that it is in.
        lost: set when it has ended, for whatever reason.
    """

    def __init__(
        self, address: Sequence[str], session: str, note: Callable[[bytes], None], link: HostLink | None = None
    ) -> None:
        self.session = session
        self._address = tuple(address)
        self._link = link
        self.lost = asyncio.Event()
        self._client: ClientProcess | None = None
        self._secret = secrets.token_hex(12)
        self._number = 0
        self._attached = asyncio.Event()
        self._note = note
        self._blocks = ControlParser(self._on_notification)
        self._pending: set[asyncio.Future[Reply]] = set()
        self._subscriptions: list[str] = []
        self._unsent: list[str] = []
        self._ending: asyncio.Task[None] | None = None

    @classmethod
    async def connect(
        cls, address: Sequence[str], note: Callable[[bytes], None], link: HostLink | None = None
    ) -> ControlClient:
        """Start a client on a running server. Raises `TmuxError` (missing, gone, timeout, refused, unreachable).
        `link`: the machine that the server is on; `None`: this one.
        """
        session = f"{HIDDEN}{os.getpid()}-{secrets.token_hex(3)}"
        control = cls(address, session, note, link)
        deadline = DEADLINE if link is None else REMOTE_DEADLINE
        # -N: never start a server. `cat` waits for ever at no cost; a session needs some window.
        program: tuple[str, ...] = ("cat",)
        if link is not None:
            script = path_line(link.settings.path) + _WHILE_ATTENDED
            program = ("/bin/sh", "-c", script, session, link.settings.tmux, str(LOOK_EVERY))
        new = ("new-session", "-E", "-s", session, "-n", session, "-f", "ignore-size", "-x", "80", "-y", "24", *program)
        try:
            async with server_lock(address, link):
                client = control._client = await ClientProcess.start(
                    ("-N", *address, "-C", *new), control._on_data, cwd="/", link=link
                )
                control._ending = start_job(control._wait_for_end(client), "the end of a tmux client")
                # Only now is the session there; what is sent earlier may be read before it is made.
                async with time_limit(deadline):
                    await control._attached.wait()
                if control.lost.is_set():
                    client.check_begun()
            await control.ask(["display-message -p ready"])
        except TimeoutError as error:
            await control.close()
            raise timed_out(deadline) from error
        except BaseException:
            await control.close()
            raise
        return control

    async def ask(
        self, questions: Sequence[str | TmuxQuestion], *, deadline: float = DEADLINE, at_once: bool = False
    ) -> list[Reply]:
        """Run command lines in one batch; returns a reply for each, in order.

        `at_once`: do not wait for what else may be sent in this step of the event loop. Raises `TmuxError`: gone, if
        the client ended; timeout, after which the client is given up.
        """
        loop = asyncio.get_running_loop()
        futures: list[asyncio.Future[Reply]] = []
        lines: list[str] = []
        if self.lost.is_set():
            raise self._gone()
        for question in questions:
            if isinstance(question, str):
                question = TmuxQuestion(question)
            self._number += 1
            seal = f"{self._secret}{self._number};"
            future: asyncio.Future[Reply] = loop.create_future()
            self._blocks.expect(seal.encode(), _answering(future))
            futures.append(future)
            # Lines may be read one by one, but what is in one line is done before anything else is.
            then = " ; " if question.in_one_step else "\n"
            lines.append(f"{question.line}{then}{question.sealed(seal)}\n")
        self._pending.update(futures)
        self._send("".join(lines))
        if at_once:
            self._flush()
        try:
            async with time_limit(deadline):
                return await asyncio.gather(*futures)
        except TimeoutError as error:
            self._abandon()
            raise timed_out(deadline) from error
        finally:
            self._pending.difference_update(futures)

    def run_unanswered(self, *lines: str) -> None:
        """Run command lines whose answers do not matter."""
        for line in lines:
            if not self.lost.is_set():
                self._number += 1
                seal = f"{self._secret}{self._number};"
                self._blocks.expect(seal.encode(), _ignored)
                self._send(f"{line}\n{TmuxQuestion(line).sealed(seal)}\n")

    def subscribe(self, name: str, what: str) -> None:
        """Have a `%subscription-changed` notification when this format changes for any pane; tmux looks each second."""
        self._subscriptions.append(name)
        self.run_unanswered(f"refresh-client -B {quoted(f'{name}:%*:{what}')}")

    async def close(self) -> None:
        """End the client with its session, by ending its input; by force only when it does not take the hint.

        The session is ended by name, never by `destroy-unattached`: with that, tmux 3.3 crashes when another client
        goes while this one is on its way out. Its subscriptions end before it: tmux 3.3 looks them up each second, and
        crashes on a client whose session is gone but which still has output to deliver.
        """
        async with server_lock(self._address, self._link, within=_CLOSE_WITHIN) as ours:
            if ours:  # else it is cleared away by whoever listens next
                ends = (f"refresh-client -B {quoted(name)}" for name in self._subscriptions)
                self.run_unanswered(*ends, f"kill-session -t ={self.session}:")
            self._abandon()
            if self._client is not None:
                with contextlib.suppress(TimeoutError):
                    async with time_limit(_CLOSE_WITHIN):
                        await self._client.ended.wait()
                await self._client.drop()
        if self._ending is not None:
            self._ending.cancel()

    def _on_notification(self, line: bytes) -> None:
        if not self._attached.is_set() and line.startswith(b"%session-changed "):
            self._attached.set()
        self._note(line)

    def _on_data(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._blocks.feed(data)

    def _send(self, text: str) -> None:
        """Send everything from one step of the event loop together, because each write wakes two processes."""
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent.append(text)

    def _flush(self) -> None:
        text = "".join(self._unsent)
        self._unsent.clear()
        if self._client is not None and text:
            self._client.write(text.encode())

    def _abandon(self) -> None:
        """Stop sending, and fail all waiting calls."""
        self.lost.set()
        self._attached.set()
        for future in self._pending:
            if not future.done():
                future.set_exception(self._gone())
        if self._client is not None:
            self._flush()
            self._client.close_input()

    def _gone(self) -> TmuxError:
        return server_gone() if self._link is None else connection_lost(self._link.name)

    async def _wait_for_end(self, client: ClientProcess) -> None:
        await client.ended.wait()
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
