"""Forked tmux calls: one process a call, its commands on standard input, a deadline, and nothing left behind.

Owns how a script of commands is given to a short-lived client and how its output is told apart. Never puts text of
others into arguments. The rung below the control client, and the way to what only a fork can do (`load-buffer -`).
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gshtui.tmux.client import Client
from gshtui.tmux.errors import said, timed_out
from gshtui.tmux.panes import FORMAT
from gshtui.tmux.quoting import quoted

DEADLINE = 4.0
"""Seconds that a call may take; a healthy one takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class Question:
    """A command line, and the pane (by `PaneInfo.target`) that is described with its answer, in the same moment."""

    line: str
    about: str = ""

    def sealed(self, seal: str) -> str:
        """The command behind it, which prints the seal and the description."""
        if not self.about:
            return f"display-message -p {quoted(seal)}"
        return f"display-message -p -t {quoted(self.about)} {quoted(seal + FORMAT)}"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one command answered. `error` is empty when it succeeded; `about` is in the format of `panes`."""

    lines: tuple[str, ...] = ()
    error: str = ""
    about: str = ""

    def text(self) -> tuple[str, ...]:
        """The lines of a success. Raises `TmuxError` for a failure."""
        if self.error:
            raise said(self.error)
        return self.lines


class Forked:
    """Runs tmux clients against one socket.

    Args:
        address: the arguments that name the socket (`-L name` or `-S path`).
        from_file: give scripts as a file, for a tmux that reads none from standard input.
    """

    def __init__(self, address: Sequence[str], *, from_file: bool = False) -> None:
        self.address = tuple(address)
        self.from_file = from_file

    async def ask(self, questions: Sequence[str | Question], *, deadline: float = DEADLINE) -> list[Reply]:
        """Run command lines in one client; one that fails does not stop the next. A reply for each.

        Raises:
            TmuxError: missing, gone, timeout; or refused, when tmux could read none of it.
        """
        seal = secrets.token_hex(12)
        asked = [Question(question) if isinstance(question, str) else question for question in questions]
        script = "".join(
            f"{question.line} ; display-message -p {seal}+\n{question.sealed(f'{seal}-')}\n" for question in asked
        ).encode()
        if self.from_file:
            with tempfile.NamedTemporaryFile(prefix="gsh-tmux-") as file:  # 0600, and gone when tmux has read it
                await asyncio.to_thread(_fill, file.name, script)
                output, errors, _ = await self.run("source-file", file.name, deadline=deadline)
        else:
            output, errors, _ = await self.run("source-file", "-", stdin=script, deadline=deadline)
        return _replies(output, errors, seal, len(asked))

    async def run(self, *arguments: str, stdin: bytes = b"", deadline: float = DEADLINE) -> tuple[bytes, bytes, int]:
        """Run one client with arguments of our own making; (stdout, stderr, exit status).

        Raises:
            TmuxError: missing, or timeout: then its process group has been killed.
        """
        heard: dict[int, list[bytes]] = {1: [], 2: []}
        client = await Client.start((*self.address, *arguments), lambda fd, data: heard[fd].append(data))
        try:
            client.write(stdin)
            client.close_input()
            async with asyncio.timeout(deadline):
                await client.finished.wait()
        except TimeoutError as error:
            raise timed_out(deadline) from error
        finally:
            await client.drop()
        return b"".join(heard[1]), b"".join(heard[2]), client.status


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
        raise said(complaints[0] if complaints else "server exited")
    return replies
