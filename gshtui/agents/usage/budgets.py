"""Budgets of one agent: checked before each model request; they warn, then pause the agent and ask a person."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, Protocol

import msgspec

from gshtui.agents.usage import usage_report
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Budget
from gshtui.bus.events.context_events import BudgetReached
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.usage_data import By, UsageSum
from gshtui.commands.declaration import Assessment, Effect
from gshtui.guard.approval.gate import Call, Gate
from gshtui.settings.settings_tables import Budgets as Table
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.usage_table import day_of
from gshtui.system.ids import new_id
from gshtui.text import units

Scope = Literal["agent", "tree", "day"]
Unit = Literal["tokens", "dollars", "minutes"]
_OF = {
    "agent": "for this conversation",
    "tree": "for this conversation and the agents started from it",
    "day": "for today",
}


class BudgetLimit(msgspec.Struct, frozen=True):
    """How much may be used. `scope`: the conversation in hand, with those that grew out of it, or everything today."""

    scope: Scope
    unit: Unit
    limit: float


def limits_of(table: Table) -> tuple[BudgetLimit, ...]:
    scopes: tuple[Scope, ...] = ("agent", "tree", "day")
    kinds: tuple[Unit, ...] = ("tokens", "dollars", "minutes")
    found = [BudgetLimit(scope, unit, float(getattr(table, f"{scope}_{unit}"))) for scope in scopes for unit in kinds]
    return tuple(limit for limit in found if limit.limit > 0)


def amount_used(sums: Sequence[UsageSum], unit: Unit) -> float:
    """The usage in this unit. Requests with an unknown price count as free."""
    whole = usage_report.total(sums)
    return {"tokens": float(whole.tokens), "dollars": whole.cost, "minutes": whole.seconds / 60}[unit]


def amount_text(value: float, unit: str) -> str:
    """An amount for people: $1.20, 12.3k tokens, 4 minutes."""
    if unit == "dollars":
        return units.money(value)
    return f"{units.tokens(value)} tokens" if unit == "tokens" else f"{value:.3g} minutes"


def budget_text(budget: Budget) -> str:
    return (
        f"{amount_text(budget.used, budget.unit)} of the {amount_text(budget.limit, budget.unit)} {_OF[budget.scope]}"
    )


TOOL = "budget"
"""Used as the tool's name in the question."""


class Spent(Protocol):
    """The part of the record that this needs. Raises `StoreError`."""

    async def sums(self, by: By, *, day: str = "", sessions: Sequence[str] = ()) -> list[UsageSum]: ...
    async def tree(self, session: str) -> list[str]: ...


class BudgetWatch:
    """See the module's text. `settled` returns once everything that was used is in the record."""

    def __init__(
        self,
        bus: Bus,
        agent: str,
        limits: Sequence[BudgetLimit],
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
                if why := await self._check_limit(session, limit, sums, key):
                    return why
        except StoreError as error:
            return f"Cannot check its budget: {error.message}"
        return ""

    async def children_cost(self, session: str) -> float:
        """US dollars of all conversations that grew out of this one. Raises `StoreError`."""
        others = [id for id in await self._record.tree(session) if id != session]
        return amount_used(await self._record.sums("agent", sessions=others), "dollars") if others else 0.0

    async def _measured(self, session: str) -> list[tuple[BudgetLimit, list[UsageSum], tuple[object, ...]]]:
        day = day_of(time.time())
        sums: dict[Scope, list[UsageSum]] = {}
        for limit in self._limits:
            if limit.scope in sums:
                continue
            if limit.scope == "day":
                sums[limit.scope] = await self._record.sums("day", day=day)
            else:
                tree = await self._record.tree(session) if limit.scope == "tree" else [session]
                sums[limit.scope] = await self._record.sums("agent", sessions=tree)
        return [(limit, sums[limit.scope], (limit, day if limit.scope == "day" else session)) for limit in self._limits]

    async def _check_limit(
        self, session: str, limit: BudgetLimit, sums: list[UsageSum], key: tuple[object, ...]
    ) -> str:
        now = amount_used(sums, limit.unit)
        allowed = limit.limit * (1 + self._beyond.get(key, 0))
        budget = Budget(limit.scope, limit.unit, now, allowed, self._agent)
        if now < allowed:
            self._warn(budget, (*key, allowed))
            return ""
        self._bus.publish(BudgetReached(agent=self._agent, budget=budget, level="reached"))
        if not await self._ask(session, budget, limit):
            return f"The budget is used up: {budget_text(budget)}. Raise it in `[budget]`, or continue another day."
        while limit.limit * (1 + self._beyond.get(key, 0)) <= now:
            self._beyond[key] = self._beyond.get(key, 0) + 1
        return ""

    def _warn(self, budget: Budget, key: tuple[object, ...]) -> None:
        if budget.used < budget.limit * self._warn_at or key in self._warned:
            return
        self._warned.add(key)
        self._bus.publish(BudgetReached(agent=self._agent, budget=budget, level="warning"))
        text = f"{units.percent(budget.used, budget.limit)} of a budget is used: {budget_text(budget)}."
        self._bus.publish(Noticed(level="warning", text=text, about=self._agent))

    async def _ask(self, session: str, budget: Budget, limit: BudgetLimit) -> bool:
        """Ask a person; a yes allows the same amount again. The policy alone never allows it."""
        about = {"scope": budget.scope, "unit": budget.unit}
        more = amount_text(limit.limit, limit.unit)
        return await ask_for_more(self._gate, self._agent, session, f"{budget_text(budget)} are used", more, about)


async def ask_for_more(
    gate: Gate, agent: str, session: str, used: str, more: str, about: dict[str, str] | None = None
) -> bool:
    """Ask a person whether an agent may go on beyond its budget. The policy alone never allows it.

    Args:
        used: how much is used, as a clause.
        more: how much the answer “allow” adds.
        about: which budget it is.
    """
    verdict = await gate.review(
        Call(agent, session, new_id(), TOOL, about or {}),
        Assessment(
            Effect.EXECUTE,
            used,
            inside=False,
            only_person=True,
            detail=f"Allow adds {more}, then it asks again. Deny ends the turn here; everything so far is kept.",
        ),
    )
    return verdict.allowed
