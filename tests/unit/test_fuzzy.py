"""Fuzzy matching of names and paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.prompt.fuzzy import best_matches, fuzzy_match

PATHS = [
    "src/app/main.py",
    "src/app/domain.py",
    "tests/test_main.py",
    "docs/maintenance.md",
    "main/",
    "a/b/c/readme.md",
]


def texts(query: str, limit: int = 10) -> list[str]:
    return [found.text for found in best_matches(query, PATHS, limit)]


def test_the_name_counts_before_the_folder() -> None:
    assert texts("main.py")[0] == "src/app/main.py"
    assert texts("main")[0] == "main/"
    assert texts("readme") == ["a/b/c/readme.md"]


def test_letters_in_order_are_enough() -> None:
    assert texts("sam") and "src/app/main.py" in texts("samp")
    assert texts("zzz") == []


def test_capitals_count_only_where_they_are_typed() -> None:
    assert fuzzy_match("main", "src/Main.py") is not None
    assert fuzzy_match("Main", "src/main.py") is None


def test_what_matched_can_be_marked() -> None:
    found = fuzzy_match("main", "src/app/main.py")
    assert found is not None
    assert "".join("src/app/main.py"[at] for at in found.positions) == "main"


def test_nothing_typed_gives_the_first_ones() -> None:
    assert len(texts("", 3)) == 3


def test_a_search_that_nobody_waits_for_ends() -> None:
    assert best_matches("a", ["a"] * 10_000, 5, stopped=lambda: True) == []


@given(st.text(max_size=8), st.lists(st.text(max_size=30), max_size=20))
def test_every_hit_holds_the_query_in_order(query: str, candidates: list[str]) -> None:
    for found in best_matches(query, candidates, 5):
        assert found.text in candidates
        letters = [found.text[at] for at in found.positions]
        assert [letter.lower() for letter in letters] == [letter.lower() for letter in query]
