"""The agents that people name in the settings (`[agents.claude]`): each starts in a terminal when it is first wanted.

Only what a person with all rights says starts one; an agent or a guest reaches those that run already.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.commands.command_errors import command_errors
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.ports import FleetError
from gshtui.providers.port import ProviderError
from gshtui.settings.model import Settings
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store

if TYPE_CHECKING:
    from gshtui.fleet.lifecycle.fleet import Fleet


class NamedAgents:
    """Over the fleet of one hub."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], fleet: Fleet, store: Store) -> None:
        self._settings = settings
        self._environ = environ
        self._fleet = fleet
        self._store = store
        self._starting = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        """Their names, as the settings have them."""
        return list(self._settings.agents)

    async def start(self, name: str) -> AgentRow | None:
        """Start the agent of this name, or find it where it was started meanwhile; `None`: the settings name none.
        Raises `CommandError`: its model cannot be used, or it could not be started.
        """
        table = self._settings.agents.get(name)
        if table is None:
            return None
        async with self._starting:
            if (row := await self._known(name)) is not None:
                return await self._recovered(row)
            await self._check_model(name, table.provider, table.model)
            request = SpawnRequest(
                name=name,
                provider=table.provider,
                model=table.model,
                persona=table.persona,
                mode=table.mode,
                paths=tuple(table.allowed_paths),
            )
            with command_errors(FleetError):
                return await self._fleet.spawn(request, by_person=True)

    async def _recovered(self, row: AgentRow) -> AgentRow:
        """The agent, whose terminal is brought back if it is gone. Raises `CommandError`."""
        if row.status != "lost":
            return row
        with command_errors(FleetError):
            return (await self._fleet.recover(row.id)).row

    async def _known(self, name: str) -> AgentRow | None:
        with contextlib.suppress(StoreError):
            row = await self._store.agents.find(name)
            return None if row.killed or row.ended else row
        return None

    async def _check_model(self, name: str, provider: str, model: str) -> None:
        """Say now what the agent could say only in its terminal."""
        from gshtui.providers.selection import choose_model

        try:
            choice = await choose_model(self._settings, self._environ, provider=provider, model=model)
        except ProviderError as error:
            raise CommandError(f"{name} cannot be started: {error.message}.", hint=error.hint) from error
        await choice.provider.close()
