"""The part of the record's contract that is about what models were sent; `Store` is one of these.

Owns the coroutines over overlays, texts and iterations; refuses nothing itself, see those. Used by the context and
by export.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial

from gshtui.bus.context import Block, Iteration
from gshtui.bus.messages import Usage
from gshtui.store import iterations, overlays, texts
from gshtui.store.connection import Database
from gshtui.store.writer import Writer

_IN_THREAD = 64 * 1024
"""Characters of texts from which packing them is left to another thread."""
_REMEMBERED = 64
"""Agents whose last iterations a process remembers, so that adding one reads nothing."""


class Assemblies:
    """What was sent, on disk. Every coroutine raises `StoreError`, and returns when what it writes is committed."""

    _database: Database
    _writer: Writer
    _chains: dict[tuple[str, str], iterations.Chain]

    async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int:
        """Keep an overlay behind the others; the same id is kept once. Returns its place, counted over all."""
        return await self._writer.submit(
            lambda connection: overlays.add(connection, session, overlay_id, kind, at, data)
        )

    async def overlays(self, session: str, after: int = 0) -> list[tuple[int, str]]:
        """(place, data) of the conversation's overlays behind the place `after`, in order."""
        return await self._database.run(partial(overlays.of_session, session=session, after=after))

    async def home(self, id: str) -> str:
        """The conversation in which an overlay or a message of this id is; empty: there is none."""
        return await self._database.run(lambda connection: overlays.home(connection, id))

    async def put_texts(self, of: Mapping[str, str], session: str = "") -> None:
        """Keep texts by their hashes for a conversation; without one for a day, until an iteration uses them."""
        if kept := await _packed(of):
            await self._writer.submit(lambda connection: texts.put(connection, session, kept))

    async def text(self, hash: str) -> str:
        """What a block sent. Raises `StoreError` (`unknown`, or `corrupt` when it is damaged)."""
        data, packed, size = await self._database.run(lambda connection: texts.get(connection, hash))
        return await asyncio.to_thread(texts.text_of, hash, data, packed, size)

    async def texts_of(self, session: str) -> list[str]:
        """Hashes of all that a conversation sent and that is kept."""
        return await self._database.run(lambda connection: texts.of_session(connection, session))

    async def add_iteration(
        self, iteration: Iteration, blocks: Sequence[Block], new_texts: Mapping[str, str] | None = None
    ) -> int:
        """Keep a model request with its blocks, and texts of blocks that are new, all or nothing.

        Takes room for what differs from the agent's earlier ones. Blocks' `cache` is not kept: see `context.cache`.

        Returns:
            Its number among the agent's in this conversation, from 1.
        """
        key = (iteration.session, iteration.agent)
        chain = self._chains.get(key, {})
        kept = await _packed(new_texts or {})
        stored = iterations.stored_blocks(blocks, chain[max(chain)][1] if chain else ())

        def work(connection: sqlite3.Connection) -> tuple[int, iterations.Chain]:
            texts.put(connection, iteration.session, kept)
            return iterations.add(connection, iteration, stored, chain)

        number, chain = await self._writer.submit(work)
        self._chains.pop(key, None)
        self._chains[key] = chain
        while len(self._chains) > _REMEMBERED:
            del self._chains[next(iter(self._chains))]
        return number

    async def update_iteration(
        self,
        id: str,
        usage: Usage | None = None,
        cost: float | None = None,
        error: str = "",
        *,
        broken_by: str = "",
        sent: str = "",
    ) -> Iteration:
        """Add what is known since the answer; what is not given stays. Raises `StoreError` (`unknown`)."""
        changes = iterations.usage_changes(usage, cost, error, broken_by, sent)
        return await self._writer.submit(lambda connection: iterations.update(connection, id, changes))

    async def iteration(self, id: str) -> Iteration:
        """An iteration's mark. Raises `StoreError` (`unknown`)."""
        return await self._database.run(lambda connection: iterations.get(connection, id))

    async def iterations(self, session: str = "", *, agent: str = "", limit: int = 500) -> list[Iteration]:
        """The newest marks of a conversation, of an agent or of both, oldest first."""
        return await self._database.run(partial(iterations.listed, session=session, agent=agent, limit=limit))

    async def iteration_rows(self, session: str, after: int, limit: int) -> list[iterations.Row]:
        """The oldest `limit` iterations behind the place `after`, as they are kept: what differs from earlier ones."""
        return await self._database.run(partial(iterations.rows, session=session, after=after, limit=limit))

    async def blocks(self, iteration_id: str) -> tuple[Block, ...]:
        """What an iteration sent, in order. Raises `StoreError` (`unknown`, `corrupt`)."""
        return await self._database.run(lambda connection: iterations.blocks_of(connection, iteration_id))


async def _packed(of: Mapping[str, str]) -> list[texts.KeptText]:
    if sum(map(len, of.values())) < _IN_THREAD:
        return texts.prepared(of)
    return await asyncio.to_thread(texts.prepared, dict(of))
