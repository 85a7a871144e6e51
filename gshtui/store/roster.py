"""The part of the record's contract that is about agents in terminals; `Store` is one of these.

Owns the coroutines over the table `agents`; refuses nothing itself, see `agents`. Used by the fleet and the faces.
"""

from __future__ import annotations

from typing import Any

from gshtui.bus.fleet import AgentRow, SpawnRequest
from gshtui.store import agents
from gshtui.store.connection import Database
from gshtui.store.writer import Writer


class Roster:
    """Agents on disk, shared by all hubs. Every coroutine raises `StoreError`, and returns when it is committed."""

    _database: Database
    _writer: Writer

    async def add_agent(self, row: AgentRow, request: SpawnRequest) -> AgentRow:
        """A new agent that this process looks after, with the next number and a name of its own."""
        return await self._writer.submit(lambda connection: agents.add(connection, row, request))

    async def update_agent(self, id: str, **changes: Any) -> AgentRow:
        """Change fields of an agent's row; returns all of it. Raises `StoreError` (`unknown`, `invalid`)."""
        return await self._writer.submit(lambda connection: agents.update(connection, id, changes))

    async def claim_agent(self, id: str, flag: str) -> bool:
        """Set a boolean field; whether it was this call that did. Of several callers exactly one gets `True`."""
        return await self._writer.submit(lambda connection: agents.claim_once(connection, id, flag))

    async def remove_agent(self, id: str) -> None:
        """Take an agent off the roster. Raises `StoreError` (`unknown`)."""
        await self._writer.submit(lambda connection: agents.remove(connection, id))

    async def agent(self, id: str) -> AgentRow:
        """The agent of this id or name. Raises `StoreError` (`unknown`)."""
        return await self._database.run(lambda connection: agents.get(connection, id))

    async def agent_request(self, id: str) -> SpawnRequest:
        """What was asked for when the agent was started. Raises `StoreError` (`unknown`)."""
        return await self._database.run(lambda connection: agents.request_of(connection, id))

    async def agents(self) -> list[AgentRow]:
        """Every agent on the roster, of every folder, in the order of the numbers."""
        return await self._database.run(agents.listed)

    async def agents_revision(self) -> int:
        """A number that grows with every change of the roster, by whichever process."""
        return await self._database.run(agents.revision)

    async def next_agent_number(self) -> int:
        """The number that the next agent will get, unless another process is faster."""
        return await self._database.run(agents.next_number)

    async def adopt_agents(self, home: str | None) -> list[str]:
        """Look after each agent of a folder (of all, for `None`) that no living hub looks after; their ids."""
        return await self._writer.submit(lambda connection: agents.adopt(connection, home))

    async def release_agents(self) -> None:
        """Let other hubs look after the agents of this process."""
        await self._writer.submit(agents.release)

    async def forget_agents(self, days: float) -> None:
        """Take agents off the roster that ended longer ago than this many days."""
        await self._writer.submit(lambda connection: agents.forget_old(connection, days))
