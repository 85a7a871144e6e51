"""Figures for people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text import units
from gshtui.ui.kit.drawing import figures


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        *((0, "0"), (999, "999"), (1_000, "1k"), (12_345, "12.3k"), (85_000, "85k"), (99_949, "99.9k")),
        *((99_950, "100k"), (999_499, "999k"), (999_500, "1M"), (1_234_567, "1.2M")),
    ],
)
def test_tokens(count: int, shown: str) -> None:
    assert figures.tokens(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "now"), (12, "12 s"), (59.9, "59 s"), (60, "1 min"), (3_600, "1 h"), (90_000, "25 h"), (200_000, "2 d")],
)
def test_ages(seconds: float, shown: str) -> None:
    assert figures.age(seconds) == shown


@pytest.mark.parametrize(
    ("seconds", "took", "running"),
    [
        (-1, "0.00 s", "0 s"),
        (0.04, "0.04 s", "0 s"),
        (9.96, "10 s", "9 s"),
        (7_800, "2 h 10 min", "2 h 10 min"),
        (7.9, "7.9 s", "7 s"),
        (42, "42 s", "42 s"),
        (125, "2 min 05 s", "2 min 05 s"),
        (90_000, "1 d 01 h", "1 d 01 h"),
    ],
)
def test_durations(seconds: float, took: str, running: str) -> None:
    assert (units.duration(max(seconds, 0)), units.clock(seconds)) == (took, running)


def test_money() -> None:
    assert figures.money(0) == "$0.00"
    assert figures.money(0.00007) == "<$0.0001"
    assert figures.money(0.0042) == "$0.0042"
    assert figures.money(1.234) == "$1.23"
    assert figures.money(1, known=False) == "$1.00+"
    assert figures.money(0, known=False) == ""


def test_shares() -> None:
    assert units.percent(0, 100) == "0 %"
    assert units.percent(1, 1_000) == "<1 %"
    assert units.percent(37, 100) == "37 %"
    assert units.percent(3, 0) == "0 %"
    assert [units.deviation(share) for share in (0.124, -0.03, 0.001)] == ["+12 %", "-3 %", "0 %"]


def test_percentages_are_written_by_one_module() -> None:
    by_hand = re.compile(r":[+]?\.\d[%]|:[+]?\.0f\} ?%")
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted(Path(units.__file__).parents[1].rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if by_hand.search(line) and path.name != "units.py"
    ]
    assert found == []


def test_a_forecast_counts_few_turns_and_says_nothing_of_many() -> None:
    assert units.turns_ahead(1) == "in the next turn"
    assert units.turns_ahead(12) == "in about 12 turns"
    assert units.turns_ahead(8_473) == units.turns_ahead(None) == ""


@given(st.integers(0, 10**7), st.integers(1, 10**6), st.integers(1, 80))
def test_a_bar_fits_and_shows_something_for_something(part: int, whole: int, width: int) -> None:
    drawn = figures.bar(part, whole, width)
    assert len(drawn) <= width
    assert bool(drawn) == bool(part)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(1, 12))
def test_a_chart_has_a_column_for_each_value(values: list[int], height: int) -> None:
    rows = figures.columns(values, height)
    assert len(rows) == height
    assert all(len(row) == len(values) for row in rows)
    for at, value in enumerate(values):
        assert any(row[at] != " " for row in rows) == bool(value)
    tallest = values.index(max(values))
    assert not max(values) or rows[0][tallest] == "█"
