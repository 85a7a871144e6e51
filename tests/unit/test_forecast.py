"""What is worked out from requests: the forecast, the carry cost, and what-if."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.context_data import Block, Iteration
from gshtui.context.cuts.forecast import WhatIfTarget, carry_costs, forecast, growth, suppose
from gshtui.context.views import ContextError, ContextView
from gshtui.providers.port import Capabilities

PRICED = Capabilities(
    window=100_000, price_input=3.0, price_output=15.0, price_cache_read=0.3, caching=True, known=True
)


def mark(number: int, tokens: int, turn: str = "", *, cut: bool = False, model: str = "m") -> Iteration:
    return Iteration(
        id=f"i{number}",
        agent="main",
        session="s",
        turn=turn or f"t{number}",
        iteration=1,
        at=float(number),
        model=model,
        tokens=tokens,
        cuts=("c",) if cut else (),
    )


def block(id: str, tokens: int, **more: Any) -> Block:
    fields = {"section": "history", "kind": "text", "source": id, "hash": id} | more
    return Block(id=id, tokens=tokens, **fields)  # type: ignore[arg-type]


def test_a_conversation_that_grows_evenly() -> None:
    told = forecast([mark(n, 10_000 + 1_000 * n) for n in range(8)], 17_000, 85_000)
    assert (told.turns, told.per_turn, told.trigger) == (68, 1_000, 85_000)


def test_the_requests_of_a_turn_count_together() -> None:
    turns = [mark(0, 1_000, "a"), mark(1, 1_500, "b"), mark(2, 2_500, "b"), mark(3, 3_000, "c"), mark(4, 4_000, "c")]
    assert growth(turns) == 1_500


def test_a_cut_and_another_model_are_no_growth() -> None:
    marks = [mark(0, 80_000), mark(1, 81_000), mark(2, 9_000, cut=True), mark(3, 10_000), mark(4, 70_000, model="n")]
    assert growth(marks) == 1_000


def test_one_giant_step_is_an_exception() -> None:
    sizes = [0, 1_000, 2_000, 3_000, 60_000, 61_000, 62_000, 63_000]
    assert growth([mark(n, size) for n, size in enumerate(sizes)]) == 1_000


@pytest.mark.parametrize(
    ("marks", "tokens", "trigger", "turns"),
    [
        ([], 10, 100, None),
        ([mark(0, 50)], 50, 100, None),
        ([mark(0, 50), mark(1, 50)], 50, 100, None),
        ([], 100, 100, 0),
        ([mark(0, 1), mark(1, 9)], 9, 0, None),
    ],
)
def test_too_little_to_tell(marks: list[Iteration], tokens: int, trigger: int, turns: int | None) -> None:
    assert forecast(marks, tokens, trigger).turns == turns


@given(st.lists(st.integers(0, 200_000), max_size=40), st.integers(0, 200_000), st.integers(0, 200_000))
def test_a_forecast_is_never_in_the_past(sizes: list[int], tokens: int, trigger: int) -> None:
    told = forecast([mark(n, size) for n, size in enumerate(sizes)], tokens, trigger)
    assert told.per_turn >= 0
    assert told.turns is None or told.turns >= 0
    if told.turns and told.per_turn:
        assert tokens + told.turns * told.per_turn >= trigger > tokens + (told.turns - 1) * told.per_turn


def test_read_once_and_paid_for_every_time() -> None:
    log = block("1", 900, source="read build.log", kind="tool_result", path="build.log", role="tool")
    sent = [(mark(n, 1_000), [block("0", 100, source="you"), log]) for n in range(31)]
    first, second = carry_costs(sent, lambda _: 0.01)
    assert (first.source, first.tokens, first.times, first.tokens_paid) == ("read build.log", 900, 31, 27_900)
    assert first.cost == pytest.approx(0.279)
    assert second.tokens_paid == 3_100
    assert [carry.source for carry in carry_costs(sent, lambda _: None, "file")] == ["build.log"]
    assert [carry.source for carry in carry_costs(sent, lambda _: None, "tool")] == ["read"]
    assert carry_costs(sent, lambda i: None if i.id == "i3" else 0.01)[0].cost is None


@given(st.lists(st.lists(st.integers(0, 5_000), min_size=1, max_size=8), max_size=8))
def test_shares_add_up_to_the_whole(requests: list[list[int]]) -> None:
    sent = [(mark(n, 0), [block(str(k), size) for k, size in enumerate(sizes)]) for n, sizes in enumerate(requests)]
    told = carry_costs(sent, lambda _: 1.0)
    assert sum(carry.tokens_paid for carry in told) == sum(map(sum, requests))
    assert sum(carry.cost or 0.0 for carry in told) == pytest.approx(sum(1.0 for sizes in requests if sum(sizes)))


def view(*blocks: Block) -> ContextView:
    total = sum(one.tokens for one in blocks)
    return ContextView("main", "s", model="m", provider="p", window=100_000, tokens=total, blocks=blocks)


SENT = view(
    block("system/0", 1_000, section="system", kind="system"),
    block("tool/git_worktree", 400, section="tools", kind="tool"),
    block("tool/read", 300, section="tools", kind="tool"),
    block("m1/0", 8_300),
)


def test_another_model_with_a_smaller_window() -> None:
    told = suppose(
        SENT, WhatIfTarget("small", "p", Capabilities(window=4_096, known=True), trigger=3_482, prunable=2_000)
    )
    assert (told.tokens, told.fits, told.price) == (10_000, False, None)
    assert len(told.cuts) == 3
    assert "refused" in told.cuts[-1]


def test_the_same_model_without_a_group_of_tools() -> None:
    told = suppose(SENT, WhatIfTarget("m", "p", PRICED, trigger=85_000), without=("git_*",))
    assert (told.tokens, told.fits, told.cuts) == (9_600, True, ())
    assert told.price == pytest.approx(9_600 * 3.0 / 1e6)
    assert told.warm == pytest.approx(9_600 * 0.3 / 1e6)
    assert "8,600 tokens after it" in told.notes[0]


def test_another_model_has_nothing_in_its_cache() -> None:
    assert "first request pays" in suppose(SENT, WhatIfTarget("other", "p", PRICED)).notes[0]
    assert suppose(SENT, WhatIfTarget("m", "p", PRICED)).notes == ()


def test_what_is_not_there_cannot_be_left_out() -> None:
    with pytest.raises(ContextError, match="nosuch"):
        suppose(SENT, WhatIfTarget("m", "p", PRICED), without=("nosuch",))
