"""Long pastes, folded and unfolded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.kit.widgets.folding_area import Folds, byte_size, newlines, wants_fold


@pytest.mark.parametrize(
    ("text", "folds"),
    [
        ("short", False),
        ("\n".join(["ten", "lines"] * 5), False),
        ("x\n" * 10, True),
        ("x" * 1_000, False),
        ("x" * 1_001, True),
        ("a\u2028b", True),  # a text area would break it there, and could not give it back
        ("a\x0cb", True),
    ],
)
def test_what_is_folded(text: str, folds: bool) -> None:
    assert wants_fold(text) is folds


def test_line_ends_of_a_terminal() -> None:
    assert newlines("a\rb\r\nc\nd") == "a\nb\nc\nd"


def test_a_label_says_what_it_stands_for() -> None:
    folds = Folds()
    assert folds.add("line\n" * 240) == "[pasted #1 · 240 lines · 1.2 KB]"
    assert folds.add("é" * 500_000) == "[pasted #2 · 1 line · 1.0 MB]"


@pytest.mark.parametrize(("count", "shown"), [(0, "0 B"), (999, "999 B"), (14_200, "14.2 KB"), (999_960, "1.0 MB")])
def test_sizes(count: int, shown: str) -> None:
    assert byte_size(count) == shown


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5), st.text(alphabet="ab []#1·\n"))
def test_what_was_folded_comes_out_unchanged(texts: list[str], between: str) -> None:
    folds = Folds()
    labels = [folds.add(text) for text in texts]
    assert folds.expand(between.join(labels)) == between.join(texts)


def test_a_label_inside_a_paste_is_text() -> None:
    folds = Folds()
    first = folds.add("secret " * 200)
    second = folds.add(f"quoted: {first}")
    assert folds.expand(second) == f"quoted: {first}"


def test_only_labels_of_ours_expand() -> None:
    folds = Folds()
    folds.add("x\n" * 20)
    assert folds.expand("[pasted #7 · 1 line · 1 B] and [pasted me]") == "[pasted #7 · 1 line · 1 B] and [pasted me]"


def test_spans_and_what_is_used() -> None:
    folds = Folds()
    first, second = folds.add("a\n" * 20), folds.add("b\n" * 20)
    assert folds.spans(f"x {second} y") == [(2, 2 + len(second), 2)]
    assert folds.used(f"only {first}") == {1: "a\n" * 20}
