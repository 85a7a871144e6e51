"""A diff as rows: nothing is lost when it is read, paired or shortened, and marks are where two lines differ."""

from __future__ import annotations

import difflib
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.color import Color

from gshtui.text.diff_rows import (
    change_at,
    changed_words,
    compact_rows,
    diff_counts,
    diff_path,
    diff_rows,
    first_rows,
    partner_in,
    side_by_side,
    without_names,
)
from gshtui.ui.kit.drawing.diff_lines import SIDE_BY_SIDE, DiffBody, diff_lines, is_split
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.page import Page, make_palette

LINES = st.lists(st.text("ab +-@\t", max_size=6), max_size=12)
LONG_LINES = st.lists(st.integers(0, 90).map(lambda length: ("word 字 " * 20)[:length]), max_size=4)


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


@given(LINES, LINES, st.integers(1, 12), st.booleans())
def test_a_shortened_change_counts_exactly_what_it_leaves_out_and_parts_no_pair(
    before: list[str], after: list[str], most: int, split: bool
) -> None:
    diff = unified(before, after)
    whole = compact_rows(diff)
    rows, left = first_rows(whole, most, split=split)
    assert sum(row.changed for row in rows) + left == sum(diff_counts(diff))
    assert left != 1 and (not left or most - (len(side_by_side(rows)) if split else len(rows)) in (0, 1))
    assert not whole or whole[0].kind != "hunk"
    pairs = [[whole[at] for at in pair if at is not None] for pair in side_by_side(whole)]
    shown = [[rows[at] for at in pair if at is not None] for pair in side_by_side(rows)]
    assert shown == pairs[: len(shown)]


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
    assert [row.kind for row in without_names(list(diff_rows(diff)), "other")] == ["file", "removed", "added"]


def test_what_looks_like_a_name_within_a_hunk_is_a_line_like_any_other() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n--- a/secret\n+++ b/other\n@@ -9 +9 @@\n"
    kinds = [(row.kind, row.text) for row in diff_rows(diff)]
    assert kinds[:4] == [("file", "x.py"), ("hunk", ""), ("removed", "-- a/secret"), ("added", "++ b/other")]
    assert kinds[4] == ("note", "@@ -9 +9 @@")


def test_another_name_before_is_said() -> None:
    diff = "--- a/old.py\n+++ b/new.py\n@@ -1 +1 @@\n-x\n+y\n"
    assert [row.text for row in diff_rows(diff)][:2] == ["new.py", "was old.py"]
    gone = "--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
    assert next(row.text for row in diff_rows(gone)) == "old.py"
    assert without_names(list(diff_rows(diff)), "new.py")[0].text == "was old.py"


@given(LONG_LINES, LONG_LINES, st.integers(40, SIDE_BY_SIDE - 1))
def test_two_columns_wrap_nothing_that_one_would_hold_in_a_place_of_less_than_about_140(
    before: list[str], after: list[str], width: int
) -> None:
    rows = list(diff_rows(unified(before, after)))
    page = Page(width, make_palette({}, Color(0, 0, 0)), Highlighter())
    one = diff_lines(rows, replace(page, two_columns=False))
    assert len(diff_lines(rows, page)) <= len(one)


def test_a_place_of_about_140_columns_has_two_and_a_smaller_one_where_each_line_fits() -> None:
    page = Page(136, make_palette({}, Color(0, 0, 0)), Highlighter())
    long = list(diff_rows(unified(["x" * 60], ["y" * 60])))
    short = list(diff_rows(unified(["x" * 40], ["y" * 40])))
    split = [[is_split(rows, replace(page, width=width)) for width in (136, 120, 100)] for rows in (long, short)]
    assert split == [[True, False, False], [True, True, False]]
    for new_or_gone in (unified([], ["x"]), unified(["x"], [])):
        assert not is_split(list(diff_rows(new_or_gone)), page), "one column would be empty"


@given(LINES, LINES, st.sampled_from([20, 60, 130]))
def test_a_body_has_a_line_for_every_row_at_any_width(before: list[str], after: list[str], width: int) -> None:
    rows = list(diff_rows(unified(before, after)))
    page = Page(width, make_palette({}, Color(0, 0, 0)), Highlighter())
    body = DiffBody(rows, page, "x.py")
    drawn = [body.line(y) for y in range(body.height)]
    assert all(line.cells <= width for line in drawn)
    assert [line.text.strip() for line in drawn] == [line.text.strip() for line in diff_lines(rows, page, "x.py")]
    assert len(body.changes) == len([at for at in body.changes if 0 <= at < max(1, body.height)])
