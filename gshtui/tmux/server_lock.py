"""Turns between all our processes on one tmux server: while a control client comes, no session or client comes or goes.

tmux 3.3a, which Debian 12 has, ends with everything on it when a session is made, ended or renamed in the instant in
which a control client introduces itself. A lock beside the socket keeps the two apart. Refuses to wait for long: one
that stands still must not hold up the others. Called by whatever here makes or ends a session or a control client.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from gshtui.system.file_lock import LockHeld, file_lock

_WITHIN = 3.0
_AGAIN = 0.004


@contextlib.asynccontextmanager
async def server_lock(address: Sequence[str], *, within: float = _WITHIN) -> AsyncGenerator[bool]:
    """Wait for the turn, at most this many seconds, and hold it inside; gives whether it was had.

    Args:
        address: the arguments that name the socket (`-L name` or `-S path`).
    """
    async with contextlib.AsyncExitStack() as stack:
        held = True
        try:
            await stack.enter_async_context(file_lock(_file(address), within=within, every=_AGAIN))
        except (LockHeld, OSError):
            # An `OSError`: there is no folder for the socket, and so no server yet, or the file system has no locks.
            held = False
        yield held


def _file(address: Sequence[str]) -> Path:
    flag, socket = address
    if flag == "-L":
        folder = Path(os.environ.get("TMUX_TMPDIR") or "/tmp") / f"tmux-{os.getuid()}"
        socket = str(folder / socket)
    return Path(f"{socket}.turn")
