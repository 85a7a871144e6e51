"""Contexts in words: tables for 80 columns, names of requests and blocks, and nothing untrusted in between."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gshtui.bus.context_data import Block, Change, Difference, Item, Iteration, Receipt
from gshtui.bus.messages import Usage
from gshtui.commands.declaration import UsageError
from gshtui.context.commands import answers, lookup, tables
from gshtui.context.views import Carry, ContextView, Forecast, RequestText, WhatIf

HOSTILE = "\x1b]0;owned\x07| a \x9b31m\u202ewide name of a file that goes on and on for a long time.py\nsecond line"


def block(number: int, **more: Any) -> Block:
    fields: dict[str, Any] = {"section": "history", "kind": "tool_result", "source": f"read src/{number}.py"}
    fields |= {"path": f"src/{number}.py", "tokens": 1_000 * number, "hash": f"h{number}", "at": time.time() - 90}
    fields |= {"id": f"0abcdefgh{number}/0"} | more
    return Block(**fields)


def mark(number: int, tokens: int, **more: Any) -> Iteration:
    fields: dict[str, Any] = {"agent": "main", "session": "s", "turn": f"t{number}", "iteration": 1}
    fields |= {"model": "a-model-with-a-very-long-name-2026", "at": time.time() - 60, "usage": Usage(10), "cost": 0.01}
    fields |= {"id": f"i{number}", "tokens": tokens} | more
    return Iteration(**fields)


VIEW = ContextView(
    "main",
    "s",
    model="m",
    provider="p",
    window=200_000,
    tokens=15_000,
    trigger=170_000,
    blocks=(
        block(9, id="system/0", section="system", kind="system", source="gsh-tui", path="", cache="read"),
        block(1, source=HOSTILE),
        block(2, pinned=True, changes=(Change("truncated", before=9, after=1), Change("restored"))),
        block(3, section="input", kind="text", source="you", path=""),
    ),
)


def fits(text: str) -> None:
    assert [line for line in text.split("\n") if len(line) > 80 and not line.startswith(("**", "A request"))] == []
    assert not any(sign in text for sign in ("\x1b", "\x07", "\x9b", "\u202e"))


def test_tables_have_80_columns() -> None:
    fits(tables.overview(VIEW, Forecast(12, 1_300, 170_000)))
    for name in ("system", "history", "input", "memory"):
        fits(tables.section(VIEW, name, 0))
    found = [
        Difference("rewritten", "b", "history", HOSTILE, 123_456, 12),
        Difference("added", "c", "input", "you", 0, 5),
    ]
    fits(tables.difference(found, ("main:3", "main:next")))
    fits(tables.what_if(VIEW, WhatIf(9_000, 4_096, None, False, ("It would be cut.",), None, ("No cache.",)), "haiku"))
    fits(tables.carry([Carry(HOSTILE, 123_456, 310, 38_271_360, 114.81408), Carry("you", 1, 1, 1, None)], 10))


def test_no_source_is_cut_that_is_read_aloud() -> None:
    end = "for a long time.py"
    assert end not in tables.overview(VIEW) and end in tables.overview(VIEW, aloud=True)
    assert end not in tables.section(VIEW, "history", 0) and end in tables.section(VIEW, "history", 0, aloud=True)


def test_the_headline_names_the_model_as_everywhere_and_no_window_without_one() -> None:
    said = tables.headline(replace(VIEW, model="claude-sonnet-4-5", provider="anthropic"))
    assert "Claude Sonnet 4.5" in said and "of 200k tokens" in said and "A compaction starts" in said
    said = tables.headline(replace(VIEW, model="offline", provider="offline"))
    assert " of " not in said and "compaction" not in said


def test_the_overview_says_what_is_where() -> None:
    told = tables.overview(VIEW, Forecast(12, 1_300, 170_000))
    assert "15k of 200k tokens (8 %)" in told
    assert "in about 12 turns (+1.3k tokens a turn)" in told
    far = tables.due(Forecast(14_120, 60, 850_000), 850_000)
    assert far == "A compaction starts at 850k tokens"  # too far away to be foreseen
    assert "60 %" in told
    assert "pinned +2" in told
    rows = [line for line in told.split("\n") if line.startswith("| system")]
    assert "████████████" in rows[0]
    assert "read" in rows[0]


def test_a_blocks_text_cannot_end_its_fence() -> None:
    told = tables.whole_block(VIEW.blocks[1], "before\n````\n# not a heading\n```", 2)
    assert told.endswith("`````")
    assert told.split("\n").count("`````") == 2


@given(st.text(alphabet="`~a\n ", max_size=60))
def test_no_text_can_end_its_fence(text: str) -> None:
    first, *body, last = tables.fenced(text).split("\n")
    assert first == last
    assert set(first) == {"`"}
    assert all(not line.strip().startswith(first) for line in body)


def test_the_timeline_draws_heights_marks_and_the_trigger() -> None:
    cuts = [
        Receipt("compact", "main", "s", id="c1", tokens_before=90_000, tokens_after=9_000, by="threshold"),
        Receipt("prune", "main", "s", id="c2", undone=True),
    ]
    marks = [mark(n, 10_000 * n) for n in range(1, 10)]
    marks += [mark(10, 9_000, cuts=("c1",)), mark(11, 12_000, cuts=("c2",)), mark(12, 13_000, error="overloaded " * 9)]
    told = tables.timeline("main", marks, cuts, Forecast(7, 10_000, 80_000), 5)
    fits(told)
    rows = told.split("\n")
    chart = rows[rows.index("```") + 1 : rows.index("```", rows.index("```") + 1)]
    assert chart[-1].strip() == "·········CU!"
    assert any("80,000 ┤───" in row for row in chart)
    assert [row[11 + 8 : 11 + 9] for row in chart[:8]] == ["█"] * 8
    assert [row[11 + 9 : 11 + 10].strip("─ ") for row in chart[:6]] == [""] * 6
    assert tables.marks_of(marks[10], {"c2": cuts[1]}) == "PU"
    assert "12 requests, 1 cut" in told
    heard = tables.timeline("main", marks, cuts, Forecast(7, 10_000, 80_000), 5, aloud=True)
    assert "…" in told and "…" not in heard, "nothing is cut that is read aloud"
    assert ("overloaded " * 9).strip() in heard


@pytest.mark.parametrize("count", [1, 63, 64, 65, 500, 5_000])
def test_any_number_of_requests_fits(count: int) -> None:
    chart = tables.chart([mark(n, n + 1) for n in range(count)], {}, 2 * count)
    fits(chart)
    assert chart.count("\n") == tables.HEIGHT + 1


def test_a_receipt_item_by_item() -> None:
    items = tuple(
        Item(f"b{n}", HOSTILE, "dropped" if n % 2 else "kept", 100, 0 if n % 2 else 100, why="recent")
        for n in range(60)
    )
    of = Receipt(
        "compact",
        "main",
        "s",
        id="c1",
        at=time.time(),
        by="person",
        why="You asked.",
        tokens_before=9_000,
        tokens_after=1_000,
        messages_before=60,
        messages_after=4,
        request_before=0.027,
        request_after=0.003,
        cost=0.01,
        seconds=3.2,
        items=items,
        summary="## Done\n```\ncode\n```",
        steps=("Twice.",),
    )
    told = tables.receipt(of)
    fits(told)
    assert "30 kept, 30 dropped" in told
    assert told.count("| dropped |") == 30
    assert "20 more" in told
    assert "preview" in tables.receipt(Receipt("prune", "main", "s"))
    assert "undone by main" in tables.receipt(Receipt("prune", "main", "s", id="x", undone=True, undone_by="main"))


def test_the_json_of_the_contract() -> None:
    texts = {one.hash: f"text of {one.hash}" for one in VIEW.blocks}
    data = answers.view(VIEW, texts=texts, request=RequestText('{"model": "m"}', True, "n"))
    assert (data["agent"], data["model"], data["window"], data["tokens"]) == ("main", "m", 200_000, 15_000)
    assert [section["name"] for section in data["sections"]] == [
        "system",
        "call",
        "memory",
        "tools",
        "history",
        "input",
    ]
    history = data["sections"][4]
    assert (history["tokens"], len(history["blocks"])) == (3_000, 2)
    assert history["blocks"][1] | {"age_s": 0} == {
        "number": 3,
        "id": "0abcdefgh2/0",
        "source": "read src/2.py",
        "kind": "tool_result",
        "tokens": 2_000,
        "hash": "h2",
        "age_s": 0,
        "path": "src/2.py",
        "pinned": True,
        "cache": "",
        "text": "text of h2",
        "changes": [{"kind": "truncated", "before": 9, "after": 1}, {"kind": "restored"}],
    }
    assert (data["request"], data["request_exact"]) == ({"model": "m"}, True)
    assert answers.view(VIEW, section="history", limit=1)["sections"][0]["left_out"] == 1


MARKS = [mark(1, 5), mark(2, 6), mark(3, 7)]


@pytest.mark.parametrize(
    ("name", "number"), [("", 0), ("next", 0), ("1", 1), ("3", 3), ("-1", 3), ("last", 3), ("-3", 1), ("i2", 2)]
)
def test_requests_by_number(name: str, number: int) -> None:
    which = lookup.iteration("main", MARKS, name)
    assert (which.number, which.id) == (number, f"i{number}" if number else "")


@pytest.mark.parametrize("name", ["0", "4", "-4", "x", "1.5", "9" * 40, "²"])
def test_requests_that_are_not_there(name: str) -> None:
    with pytest.raises(UsageError, match="has no request"):
        lookup.iteration("main", MARKS, name)


@pytest.mark.parametrize(
    ("word", "side"),
    [
        ("3", ("", "3")),
        ("-1", ("", "-1")),
        ("last", ("", "last")),
        ("main", ("main", "")),
        ("0012", ("0012", "")),
        ("0012:4", ("0012", "4")),
        ("main:last", ("main", "last")),
        ("01hzxk3v9q2b7c", ("", "01hzxk3v9q2b7c")),
    ],
)
def test_sides_of_a_comparison(word: str, side: tuple[str, str]) -> None:
    assert lookup.side(word) == side


@pytest.mark.parametrize(
    ("name", "number"),
    [("3", 3), ("#3", 3), ("src/2.py", 3), ("read src/2.py", 3), ("0abcdefgh2", 3), ("h2", 3), ("you", 4)],
)
def test_blocks_by_what_people_know_of_them(name: str, number: int) -> None:
    assert lookup.block(VIEW, name)[0] == number


@pytest.mark.parametrize(
    ("name", "why"), [("99", "no block"), ("0abcdefgh", "several"), ("", "no block"), ("-1", "no block")]
)
def test_blocks_that_are_not_clear(name: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        lookup.block(VIEW, name)


def test_cuts_and_what_they_took_out() -> None:
    first = Receipt("prune", "main", "s", id="01aaa", items=(Item("m1/0", "read a.py", "dropped"),))
    undone = Receipt("compact", "main", "s", id="01bbb", undone=True, items=(Item("m2/0", "read b.py", "dropped"),))
    kept = Receipt("truncate", "main", "s", id="01ccc", items=(Item("m3/0", "read c.py", "kept"),))
    cuts = [first, undone, kept]
    assert lookup.cut(cuts, "") is first
    assert lookup.cut(cuts, "bbb") is undone
    assert lookup.removed(cuts, "a.py") == lookup.removed(cuts, "m1/0") == "m1/0"
    assert lookup.removed(cuts, "b.py") == lookup.removed(cuts, "c.py") == ""
    for name, why in (("01", "several"), ("zz", "no cut")):
        with pytest.raises(UsageError, match=why):
            lookup.cut(cuts, name)
    with pytest.raises(UsageError, match="no cut to undo"):
        lookup.cut([undone], "")
