"""The kill ring: what comes back, in which order, and what is one text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gshtui.ui.prompt.line_editing import SIZE, KillRing

WORDS = st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=2 * SIZE)


def test_an_empty_ring_gives_nothing() -> None:
    ring = KillRing()
    ring.add("")
    assert (ring.newest, ring.yanked(), ring.older()) == ("", "", "")


def test_what_was_deleted_in_a_row_is_one_text_in_the_order_of_the_line() -> None:
    ring = KillRing()
    ring.add("kept")
    ring.add("three", backward=True)
    ring.add("two ", backward=True, joined=True)
    ring.add(" four", joined=True)
    assert ring.yanked() == "two three four"
    assert ring.older() == "kept"


@given(WORDS)
def test_older_goes_round_all_that_is_kept(words: list[str]) -> None:
    ring = KillRing()
    for word in words:
        ring.add(word)
    kept = words[-SIZE:]
    assert ring.yanked() == kept[-1]
    assert [ring.older() for _ in kept] == [*reversed(kept[:-1]), kept[-1]]
    ring.add("new")
    assert ring.yanked() == "new"


@given(WORDS)
def test_one_run_is_the_whole_line(words: list[str]) -> None:
    forward, backward = KillRing(), KillRing()
    for at, word in enumerate(words):
        forward.add(word, joined=at > 0)
        backward.add(word, backward=True, joined=at > 0)
    assert forward.newest == "".join(words)
    assert backward.newest == "".join(reversed(words))
