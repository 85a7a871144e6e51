"""Turns between all our processes on one tmux server: while a control client comes, no session or client comes or goes.

tmux 3.3a, which Debian 12 has, ends with everything on it when a session is made, ended or renamed in the instant in
which a control client introduces itself. A lock beside the socket keeps the two apart. Refuses to wait for long: one
that stands still must not hold up the others. Called by whatever here makes or ends a session or a control client.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from gshtui.system import private_files

_WITHIN = 3.0
_AGAIN = 0.004


@contextlib.asynccontextmanager
async def server_lock(address: Sequence[str], *, within: float = _WITHIN) -> AsyncGenerator[bool]:
    """Wait for the turn, at most this many seconds, and hold it inside; gives whether it was had.

    Args:
        address: the arguments that name the socket (`-L name` or `-S path`).
    """
    lock = _opened(address)
    if lock is None:
        yield False
        return
    try:
        yield await _taken(lock, within)
    finally:
        os.close(lock)


def _opened(address: Sequence[str]) -> int | None:
    """The lock's file, open; `None` where there is no folder for the socket, and so no server yet, or none of ours."""
    flag, socket = address
    if flag == "-L":
        folder = Path(os.environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"
        socket = str(folder / socket)
    try:
        return private_files.open_file(f"{socket}.turn", os.O_RDWR)
    except OSError:
        return None


async def _taken(lock: int, within: float) -> bool:
    loop = asyncio.get_running_loop()
    until = loop.time() + within
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if loop.time() >= until:
                return False
        except OSError:  # a file system without locks
            return False
        else:
            return True
        await asyncio.sleep(_AGAIN)
