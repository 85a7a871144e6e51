"""Whose memory an agent has, and in which project: the names under which notes are kept.

A memory belongs to a persona, or else to the agent's name, so that the next agent of that persona or name knows what
the last one learned. Notes hold in the project in which they were written: what a file of one project makes an agent
write down never reaches the requests of another. Only a person can write a note that holds everywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

from gshtui.bus.agent_data import AgentRow
from gshtui.context.assembly.instruction_files import main_repository
from gshtui.store.engine.store_errors import StoreError

FindAgent = Callable[[str], Awaitable[AgentRow]]
"""Looks up an agent of the roster by id or name. Raises `StoreError` (`unknown`)."""


class MemoryOwners:
    """The owners of memories, as this process knows agents."""

    def __init__(self, find: FindAgent, here: str, project: Path) -> None:
        """`here`: the name of the agent that this process has without a row of the roster."""
        self._find = find
        self._here = here
        self._folder = project
        self._project = ""

    async def owner(self, agent: str) -> str:
        """The name of an agent's memory. `agent`: id or name of an agent, or the name of a memory. Raises `StoreError`:
        the record cannot be read.
        """
        if agent == self._here and not agent.isdecimal():
            return agent
        try:
            row = await self._find(agent)
        except StoreError as error:
            if error.kind not in ("unknown", "ambiguous"):
                raise
            return agent
        return row.persona or row.name

    async def project(self) -> str:
        """The folder that stands for this project: the main repository's, for a git worktree."""
        if not self._project:
            main = await asyncio.to_thread(main_repository, self._folder)
            self._project = str(main or self._folder)
        return self._project
