"""Ends child processes of ours: kills one that still runs and waits for it, never longer than a limit.

`Process.wait()` returns only when the child's pipes are closed as well. A pipe that nobody reads any more stays paused
and never is; nor is one that a grandchild holds. So the rest of their output is read and discarded, for a while.
"""

from __future__ import annotations

import asyncio
import contextlib

_WITHIN = 2.0


async def kill(process: asyncio.subprocess.Process, within: float = _WITHIN) -> None:
    """Kill the child, unless it has ended, and wait until it and its pipes are gone.

    Nothing else may be reading its pipes.

    Args:
        within: seconds to wait. A child that is left behind then is dead; only its pipes are held by somebody else.
    """
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    pipes = [pipe for pipe in (process.stdout, process.stderr) if pipe is not None]
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within):
            await asyncio.gather(*(_discard(pipe) for pipe in pipes))
            await process.wait()


async def _discard(pipe: asyncio.StreamReader) -> None:
    while await pipe.read(1 << 16):
        pass
