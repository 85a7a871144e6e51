"""The part of the record's contract that is about what model requests used; `Store` is one of these.

Owns the coroutines over the table `usage`; refuses nothing itself, see `usage`. Used by the agents and the faces.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gshtui.bus.usage import By, UsageRow, UsageSum
from gshtui.store import usage
from gshtui.store.connection import Database
from gshtui.store.writer import Writer


class Spending:
    """Usage on disk, shared by all processes. Every coroutine raises `StoreError`, and returns when committed."""

    _database: Database
    _writer: Writer

    async def add_usage(self, *rows: UsageRow) -> None:
        """Keep what requests used; one that is known already is left as it is."""
        await self._writer.submit(lambda connection: usage.add(connection, rows))

    async def usage(
        self,
        by: By,
        *,
        after: float | None = None,
        day: str = "",
        agent: str = "",
        model: str = "",
        sessions: Sequence[str] = (),
    ) -> list[UsageSum]:
        """What requests used, summed up.

        Args:
            by: what is summed up together; days come in their order, all else in the order of last use.
            after: not before this moment, seconds since the epoch.
            day: of this local date, YYYY-MM-DD.
            sessions: of these conversations; empty: of any.
        """
        wanted = partial(usage.sums, by=by, after=after, day=day, agent=agent, model=model, sessions=tuple(sessions))
        return await self._database.run(lambda connection: wanted(connection))

    async def session_tree(self, session: str) -> list[str]:
        """Ids of a conversation and of those of every agent that was started from it, and from those."""
        return await self._database.run(lambda connection: usage.tree_of(connection, session))
