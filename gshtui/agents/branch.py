"""The project's git branch, looked at again after each turn: agents and people change it.

Publishes `BranchChanged`; called by the hub.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent import TurnFinished
from gshtui.bus.events.hub import BranchChanged
from gshtui.settings.place import branch


class BranchWatch:
    """The branch of one folder; `name` is empty outside of git and before `look`."""

    def __init__(self, bus: Bus, cwd: Path) -> None:
        self.name = ""
        self._bus = bus
        self._cwd = cwd
        bus.subscribe(self._again, TurnFinished, name="branch")

    async def look(self) -> str:
        """Read it now."""
        self.name = await asyncio.to_thread(branch, self._cwd)
        return self.name

    async def _again(self, _batch: Sequence[Event]) -> None:
        before = self.name
        if await self.look() != before:
            self._bus.publish(BranchChanged(branch=self.name))
