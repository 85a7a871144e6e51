"""One agent at a time has the shared shell, for a whole command; over all processes. Called by `terminal`."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import AsyncGenerator

from gshtui.commands.declaration import CommandError
from gshtui.guard.sanitise import one_line
from gshtui.settings import paths
from gshtui.system.file_lock import LockHeld, file_lock


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
    # A lock that cannot be had is an error of its own; one of what is done inside is not.
    async with contextlib.AsyncExitStack() as stack:
        try:
            path = paths.runtime_dir() / f"shared-shell-{name}.lock"
            await stack.enter_async_context(file_lock(path, note=doing, within=within))
        except LockHeld as held:
            hint = "Wait for it (`tmux action=wait_ready`), or use `bash`, which has a shell of its own."
            other = one_line(held.note)
            raise CommandError(f"Another agent's command runs in the shared shell: {other}.", hint=hint) from None
        yield
