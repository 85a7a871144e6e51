"""Which budgets there are and how far each is used. Pure.

Owns units and words; refuses nothing: 0 is no limit. Called by `Budgets`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from gshtui.agents.usage import report
from gshtui.bus.context import Budget
from gshtui.bus.usage import UsageSum
from gshtui.settings.tables import Budgets as Table

Scope = Literal["agent", "tree", "day"]
Unit = Literal["tokens", "dollars", "minutes"]
_OF = {
    "agent": "of this conversation",
    "tree": "of this conversation and the agents started from it",
    "day": "of today",
}


class Limit(msgspec.Struct, frozen=True):
    """How much may be used. `scope`: the conversation in hand, with those that grew out of it, or everything today."""

    scope: Scope
    unit: Unit
    limit: float


def limits_of(table: Table) -> tuple[Limit, ...]:
    """The limits that the settings name."""
    scopes: tuple[Scope, ...] = ("agent", "tree", "day")
    units: tuple[Unit, ...] = ("tokens", "dollars", "minutes")
    found = [Limit(scope, unit, float(getattr(table, f"{scope}_{unit}"))) for scope in scopes for unit in units]
    return tuple(limit for limit in found if limit.limit > 0)


def used(sums: Sequence[UsageSum], unit: Unit) -> float:
    """What was used, in this unit. Requests of unknown price count for nothing in money."""
    whole = report.total(sums)
    return {"tokens": float(whole.tokens), "dollars": whole.cost, "minutes": whole.seconds / 60}[unit]


def amount(value: float, unit: str) -> str:
    """An amount for people: $1.20, 12.3k tokens, 4 minutes."""
    if unit == "dollars":
        return report.money(value)
    return f"{report.tokens(value)} tokens" if unit == "tokens" else f"{value:.3g} minutes"


def told(budget: Budget) -> str:
    """A budget in words."""
    return f"{amount(budget.used, budget.unit)} of the {amount(budget.limit, budget.unit)} {_OF[budget.scope]}"
