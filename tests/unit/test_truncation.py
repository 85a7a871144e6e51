"""Truncation: never longer than asked, never a broken character, one marker, and numbers that add up."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gshtui.text.truncation import Gap, gap_of, is_too_long, least, marker, original_size, shorten
from tests.kit.markers import cut_of

KEYS = st.sampled_from(("", "0123456789abcdef0123456789abcdef"))
NOTES = st.sampled_from(("", "[exit code: 1]", "[timed out after 5 s and was ended]\n[still running, detached: é]"))
TEXTS = st.one_of(
    st.text(max_size=60),
    st.builds(
        lambda line, times, end: line * times + end,
        st.text(min_size=1, max_size=40),
        st.integers(1, 400),
        st.sampled_from(("", "\n", "\r\n", "é", "E   AssertionError: no\n")),
    ),
    st.lists(st.sampled_from(("x = 1", "error: é", "💥 fatal", "0 errors", "", "\r", "\udc80")), max_size=300).map(
        "\n".join
    ),
)
LIMITS = st.one_of(st.integers(0, 400), st.integers(400, 20_000))


def size(text: str) -> int:
    return len(text.encode(errors="replace"))


@given(TEXTS, LIMITS, KEYS, NOTES)
@example("hi\n", 1, "", "")
@example("x" * 115_000, 100, "", "")
@example("é" * 100_000, 30_000, "", "")
@example("a\r\n" * 30_000, 5_000, "", "[exit code: 1]")
def test_what_is_kept_and_what_is_omitted_is_the_original(text: str, limit: int, key: str, notes: str) -> None:
    short = shorten(text, limit, key, notes=notes)
    behind = "" if not notes else notes if text.endswith("\n") else f"\n{notes}"
    assert short.endswith(behind)
    if not limit or size(text + behind) <= limit:
        assert short == text + behind
        assert not is_too_long(text, limit, key, notes=notes)
        return
    assert size(short) <= max(limit, least(key, notes))
    assert size(short) <= size(text + behind)
    if not is_too_long(text, limit, key, notes=notes):
        assert short == text + behind
        return
    head, omitted, tail = cut_of(short.removesuffix(behind) if behind else short)
    data = text.encode(errors="replace")
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    assert size(head) + size(tail) + omitted == len(data)
    assert not key or f"`output key={key}`" in short


@given(TEXTS, LIMITS, KEYS)
def test_what_was_cut_is_not_cut_again_by_the_same_limit(text: str, limit: int, key: str) -> None:
    short = shorten(text, limit, key)
    assert shorten(short, limit, key) == short


@given(TEXTS, st.integers(400, 20_000), st.integers(400, 20_000), KEYS)
def test_a_cut_that_is_cut_further_still_counts_from_the_original(text: str, first: int, second: int, key: str) -> None:
    short = shorten(text, first, key)
    if not is_too_long(text, first, key):
        return
    again = shorten(short, second, gap=gap_of(short))
    assert size(again) <= max(second, size(short) if second >= size(short) else 0, least())
    head, omitted, tail = cut_of(again)
    data = text.encode(errors="replace")
    assert data.startswith(head.encode())
    assert data.endswith(tail.encode())
    assert size(head) + size(tail) + omitted == len(data)


@given(TEXTS, TEXTS, st.integers(1, 10**12), LIMITS, KEYS)
def test_what_was_lost_before_is_counted_in_the_one_marker(
    before: str, after: str, lost: int, limit: int, key: str
) -> None:
    text = f"{before}{marker(lost)}{after}"
    gap = Gap(len(before), len(before) + len(marker(lost)), lost)
    assert original_size(text, gap) == size(before) + lost + size(after)
    short = shorten(text, limit, key, gap=gap)
    if not is_too_long(text, limit, key):
        assert short == text
        return
    head, omitted, tail = cut_of(short)
    assert size(short) <= max(limit, least(key))
    assert before.encode(errors="replace").startswith(head.encode())
    assert after.encode(errors="replace").endswith(tail.encode())
    assert size(head) + size(tail) + omitted == original_size(text, gap)


@pytest.mark.parametrize("limit", [1, 100, 700, 5_000, 30_000, 100_000])
def test_one_line_of_ten_megabytes(limit: int) -> None:
    text = "é" * 5_000_000
    short = shorten(text, limit)
    head, omitted, tail = cut_of(short)
    assert max(limit, least()) - 40 <= size(short) <= max(limit, least())
    assert size(head) + size(tail) + omitted == 10_000_000
    assert abs(size(head) - size(tail)) <= 2


def test_errors_of_the_middle_are_kept_and_the_marker_says_how_to_read_the_whole() -> None:
    lines = [f"compiling module number {n}" for n in range(20_000)]
    lines[9_000] = "src/x.c:12: error: expected ';'"
    lines[9_500] = "0 errors so far"
    short = shorten("\n".join(lines), 10_000, "abc123")
    assert len(short.encode()) <= 10_000
    assert short.startswith("compiling module number 0\n")
    assert short.endswith("compiling module number 19999")
    assert "  9001│src/x.c:12: error: expected ';'" in short
    assert "0 errors so far" not in short
    assert "bytes omitted" in short
    assert "`output key=abc123`" in short


@given(st.text(max_size=400))
def test_text_that_is_no_cut_has_no_gap_or_one_within_it(text: str) -> None:
    gap = gap_of(text)
    assert gap is None or 0 <= gap.start < gap.end <= len(text)
