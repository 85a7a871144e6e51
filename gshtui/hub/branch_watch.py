"""The git branch of a hub's folder: read at the start and after each turn, since a tool may have changed it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.hub_events import BranchChanged
from gshtui.settings.git_info import branch


class BranchWatch:
    """The branch of one folder; `name` is empty outside a git repository and before `read_branch`."""

    def __init__(self, bus: Bus, cwd: Path) -> None:
        self.name = ""
        self._bus = bus
        self._cwd = cwd
        bus.subscribe(self._reread, TurnFinished, name="branch")

    async def read_branch(self) -> str:
        """Read it now."""
        self.name = await asyncio.to_thread(branch, self._cwd)
        return self.name

    async def _reread(self, _batch: Sequence[Event]) -> None:
        before = self.name
        if await self.read_branch() != before:
            self._bus.publish(BranchChanged(branch=self.name))
