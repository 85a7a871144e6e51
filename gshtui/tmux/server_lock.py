"""A lock among our processes on one tmux server: while a control client connects, no session or client starts or ends.

tmux 3.3a, which Debian 12 ships, crashes with everything on it if a session is created, ended or renamed at the instant
when a control client connects. A lock beside the socket keeps the two apart. It never waits long, because a stopped
process must not block the others. Called by everything here that starts or ends a session or a control client.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from gshtui.hosts.host_link import HostLink
from gshtui.system.files.file_lock import LockHeld, file_lock

_WITHIN = 3.0
_AGAIN = 0.004


@contextlib.asynccontextmanager
async def server_lock(
    address: Sequence[str], link: HostLink | None = None, *, within: float = _WITHIN
) -> AsyncGenerator[bool]:
    """Wait at most this many seconds for the lock, and hold it inside; yields whether it was acquired.

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
