"""Budgets of one agent: looked at before each model request; they warn, then pause there and ask a person.

Owns what was warned of and what a person has allowed beyond; refuses to cut a request off in its middle, so the last
one may go over. With nobody to ask, or a no, the turn ends. Called by the agent's turns.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from gshtui.agents.usage.limits import Limit, Scope, amount, told, used
from gshtui.bus.bus import Bus
from gshtui.bus.context import Budget
from gshtui.bus.events.context import BudgetReached
from gshtui.bus.events.hub import Noticed
from gshtui.bus.ids import new_id
from gshtui.bus.usage import By, UsageSum
from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval import Call, Gate
from gshtui.store.errors import StoreError
from gshtui.store.usage import day_of

TOOL = "budget"
"""Stands where a question names the tool."""


class Spent(Protocol):
    """The part of the record that this needs. Raises `StoreError`."""

    async def usage(self, by: By, *, day: str = "", sessions: Sequence[str] = ()) -> list[UsageSum]: ...
    async def session_tree(self, session: str) -> list[str]: ...


class Budgets:
    """See the module's text. `settled` returns once everything that was used is in the record."""

    def __init__(
        self,
        bus: Bus,
        agent: str,
        limits: Sequence[Limit],
        warn_at: float,
        record: Spent,
        gate: Gate,
        settled: Callable[[], Awaitable[None]],
    ) -> None:
        self._bus = bus
        self._agent = agent
        self._limits = tuple(limits)
        self._warn_at = warn_at
        self._record = record
        self._gate = gate
        self._settled = settled
        self._warned: set[tuple[object, ...]] = set()
        self._beyond: dict[tuple[object, ...], int] = {}
        """Limit of a conversation or day → how often a person has allowed as much again."""

    async def stop(self, session: str) -> str:
        """Why no further request may be made in this conversation; empty when it may. Waits for a person's answer."""
        if not self._limits or not session:
            return ""
        try:
            await self._settled()
            for limit, sums, key in await self._measured(session):
                if why := await self._look(session, limit, sums, key):
                    return why
        except StoreError as error:
            return f"Its budget cannot be looked at: {error.message}"
        return ""

    async def children_cost(self, session: str) -> float:
        """US dollars of all conversations that grew out of this one. Raises `StoreError`."""
        others = [id for id in await self._record.session_tree(session) if id != session]
        return used(await self._record.usage("agent", sessions=others), "dollars") if others else 0.0

    async def _measured(self, session: str) -> list[tuple[Limit, list[UsageSum], tuple[object, ...]]]:
        day = day_of(time.time())
        sums: dict[Scope, list[UsageSum]] = {}
        for limit in self._limits:
            if limit.scope in sums:
                continue
            if limit.scope == "day":
                sums[limit.scope] = await self._record.usage("day", day=day)
            else:
                tree = await self._record.session_tree(session) if limit.scope == "tree" else [session]
                sums[limit.scope] = await self._record.usage("agent", sessions=tree)
        return [(limit, sums[limit.scope], (limit, day if limit.scope == "day" else session)) for limit in self._limits]

    async def _look(self, session: str, limit: Limit, sums: list[UsageSum], key: tuple[object, ...]) -> str:
        now = used(sums, limit.unit)
        allowed = limit.limit * (1 + self._beyond.get(key, 0))
        budget = Budget(limit.scope, limit.unit, now, allowed, self._agent)
        if now < allowed:
            self._warn(budget, (*key, allowed))
            return ""
        self._bus.publish(BudgetReached(agent=self._agent, budget=budget, level="reached"))
        if not await self._ask(session, budget, limit):
            return f"The budget is used up: {told(budget)}. Raise it in `[budget]`, or go on another day."
        while limit.limit * (1 + self._beyond.get(key, 0)) <= now:
            self._beyond[key] = self._beyond.get(key, 0) + 1
        return ""

    def _warn(self, budget: Budget, key: tuple[object, ...]) -> None:
        if budget.used < budget.limit * self._warn_at or key in self._warned:
            return
        self._warned.add(key)
        self._bus.publish(BudgetReached(agent=self._agent, budget=budget, level="warning"))
        text = f"{budget.used / budget.limit:.0%} of a budget is used: {told(budget)}."
        self._bus.publish(Noticed(level="warning", text=text, about=self._agent))

    async def _ask(self, session: str, budget: Budget, limit: Limit) -> bool:
        """A person's word; a yes allows as much again. Policy alone never allows it."""
        more = amount(limit.limit, limit.unit)
        verdict = await self._gate.review(
            Call(self._agent, session, new_id(), TOOL, {"scope": budget.scope, "unit": budget.unit}),
            Assessment(
                Effect.EXECUTE,
                f"go on beyond its budget: {told(budget)} are used",
                inside=False,
                detail=f"Yes allows {more} more and asks again then. No ends the turn here; all of it is kept.",
            ),
        )
        return verdict.allowed
