"""Usage in the record: every request once, sums, trees, and a clock that goes backwards."""

import asyncio
import time
from datetime import datetime
from typing import Any

import pytest

from gshtui.agents.usage.recorder import UsageRecorder
from gshtui.agents.usage.usage_report import bar, plain, table
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Receipt
from gshtui.bus.events.agent_events import ContextAssembled, ModelChanged, TurnStarted, UsageReported
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.messages import Usage
from gshtui.bus.usage_data import UsageRow, UsageSum
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.text.markdown_table import bare_columns
from gshtui.ui.window.pane_layout import PaneLayout, arrange
from tests.kit.record import open_record

NOON = 1_795_262_400.0  # 2026-11-21 12:00 UTC


def row(number: int = 1, **fields: Any) -> UsageRow:
    given = {"session": "s", "agent": "main", "turn": "t", "iteration": number, "at": NOON + number, "provider": "p"}
    given |= {"model": "m", "usage": Usage(100, 10, 50, 5, 3), "cost": 0.5, "estimate": 100, "seconds": 2.0}
    return UsageRow(**(given | fields))  # type: ignore[arg-type]


def reported(iteration: int, **fields: Any) -> UsageReported:
    given = {"agent": "main", "session": "s", "turn": "t", "iteration": iteration, "provider": "p", "model": "m"}
    given |= {"usage": Usage(100, 10), "cost": 0.25}
    return UsageReported(**(given | fields))  # type: ignore[arg-type]


async def test_sums_by_day_agent_model_and_conversation(store: Store) -> None:
    await store.usage.add(row(1), row(2, agent="0001", model="n", cost=None), row(3, at=NOON + 86_400, session="z"))
    days = await store.usage.sums("day")
    assert [(day.key, day.requests, day.unpriced, day.cost) for day in days] == [
        ("2026-11-21", 2, 1, 0.5),
        ("2026-11-22", 1, 0, 0.5),
    ]
    assert days[0].usage == Usage(200, 20, 100, 10, 6) and days[0].tokens == 330
    assert days[0].error == pytest.approx(200 / 310 - 1)
    assert {one.key for one in await store.usage.sums("agent")} == {"main", "0001"}
    assert [one.key for one in await store.usage.sums("model", agent="0001")] == ["n"]
    assert [one.requests for one in await store.usage.sums("session", sessions=["z"])] == [1]
    assert [one.key for one in await store.usage.sums("day", after=NOON + 1_000)] == ["2026-11-22"]


async def test_sums_by_the_account_that_an_agent_works_under(store: Store) -> None:
    """Also of an agent that is gone from the roster; what works under none is one line."""
    agent = await store.agents.add(
        AgentRow(id="", name="one", home="/p", account="work"), SpawnRequest(cli=("claude",))
    )
    await store.usage.add(row(1), row(2, agent=agent.id), row(3, agent=agent.id, session="z"))
    await store.agents.remove(agent.id)
    assert {one.key: one.requests for one in await store.usage.sums("account")} == {"": 1, "work": 2}


async def test_a_request_that_is_told_twice_counts_once(store: Store) -> None:
    await store.usage.add(row(1))
    await store.usage.add(row(1), row(1))
    await store.usage.add(row(1, purpose="compact"))
    assert [one.requests for one in await store.usage.sums("day")] == [2]


async def test_a_clock_that_goes_backwards_loses_nothing(store: Store) -> None:
    await store.usage.add(*(row(n, at=NOON - n * 50_000) for n in range(6)))
    await store.usage.add(row(7, at=float("nan")), row(8, at=1e300), row(9, at=-1e300))
    days = await store.usage.sums("day")
    assert sum(day.requests for day in days) == 9
    assert [day.key for day in days] == sorted(day.key for day in days)


async def test_a_tree_is_a_conversation_and_all_that_grew_out_of_it(store: Store) -> None:
    async def made(parent: str = "") -> str:
        return (await store.sessions.create(cwd="/p", agent="main", parent=parent)).id

    root = await made()
    child = await made(root)
    grandchild = await made(child)
    stranger = await made()
    for number, session in enumerate((root, child, grandchild, stranger)):
        await store.usage.add(row(number, session=session))
    assert set(await store.usage.tree(root)) == {root, child, grandchild}
    assert sum(one.requests for one in await store.usage.sums("agent", sessions=await store.usage.tree(child))) == 2
    assert await store.usage.tree("'; DROP TABLE usage --") == ["'; DROP TABLE usage --"]


