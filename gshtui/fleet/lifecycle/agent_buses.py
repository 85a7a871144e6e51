"""The bus on which one of our own agents in terminals hears what it is asked."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Protocol

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.bus.bus import Bus
from gshtui.fleet.core.ports import FleetError
from gshtui.guard.approval.open_approvals import OpenApprovals


class HostedAgent(Protocol):
    """An agent that runs in this process."""

    @property
    def bus(self) -> Bus: ...
    @property
    def question(self) -> OpenQuestion | None:
        """What its program asks now, if it is one over ACP."""
        ...

    @property
    def approvals(self) -> OpenApprovals: ...


class AgentBuses:
    """See the module's text."""

    def __init__(
        self,
        bus: Bus,
        connected: Callable[[str], bool] = lambda agent: False,
        hosted: Callable[[str], HostedAgent | None] = lambda agent: None,
        *,
        data: Path | None = None,
    ) -> None:
        """
        Args:
            bus: this hub's.
            connected: whether an agent listens to it.
            data: folder of the record, for a command that hears no agents: a line is opened to one that runs in a
                process of its own and that no window hears. `None`: it is no such command.
        """
        self.connected = connected
        self.hosted = hosted
        self._bus = bus
        self._data = data

    @contextlib.asynccontextmanager
    async def reach(self, row: AgentRow) -> AsyncGenerator[Bus]:
        """The agent's bus. Raises `FleetError` if it cannot be reached from here."""
        if self.connected(row.id):
            yield self._bus
        elif (own := self.hosted(row.id)) is not None:
            yield own.bus
        elif self._data is None:
            raise FleetError("busy", f"{row.name} ({row.id}) is not connected.", hint="Try again in a moment.")
        else:
            from gshtui.fleet.native.direct_line import direct_line

            async with direct_line(self._data, row) as line:
                yield line.bus
                await line.bus.drained()
