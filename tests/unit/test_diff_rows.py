"""A diff as rows: nothing is lost when it is read, paired or shortened, and marks are where two lines differ."""

from __future__ import annotations

import difflib
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.kit.diff_rows import (
    change_at,
    changed_words,
    compact_rows,
    diff_counts,
    diff_path,
    diff_rows,
    partner_in,
    side_by_side,
    without_names,
)

LINES = st.lists(st.text("ab +-@\t", max_size=6), max_size=12)


def unified(before: list[str], after: list[str]) -> str:
    found = difflib.unified_diff(before, after, "a/x.py", "b/x.py", lineterm="", n=2)
    return "".join(f"{line}\n" for line in found)


@given(LINES, LINES)
def test_every_row_is_in_one_place_of_two_columns_and_pairs_are_mutual(before: list[str], after: list[str]) -> None:
    rows = list(diff_rows(unified(before, after)))
    pairs = side_by_side(rows)
    seen = [at for pair in pairs for at in {pair.left, pair.right} if at is not None]
    assert sorted(seen) == list(range(len(rows)))
    starts = [next(at for at in pair if at is not None) for pair in pairs]
    assert starts == sorted(starts)
    for at, row in enumerate(rows):
        other = partner_in(change_at(rows, at), at)
        if not row.changed:
            assert other is None
        elif other is not None:
            assert rows[other].changed and rows[other].kind != row.kind
            assert partner_in(change_at(rows, other), other) == at


@given(LINES, LINES, st.integers(1, 12))
def test_a_shortened_change_counts_exactly_what_it_leaves_out(before: list[str], after: list[str], most: int) -> None:
    diff = unified(before, after)
    rows, left = compact_rows(diff, most)
    assert sum(row.changed for row in rows) + left == sum(diff_counts(diff))
    assert left != 1 and (not left or len(rows) == most)
    assert not rows or rows[0].kind != "hunk"


@given(st.text("ab .(", max_size=20), st.text("ab .(", max_size=20))
def test_marks_cover_what_differs_and_nothing_else(before: str, after: str) -> None:
    old, new = changed_words(before, after)
    if not old and not new:
        return
    for text, ranges in ((before, old), (after, new)):
        assert all(0 <= each.start < each.stop <= len(text) for each in ranges)
        assert all(one.stop <= other.start for one, other in pairwise(ranges))

    def without(text: str, ranges: list[range]) -> str:
        return "".join(letter for at, letter in enumerate(text) if not any(at in each for each in ranges))

    # A blank between two marks of one side is marked with them, and is not on the other.
    assert without(before, old).replace(" ", "") == without(after, new).replace(" ", "")


def test_a_word_is_marked_and_lines_that_have_nothing_in_common_are_not() -> None:
    old, new = changed_words("    return tokens[0]", "    return tokens or []")
    assert ["    return tokens[0]"[each.start : each.stop] for each in old] == ["0"]
    assert ["    return tokens or []"[each.start : each.stop] for each in new] == [" or "]
    assert changed_words("def parse(line):", "raise ValueError") == ([], [])
    long = [f"w{n}" for n in range(300)]
    old, new = changed_words(" ".join(long), " ".join([*long[:150], "other", *long[151:]]))
    assert len(old) == len(new) == 1


def test_names_and_the_first_mark_are_left_out_where_they_are_said_already() -> None:
    diff = unified(["one"], ["two"])
    assert diff_path(diff) == "x.py"
    assert [row.kind for row in without_names(list(diff_rows(diff)), "x.py")] == ["removed", "added"]
    assert next(row.kind for row in without_names(list(diff_rows(diff)), "other")) == "file"
