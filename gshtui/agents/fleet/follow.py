"""Follows the agents of this hub while they live: the ends of all terminals, and the status of somebody's programs.

It refuses to end anybody: an end that is noticed here is a reason to look, and the look decides. Held by the fleet,
told after each look who is alive.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import cast

from gshtui.agents.cli.spool import Feed
from gshtui.agents.cli.status import Known
from gshtui.agents.cli.watch import CliStatus
from gshtui.agents.fleet.ground import Ground
from gshtui.agents.fleet.programs import Programs
from gshtui.bus.events.agent import AgentStatusChanged, Status
from gshtui.bus.fleet import ENDED_STATUSES, AgentRow
from gshtui.tmux.watcher import Change

_Key = tuple[str, str, int]
"""(agent, pane, process): another process is followed anew."""


class Follower:
    """One follower an agent. `stop` ends all of them."""

    def __init__(self, ground: Ground, programs: Programs, poke: Callable[[], None]) -> None:
        """`poke`: something has changed that a look should see."""
        self._ground = ground
        self._programs = programs
        self._poke = poke
        self._feed = Feed(ground.place.data)
        self._statuses: dict[_Key, CliStatus | None] = {}
        self._ends: dict[_Key, Callable[[], None]] = {}
        self._turn = asyncio.Lock()

    async def keep(self, alive: list[AgentRow]) -> None:
        """Follow exactly these."""
        async with self._turn:
            wanted = {(row.id, row.pane, row.pid): row for row in alive if row.pane}
            for key in [key for key in self._statuses if key not in wanted]:
                await self._leave(key)
            for key, row in wanted.items():
                if key not in self._statuses:
                    await self._follow(key, row)

    async def stop(self) -> None:
        """Follow nobody."""
        async with self._turn:
            for key in list(self._statuses):
                await self._leave(key)
            await self._feed.close()

    async def _follow(self, key: _Key, row: AgentRow) -> None:
        server = self._ground.terminals.of(row.socket)
        self._statuses[key] = None
        self._ends[key] = server.watcher.watch(row.pane, self._changed)
        if row.kind == "cli":
            told = functools.partial(self._said, row.id)
            bound = functools.partial(self._bound, row.id)
            profile = await self._programs.profile(row)
            status = self._statuses[key] = CliStatus(server, row, profile, told, feed=self._feed, bound=bound)
            await status.start()

    async def _leave(self, key: _Key) -> None:
        self._ends.pop(key)()
        status = self._statuses.pop(key)
        if status is not None:
            await status.stop()

    def _changed(self, change: Change) -> None:
        if change.what & {"dead", "gone"}:
            self._poke()

    def _said(self, agent: str, known: Known) -> None:
        if known.status in ENDED_STATUSES:
            self._poke()
            return
        self._ground.bus.publish(
            AgentStatusChanged(
                agent=agent,
                status=cast("Status", known.status),
                source=known.source if known.sure else f"{known.source}?",
                doing=known.doing,
            )
        )

    def _bound(self, agent: str, conversation: str) -> None:
        self._ground.rows.change_soon(agent, {"external_id": conversation})