async def test_the_bus_fills_it_with_estimates_times_and_compactions(store: Store) -> None:
    bus, now = Bus(), 0.0
    recorder = UsageRecorder(bus, store.usage.add, carried=lambda agent: agent == "0001", clock=lambda: now)
    bus.publish(ModelChanged(agent="main", provider="p", model="m"))
    bus.publish(TurnStarted(agent="main", session="s", turn="t", prompt="x"))
    await bus.drained()
    now = 10.0
    bus.publish(ContextAssembled(agent="main", session="s", turn="t", iteration=1, tokens=120))
    bus.publish(reported(1))
    bus.publish(reported(1, agent="0001"))
    await bus.drained()
    bus.publish(ApprovalRequested(approval="a", agent="main", session="s", call="c", tool="x", effect="x", subject="x"))
    await bus.drained()
    now = 600.0
    bus.publish(ApprovalSettled(approval="a", agent="main", call="c", decision="once"))
    bus.publish(ContextCut(agent="main", session="s", receipt=Receipt("compact", "main", "s", usage=Usage(900, 90))))
    bus.publish(ContextCut(agent="main", session="s", receipt=Receipt("prune", "main", "s")))
    await bus.drained()
    now = 605.0
    bus.publish(reported(2, cost=None))
    await recorder.settled()
    [main] = await store.usage.sums("agent")
    assert (main.requests, main.unpriced, main.usage) == (3, 1, Usage(1_100, 110))
    assert main.seconds == 15.0, "waiting for a person is no work"
    assert (main.estimate, main.counted) == (120, 100)
    assert [one.key for one in await store.usage.sums("model")] == ["m"]
    await bus.close()


async def test_what_cannot_be_written_now_is_written_with_the_next_one(store: Store) -> None:
    full = True

    async def keep(*rows: UsageRow) -> None:
        if full:
            raise StoreError("full", "The disk is full.")
        await store.usage.add(*rows)

    bus = Bus()
    recorder = UsageRecorder(bus, keep)
    bus.publish(reported(1))
    await recorder.settled()
    full = False
    bus.publish(reported(2))
    await recorder.settled()
    assert [one.requests for one in await store.usage.sums("agent")] == [2]
    await bus.close()


async def test_many_processes_write_at_once(store: Store) -> None:
    async with open_record(store.path) as other:
        await asyncio.gather(*(s.usage.add(row(n)) for n in range(40) for s in (store, other)))
    assert [one.requests for one in await store.usage.sums("agent")] == [40]


async def test_the_table_says_what_it_leaves_out(store: Store) -> None:
    await store.usage.add(row(1), row(2, agent="\x1b[31mred", cost=None, at=time.time()))
    sums = await store.usage.sums("agent")
    text = table(sums, "agent")
    assert "further requests at an unknown price" in text and "total" in text and "\x1b" not in text
    assert plain(sums[1])["cost"] is None
    assert table([], "day") == "No usage was recorded."


def test_a_usual_table_fits_beside_the_agents_of_120_columns() -> None:
    today = datetime.now().astimezone().date()
    used = Usage(input=9_000, cache_read=120_000, output=12_300)
    days = [today.replace(day=1).isoformat(), today.replace(day=28, year=today.year - 1).isoformat()]
    sums = [UsageSum(day, 128, used, 130_000, 129_000, 12.34, 0, 754.0, 0.0) for day in days[:1]]
    lines = bare_columns(table(sums, "day")).splitlines()
    assert lines[0].split() == ["day", "share", "requests", "in", "cache", "out", "est.", "±", "cost", "time"]
    assert lines[1].split()[:3] == ["1", f"{today:%b}", "█████"]
    assert max(map(len, lines)) <= 120 - arrange(PaneLayout(), 120, 35).left - 5
    older = UsageSum(days[1], 1, used, 1, 1, 1.0, 0, 1.0, 0.0)
    assert days[1] in table([older], "day"), "another year is named"


@pytest.mark.parametrize(("value", "cells"), [(0, 0), (1e-9, 1), (50, 3), (100, 5), (1e9, 5)])
def test_bars(value: float, cells: int) -> None:
    assert len(bar(value, 100)) == cells
