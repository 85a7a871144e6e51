"""The bus on which one of our own agents in terminals hears what it is asked."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
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
    ) -> None:
        """`bus`: this hub's. `connected`: whether an agent listens to it."""
        self.connected = connected
        self.hosted = hosted
        self._bus = bus

    @contextlib.asynccontextmanager
    async def reach(self, row: AgentRow) -> AsyncGenerator[Bus]:
        """The agent's bus. Raises `FleetError` if it cannot be reached from here."""
        if self.connected(row.id):
            yield self._bus
        elif (own := self.hosted(row.id)) is not None:
            yield own.bus
        else:
            raise unreachable(row)


def unreachable(row: AgentRow) -> FleetError:
    """No hub runs the agent now, or this process is none that hears it."""
    hint = f"Try again in a moment; `agent attach {row.id}` shows its terminal."
    return FleetError("busy", f"{row.name} ({row.id}) is not connected.", hint=hint)
