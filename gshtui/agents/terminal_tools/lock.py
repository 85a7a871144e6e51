"""One agent at a time: a whole command in the shared shell, a text and its Enter in any pane; over all processes.

A lock of the kernel's on a file in our runtime folder: it ends with the process that has it. Called by `terminal`.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
from collections.abc import AsyncGenerator

from gshtui.commands.declaration import CommandError
from gshtui.guard.sanitise import one_line
from gshtui.settings import paths

_EVERY = 0.1
"""Seconds between attempts."""


_TYPING_WITHIN = 5.0
"""Seconds; typing takes some milliseconds."""


@contextlib.asynccontextmanager
async def alone(what: str, doing: str, within: float) -> AsyncGenerator[None]:
    """Have the shared shell to oneself.

    Args:
        what: which: the socket of its tmux server.
        doing: what for, told to others that wait.
        within: seconds to wait for it.

    Raises:
        CommandError: another agent's command runs there for longer.
    """
    name = hashlib.sha256(what.encode()).hexdigest()[:12]
    path = paths.runtime_dir() / f"shared-shell-{name}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        await _take(descriptor, within)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, doing.encode("utf-8", "replace")[:300], 0)
        yield
    finally:
        os.close(descriptor)


async def _take(descriptor: int, within: float) -> None:
    until = asyncio.get_running_loop().time() + within
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if asyncio.get_running_loop().time() >= until:
                other = one_line(os.pread(descriptor, 300, 0).decode("utf-8", "replace"))
                hint = "Wait for it (`tmux action=wait_ready`), or use `bash`, which has a shell of its own."
                raise CommandError(f"Another agent's command runs in the shared shell: {other}.", hint=hint) from None
            await asyncio.sleep(_EVERY)
        else:
            return


def typing(socket: str, pane: str) -> contextlib.AbstractAsyncContextManager[None]:
    """Have a pane to oneself for a text and its Enter, so that two agents' texts never mix."""
    return alone(f"{socket} {pane}", f"typing in {pane}", _TYPING_WITHIN)
