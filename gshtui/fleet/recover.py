"""Bringing agents back after their terminal went: one at a time, each seen to live, and not on and on when it fails.

It refuses to start somebody blank where a history was expected, unless a person asks for just that. Called by the
fleet.
"""

from __future__ import annotations

import asyncio

from gshtui.bus.events.hub import Noticed
from gshtui.bus.fleet import AgentRow
from gshtui.fleet.ground import Ground, of_store, over
from gshtui.fleet.kill import Killer
from gshtui.fleet.ports import FleetError
from gshtui.fleet.start import Starter
from gshtui.store.errors import StoreError

ENOUGH = 3
"""Failures in a row after which no further agent is tried: their cause is a common one (a login that has expired)."""


class Recoverer:
    """Restarts and recovers; one agent at a time over all callers."""

    def __init__(self, ground: Ground, starter: Starter, killer: Killer) -> None:
        self._ground = ground
        self._starter = starter
        self._killer = killer
        self._turn = asyncio.Lock()

    async def restart(self, row: AgentRow) -> AgentRow:
        """End what runs of it, then start it again; without its memory where its program cannot have it back."""
        async with self._turn:
            try:
                if not over(row) or row.pane:
                    await self._killer.clear(row)
                fresh = await self._starter.again(row, blank_is_fine=True)
                return await self._ground.rows.change(fresh.id, failures=0, reported=False, report="")
            except StoreError as error:
                raise of_store(error) from error

    async def recover(self, row: AgentRow) -> AgentRow:
        """Bring a lost agent back. Raises `FleetError` when it is not lost, has no memory left, or fails."""
        if row.status != "lost":
            hint = f"`agent restart {row.id}` starts it again in any case."
            raise FleetError("invalid", f"{row.name} ({row.id}) is not lost, but {row.status}.", hint=hint)
        async with self._turn:
            try:
                return await self._recover(row)
            except StoreError as error:
                raise of_store(error) from error

    async def recover_all(self, rows: list[AgentRow]) -> tuple[list[AgentRow], list[str]]:
        """Bring back as many as can be; stops after several failures in a row.

        Returns:
            Those that are back, and a sentence for each trouble; the bus hears of the troubles too.
        """
        back: list[AgentRow] = []
        troubles: list[str] = []
        failures = 0
        for at, row in enumerate(rows):
            try:
                back.append(await self.recover(row))
                failures = 0
            except FleetError as error:
                failures += 0 if error.kind == "blank" else 1
                text = f"{row.name} ({row.id}) could not be recovered: {error.message}"
                troubles.append(f"{text} {error.hint}".rstrip())
                self._say(text, error.hint, row.id)
            if failures >= ENOUGH and at + 1 < len(rows):
                text = f"{failures} agents in a row could not be recovered; {len(rows) - at - 1} more were not tried."
                hint = "Find the common cause (a login, the network, a program), then `agent recover all` again."
                troubles.append(f"{text} {hint}")
                self._say(text, hint, "agents")
                break
        return back, troubles

    async def _recover(self, row: AgentRow) -> AgentRow:
        await self._killer.clear(row)
        fresh = await self._starter.again(row, blank_is_fine=False)
        if await self._starter.proven(fresh):
            return await self._ground.rows.change(fresh.id, failures=0)
        fresh = await self._ground.rows.change(fresh.id, failures=row.failures + 1)
        raise FleetError(
            "failed",
            f"{row.name} ({row.id}) was started again but ended at once, for the {fresh.failures}. time in a row.",
            hint=f"`agent show {row.id}` has its last words.",
        )

    def _say(self, text: str, hint: str, about: str) -> None:
        self._ground.bus.publish(Noticed(level="warning", text=text, hint=hint, about=about))
