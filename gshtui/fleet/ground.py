"""What the rooms of the fleet share: the bus, the record, the rows, the terminals and the place.

Owns nothing but the bundle, and the two small questions that every room asks of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from gshtui.bus.bus import Bus
from gshtui.bus.fleet import ENDED_STATUSES, AgentRow
from gshtui.fleet.ports import FleetError, Launcher, Place, Post
from gshtui.fleet.rows import Rows
from gshtui.fleet.terminals import Terminals
from gshtui.store.errors import StoreError
from gshtui.store.store import Store


@dataclass(frozen=True)
class Ground:
    """Handed to every room; made by the fleet."""

    bus: Bus
    store: Store
    rows: Rows
    terminals: Terminals
    launcher: Launcher
    make_post: Callable[[], Post]
    place: Place

    @cached_property
    def post(self) -> Post:
        """Delivers messages; made when the first one is sent."""
        return self.make_post()

    async def row(self, wanted: str) -> AgentRow:
        """The agent of this id (leading zeros may be missing) or name.

        Raises:
            FleetError: there is none (`unknown`), or the record cannot be read (`store`).
        """
        try:
            found = await self.store.agent(wanted)
            await self.rows.load()
        except StoreError as error:
            raise of_store(error) from error
        row = self.rows.get(found.id)
        return row if row is not None else found


def over(row: AgentRow) -> bool:
    """Whether nothing of the agent runs any more, as far as is known."""
    return bool(row.ended) and row.status in ENDED_STATUSES


def of_store(error: StoreError) -> FleetError:
    """The fleet's error for one of the record's."""
    return FleetError("unknown" if error.kind == "unknown" else "store", error.message, hint=error.hint)
