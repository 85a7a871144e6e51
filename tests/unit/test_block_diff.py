"""The difference of two assemblies: what is said of it is enough to make one of the other, and no more than needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.context_data import SECTIONS, Block, Difference, SectionName
from gshtui.context.log.block_diff import differences


def block(id: str, text: str = "", section: SectionName = "history", tokens: int = 10) -> Block:
    return Block(id=id, section=section, kind="text", source=f"from {id}", tokens=tokens, hash=text or f"text of {id}")


def row(*ids: str) -> list[Block]:
    return [block(id) for id in ids]


def said(found: Sequence[Difference]) -> list[tuple[str, str]]:
    return [(difference.kind, difference.block) for difference in found]


def test_nothing_differs() -> None:
    assert differences([], []) == []
    assert differences(row("a", "b"), row("a", "b")) == []


def test_added_and_removed_are_told_where_they_are() -> None:
    assert said(differences(row("a", "b", "c"), row("a", "x", "c", "d"))) == [
        ("removed", "b"),
        ("added", "x"),
        ("added", "d"),
    ]


def test_rewritten_says_both_texts_and_sizes() -> None:
    (found,) = differences([block("a", "long", tokens=900)], [block("a", "pruned", tokens=12)])
    assert (found.kind, found.before, found.after) == ("rewritten", 900, 12)
    assert (found.hash_before, found.hash_after) == ("long", "pruned")


def test_one_block_that_moved_is_one_difference() -> None:
    assert said(differences(row("a", "b", "c", "d"), row("b", "c", "d", "a"))) == [("moved", "a")]


def test_one_that_was_rewritten_moves_no_other() -> None:
    before, after = [block("a"), block("b", "long")], [block("b", "pruned"), block("a")]
    assert said(differences(before, after)) == said(differences(after, before)) == [("rewritten", "b")]


def test_what_was_input_is_history_in_the_next_turn() -> None:
    before = [block("a"), block("b", section="input")]
    after = [block("a"), block("b"), block("c", section="input")]
    assert said(differences(before, after)) == [("added", "c")]
    other = [block("a"), block("b", section="memory")]
    assert said(differences(other, [block("a"), block("b")])) == [("moved", "b")]


def test_two_agents_share_texts_under_other_ids() -> None:
    mine = [block("m1/0", "read this"), block("m2/0", "mine")]
    theirs = [block("n7/0", "read this"), block("n8/0", "theirs")]
    assert said(differences(mine, theirs)) == [("removed", "m2/0"), ("added", "n8/0")]


def test_texts_that_are_there_twice_are_matched_once_each() -> None:
    twice = [block("a", "ok"), block("b", "ok")]
    assert said(differences(twice, [block("c", "ok")])) == [("removed", "b")]


blocks = st.lists(
    st.builds(
        block,
        st.sampled_from([f"id{n}" for n in range(12)]),
        st.sampled_from([f"text{n}" for n in range(6)]),
        st.sampled_from(SECTIONS),
        st.integers(0, 50),
    ),
    max_size=25,
    unique_by=lambda made: made.id,
)


@given(blocks, blocks)
def test_what_is_said_turns_one_into_the_other(before: list[Block], after: list[Block]) -> None:
    found = differences(before, after)
    texts = Counter(made.hash for made in before)
    texts.subtract(difference.hash_before for difference in found if difference.hash_before)
    assert all(count >= 0 for count in texts.values())
    texts.update(difference.hash_after for difference in found if difference.hash_after)
    assert +texts == Counter(made.hash for made in after)


@given(blocks, blocks)
def test_the_other_way_round_says_the_opposite(before: list[Block], after: list[Block]) -> None:
    there, back = (Counter(d.kind for d in differences(*pair)) for pair in ((before, after), (after, before)))
    assert (there["added"], there["removed"]) == (back["removed"], back["added"])
    assert there["rewritten"] == back["rewritten"]
    assert there["moved"] == back["moved"]


@given(blocks)
def test_an_assembly_does_not_differ_from_itself(some: list[Block]) -> None:
    assert differences(some, some) == []


@given(blocks, st.integers(0, 24))
def test_what_comes_last_is_all_that_is_added(some: list[Block], count: int) -> None:
    shorter = some[:count]
    assert [d.kind for d in differences(shorter, some)] == ["added"] * (len(some) - len(shorter))


class Counted(str):
    """A text that counts how often it is looked at."""

    looks = 0

    def __hash__(self) -> int:
        Counted.looks += 1
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        Counted.looks += 1
        return super().__eq__(other)


def test_a_block_is_looked_at_a_few_times_however_many_there_are() -> None:
    def looks(count: int) -> float:
        before = [block(Counted(n), Counted(f"text {n}")) for n in range(count)]
        after = [block(Counted(n), Counted(f"text {n}" if n % 7 else f"other {n}")) for n in reversed(range(count))]
        Counted.looks = 0
        assert len(differences(before, after)) >= count - 1
        return Counted.looks / count

    assert looks(4_000) <= looks(100) * 1.5
