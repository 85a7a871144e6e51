"""Budgets on a real record and gate: they warn, pause and ask; children count; policy alone never allows more."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from gshtui.agents.ports import ModelHandle
from gshtui.agents.usage.budgets import BudgetLimit, BudgetWatch, budget_text, limits_of
from gshtui.bus.agent_data import Respondent
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Budget
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, Decision
from gshtui.bus.events.context_events import BudgetReached
from gshtui.bus.messages import Usage
from gshtui.bus.usage_data import UsageRow
from gshtui.fleet.native.permissions import SpendingBudget, spending_limit
from gshtui.guard.approval.gate import Gate
from gshtui.guard.approval.question_text import question_lines, question_title
from gshtui.settings.settings_tables import Budgets as Table
from gshtui.store.record.store import Store
from tests.kit.record import open_record
from tests.kit.scripted_provider import ScriptedProvider


class BudgetHarness:
    """A record with one conversation, and somebody who answers questions."""

    def __init__(self, store: Store, session: str) -> None:
        self.store, self.session, self.bus = store, session, Bus()
        self.reached: list[BudgetReached] = []
        self.asked: list[ApprovalRequested] = []
        self.answer: Decision = "deny"
        self._spent = 0
        self.bus.subscribe(self._look, BudgetReached, ApprovalRequested, name="person")

    def budgets(self, *limits: BudgetLimit, respondent: Respondent = "person", warn_at: float = 0.8) -> BudgetWatch:
        gate = Gate(self.bus, respondent=respondent, auto_approve=frozenset({"budget"}))
        return BudgetWatch(self.bus, "main", limits, warn_at, self.store.usage, gate, self._settled)

    async def spend(self, tokens: int = 0, dollars: float = 0.0, seconds: float = 0.0, session: str = "") -> None:
        self._spent += 1
        await self.store.usage.add(
            UsageRow(
                session or self.session,
                "main",
                "t",
                self._spent,
                time.time(),
                "p",
                "m",
                Usage(tokens),
                cost=dollars,
                seconds=seconds,
            )
        )

    async def _settled(self) -> None:
        await asyncio.sleep(0)

    def _look(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, BudgetReached):
                self.reached.append(event)
            elif isinstance(event, ApprovalRequested):
                self.asked.append(event)
                self.bus.publish(ApprovalAnswered(approval=event.approval, decision=self.answer))


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncGenerator[BudgetHarness]:
    async with open_record(tmp_path / "gsh.db") as store:
        yield BudgetHarness(store, (await store.sessions.create(cwd="/p", agent="main")).id)


async def test_it_warns_once_then_pauses_and_asks(harness: BudgetHarness) -> None:
    budgets = harness.budgets(BudgetLimit("agent", "tokens", 1_000))
    await harness.spend(790)
    assert await budgets.stop(harness.session) == "" and not harness.reached
    await harness.spend(10)
    assert await budgets.stop(harness.session) == "" == await budgets.stop(harness.session)
    await harness.bus.drained()
    assert [(event.level, event.budget.used) for event in harness.reached] == [("warning", 800.0)]
    await harness.spend(250)
    why = await budgets.stop(harness.session)
    assert why.startswith("The budget is used up: 1.1k tokens of the 1k tokens for this conversation.")
    asked = harness.asked[0]
    panel = "\n".join([question_title(asked), *(line.text for line in question_lines(asked))])
    assert panel.count("beyond its budget") == 1 and asked.pattern == ""
    assert "Allow adds 1k tokens" in panel and "Deny ends the turn" in panel, "as the choices are called"
    assert not harness.asked[0].repeatable, "there is nothing to remember, so it is not offered"
    assert harness.reached[-1].level == "reached"


async def test_a_yes_allows_as_much_again_and_then_it_asks_again(harness: BudgetHarness) -> None:
    budgets = harness.budgets(BudgetLimit("agent", "dollars", 1.0))
    harness.answer = "session"
    await harness.spend(dollars=2.5)
    assert await budgets.stop(harness.session) == ""
    await harness.spend(dollars=0.4)
    assert await budgets.stop(harness.session) == ""
    assert len(harness.asked) == 1
    await harness.spend(dollars=0.2)
    harness.answer = "deny"
    assert "$3.10 of the $3.00" in await budgets.stop(harness.session)
    assert len(harness.asked) == 2


@pytest.mark.parametrize("respondent", ["policy", "nobody"])
async def test_with_nobody_there_it_ends(harness: BudgetHarness, respondent: Respondent) -> None:
    await harness.spend(5_000)
    assert "used up" in await harness.budgets(BudgetLimit("day", "tokens", 1_000), respondent=respondent).stop(
        harness.session
    )


async def test_what_children_spend_counts_for_the_tree_and_the_day_alone(harness: BudgetHarness) -> None:
    child = await harness.store.sessions.create(cwd="/p", agent="0001", parent=harness.session)
    grandchild = await harness.store.sessions.create(cwd="/p", agent="0002", parent=child.id)
    stranger = await harness.store.sessions.create(cwd="/p", agent="main")
    await harness.spend(100, 0.1, 60)
    await harness.spend(300, 0.3, 60, session=child.id)
    await harness.spend(600, 0.6, 60, session=grandchild.id)
    await harness.spend(900, 0.9, 60, session=stranger.id)
    budgets = harness.budgets()
    assert await budgets.children_cost(harness.session) == pytest.approx(0.9)
    for scope, tokens, minutes in (("agent", 100, 1), ("tree", 1_000, 3), ("day", 1_900, 4)):
        for unit, used in (("tokens", tokens), ("dollars", tokens / 1_000), ("minutes", minutes)):
            enough = harness.budgets(BudgetLimit(scope, unit, used * 1.5), warn_at=1.0)  # type: ignore[arg-type]
            assert await enough.stop(harness.session) == ""
            short = harness.budgets(BudgetLimit(scope, unit, used), warn_at=1.0)  # type: ignore[arg-type]
            assert await short.stop(harness.session)


async def test_a_record_that_cannot_be_read_is_a_reason_to_stop(harness: BudgetHarness) -> None:
    budgets = harness.budgets(BudgetLimit("agent", "tokens", 1))
    await harness.store.close()
    assert (await budgets.stop(harness.session)).startswith("Cannot check its budget:")


def test_limits_of_the_settings() -> None:
    assert limits_of(Table()) == ()
    assert limits_of(Table(agent_minutes=5, day_dollars=2.5)) == (
        BudgetLimit("agent", "minutes", 5.0),
        BudgetLimit("day", "dollars", 2.5),
    )
    assert budget_text(Budget("day", "dollars", 1.25, 2.5)) == "$1.25 of the $2.50 for today"


async def test_an_agents_own_budget_pauses_it_and_a_yes_raises_it(harness: BudgetHarness) -> None:
    gate = Gate(harness.bus, respondent="person", auto_approve=frozenset({"budget"}))
    budget = SpendingBudget(0.5, "0001")
    mind = ModelHandle(ScriptedProvider(), "scripted-1")
    stop = spending_limit(budget, harness.budgets(), lambda: harness.session, gate)
    assert await stop(mind) == ""
    budget.spent = 1.2
    assert "Its budget of $0.50 is spent" in await stop(mind)
    assert harness.asked[-1].agent == "0001"
    assert harness.asked[-1].subject == "$1.20 of its $0.50 are used"
    assert "Allow adds $0.50" in harness.asked[-1].detail
    harness.answer = "once"
    assert await stop(mind) == "" == await stop(mind)
    assert (budget.allowed, len(harness.asked)) == (1.5, 2)
    budget.spent = 1.5
    harness.answer = "deny"
    assert "Its budget of $1.50 is spent" in await stop(mind)
    policy = Gate(harness.bus, respondent="policy", auto_approve=frozenset({"budget"}))
    assert "is spent" in await spending_limit(budget, harness.budgets(), lambda: harness.session, policy)(mind)
    assert len(harness.asked) == 3
