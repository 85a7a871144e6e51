"""Tokens and money of other programs: from their transcripts into the record's usage and their rows on the roster.

The hub that follows an agent does this while it works. Where none does, `usage` does before it answers. A request is
recorded once, whoever sees it first. A price comes from the program or from the catalog; none is guessed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from typing import Any

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.messages import Usage
from gshtui.bus.usage_data import UsageRow
from gshtui.fleet.core.agent_programs import Programs
from gshtui.programs.transcripts.request_usage import RequestUsage, UsageReader
from gshtui.providers.catalog import Catalog
from gshtui.providers.port import Capabilities
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.processes.process_identity import start_of


class _Counted(msgspec.Struct):
    """One agent's conversation."""

    conversation: str
    reader: UsageReader
    recorded: set[str]
    """The requests that are on record."""
    before: Usage | None = None
    """What the conversation had used before it was this agent's, of a program that tells only sums."""
    turn: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)


class ProgramUsage:
    """What the programs of one record used. Keeps a reader for each conversation, so that a later look is short."""

    def __init__(self, store: Store, programs: Programs) -> None:
        self._store = store
        self._programs = programs
        self._counted: dict[str, _Counted] = {}
        self._catalog: Catalog | None = None

    async def record(self, row: AgentRow) -> dict[str, Any]:
        """Record what an agent has used since the last call; the fields of its row that changed by that.
        Raises `StoreError`: the record failed.
        """
        counted = await self._of(row)
        if counted is None:
            return {}
        async with counted.turn:
            added = await asyncio.to_thread(counted.reader.added)
            fresh = [await self._alone(row, counted, one) for one in added if one.id not in counted.recorded]
            fresh = [one for one in fresh if one.usage != Usage()]
            if not fresh:
                return {}
            try:
                await self._store.usage.add(*[await self._usage_row(row, one) for one in fresh])
            except StoreError:
                del self._counted[row.id]  # all of it is read again
                raise
            counted.recorded |= {one.id for one in fresh}
            return await self._figures(row, fresh)

    def forget(self, agent: str) -> None:
        self._counted.pop(agent, None)

    async def _of(self, row: AgentRow) -> _Counted | None:
        counted = self._counted.get(row.id)
        if counted is None or counted.conversation != row.external_id:
            found = await self._programs.transcript(row)
            if found is None:
                return None
            recorded = await self._store.usage.turns(row.id)
            counted = self._counted[row.id] = _Counted(row.external_id, UsageReader(*found), recorded)
        return counted

    async def _alone(self, row: AgentRow, counted: _Counted, one: RequestUsage) -> RequestUsage:
        """The request without what is on record of a sum. Raises `StoreError`."""
        if one.before is None:
            return one
        sums = await self._store.usage.sums("session", agent=row.id, sessions=[row.external_id])
        recorded = sum((each.usage for each in sums), Usage())
        if counted.before is None:
            counted.before = _each(min, one.before, _each(_less, one.usage, recorded))
        return msgspec.structs.replace(one, usage=_each(_less, one.usage, recorded + counted.before))

    async def _usage_row(self, row: AgentRow, one: RequestUsage) -> UsageRow:
        cost = one.cost
        if cost is None and (known := await self._known(one)) is not None:
            cost = known.cost(one.usage)
        return UsageRow(row.external_id, row.id, one.id, 1, one.at, one.provider, one.model, one.usage, cost=cost)

    async def _figures(self, row: AgentRow, fresh: list[RequestUsage]) -> dict[str, Any]:
        sums = await self._store.usage.sums("agent", agent=row.id)
        fields: dict[str, Any] = {
            "tokens": sum(one.tokens for one in sums),
            "cost": None if any(one.unpriced for one in sums) else sum(one.cost for one in sums),
        }
        if last := next((one for one in reversed(fresh) if not one.by_helper), None):
            known = await self._known(last)
            fields |= {"context": last.fills, "model": last.model, "provider": last.provider}
            fields["window"] = last.window or (known.window if known is not None else row.window)
        return fields

    async def _known(self, one: RequestUsage) -> Capabilities | None:
        """What the catalog knows of a model; nothing of one whose provider sets prices of its own."""
        if self._catalog is None:
            self._catalog = await asyncio.to_thread(Catalog.load)
        model = self._catalog.find(one.model, one.provider) if one.provider else None
        return None if model is None else model.capabilities


def _less(one: int, other: int) -> int:
    return max(0, one - other)


def _each(combine: Callable[[int, int], int], one: Usage, other: Usage) -> Usage:
    """Both, count by count."""
    pairs = zip(msgspec.structs.astuple(one), msgspec.structs.astuple(other), strict=True)
    return Usage(*(combine(*pair) for pair in pairs))


async def record_unfollowed(store: Store) -> None:
    """Record what those programs used that no running hub follows. A record that fails is left as it is."""
    usage = ProgramUsage(store, Programs())
    with contextlib.suppress(StoreError):
        for row in await store.agents.find_all():
            followed = row.owner not in (0, os.getpid()) and start_of(row.owner) is not None
            if not followed and (fields := await usage.record(row)):
                await store.agents.update(row.id, **fields)
