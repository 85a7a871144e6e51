"""Watching folders through the system, on a thread of its own: `watchfiles.awatch` without anyio.

anyio would take more memory than all else that watching takes. Owns the thread; it ends with the generator. Raises what
the system refuses (`OSError`). Called by the watch of a project's files.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

_POLL = 300
"""Milliseconds between two looks where the system tells nothing."""


async def watch(
    *paths: str, debounce: int, step: int, rust_timeout: int, recursive: bool, ignore_permission_denied: bool
) -> AsyncGenerator[set[tuple[Any, str]]]:
    """The changes as they come: sets of (1 added, 2 modified, 3 deleted; path); an empty set for every time-out.

    Args:
        debounce: milliseconds that changes are gathered at most.
        step: milliseconds without a change after which they are told.
        rust_timeout: milliseconds after which an empty set is told.
        recursive: with all folders below.
        ignore_permission_denied: pass by what must not be read.
    """
    from watchfiles._rust_notify import RustNotify

    stop = threading.Event()
    thread = ThreadPoolExecutor(1, thread_name_prefix="files")
    loop = asyncio.get_running_loop()
    try:
        # Here, not in the thread: once this has begun to wait, every folder is watched.
        with RustNotify(list(paths), False, _polls(), _POLL, recursive, ignore_permission_denied) as watcher:
            while True:
                waiting = loop.run_in_executor(thread, watcher.watch, debounce, step, rust_timeout, stop)
                try:
                    found = await asyncio.shield(waiting)
                except asyncio.CancelledError:
                    stop.set()
                    with suppress(Exception):
                        await waiting
                    raise
                if isinstance(found, set):
                    yield found
                elif found == "timeout":
                    yield set()
                else:
                    raise RuntimeError(f"the watch of files ended by itself: {found}")
    finally:
        stop.set()
        thread.shutdown(wait=False)


def _polls() -> bool:
    """Whether to look instead of being told: where a person says so, and on Windows' own Linux, which tells nothing."""
    said = os.environ.get("WATCHFILES_FORCE_POLLING", "")
    return said.lower() not in ("false", "disable", "disabled") if said else "microsoft-standard" in os.uname().release
