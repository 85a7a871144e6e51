"""The git branches of the folders that commands run in, read from git's files and cached for a moment.

Reads in a thread, so that a folder on a dead network drive blocks nobody. Called by the intake.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from pathlib import Path

from gshtui.settings.git_info import branch
from gshtui.system.processes.time_limit import time_limit

FRESH = 2.0
"""Seconds for which a branch is believed."""
WITHIN = 0.5
"""Seconds that reading may take; a folder that takes longer has no branch for now."""
_KEPT = 500


class BranchCache:
    """Answers at once for folders it has examined."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, float]] = {}

    def branch_of(self, folder: str) -> str:
        """The branch at the last look at the folder; empty if there was none."""
        return self._known.get(folder, ("", 0.0))[0]

    async def refresh(self, folders: Iterable[str]) -> None:
        """Look at these, unless that was a moment ago."""
        now = time.monotonic()
        wanted = [name for name in set(folders) if name.startswith("/") and self._stale(name, now)]
        if not wanted:
            return
        if len(self._known) > _KEPT:
            self._known.clear()
        self._known |= {name: (self.branch_of(name), now) for name in wanted}
        with contextlib.suppress(TimeoutError):
            async with time_limit(WITHIN):
                found = await asyncio.to_thread(lambda: {name: _branch(name) for name in wanted})
                self._known |= {name: (said, now) for name, said in found.items()}

    def _stale(self, folder: str, now: float) -> bool:
        known = self._known.get(folder)
        return known is None or now - known[1] > FRESH


def _branch(folder: str) -> str:
    try:
        return branch(Path(folder))
    except (OSError, ValueError):
        return ""
