"""A list of blocks as what differs from another one: restored it is the same, and it takes room for what changed."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.context_data import Block, Change
from gshtui.store.tables.context_tables import decoded_pieces, difference, encoded_pieces, restored_blocks


def block(number: int, version: int = 0) -> Block:
    changes = (Change("pruned", "cut", 9, 1),) if version else ()
    return Block(f"m{number}/0", "history", "text", "you", 1 + version, f"{number:x}{version}", changes=changes)


BLOCKS = st.lists(st.builds(block, st.integers(0, 15), st.integers(0, 1)), max_size=25)


@given(BLOCKS, BLOCKS)
def test_any_list_is_restored_from_any_other(base: list[Block], blocks: list[Block]) -> None:
    pieces = difference(base, blocks)
    assert restored_blocks(base, pieces) == tuple(blocks)
    assert restored_blocks(base, decoded_pieces(encoded_pieces(pieces))) == tuple(blocks)
    if len(set(base)) == len(base) and len(set(blocks)) == len(blocks):  # as ids make them
        assert not set(base) & {piece for piece in pieces if isinstance(piece, Block)}


EDITS = st.lists(
    st.tuples(st.sampled_from(["grow", "prune", "drop", "insert", "move"]), st.integers(0, 40)), min_size=1, max_size=12
)


@given(st.integers(0, 60), EDITS)
def test_a_few_edits_take_a_few_pieces(length: int, edits: list[tuple[str, int]]) -> None:
    base = [block(100 + number) for number in range(length)]
    blocks, fresh = list(base), 1_000
    for kind, at in edits:
        place = at % (len(blocks) + 1)
        fresh += 1
        if kind == "grow":
            blocks.append(block(fresh))
        elif kind == "insert":
            blocks.insert(place, block(fresh))
        elif kind == "prune" and place < len(blocks):
            blocks[place] = msgspec.structs.replace(blocks[place], hash=f"pruned {fresh}")
        elif kind == "drop":
            del blocks[place : place + 3]
        elif blocks:
            blocks.insert(0, blocks.pop(place % len(blocks)))
    pieces = difference(base, blocks)
    assert restored_blocks(base, pieces) == tuple(blocks)
    assert sum(isinstance(piece, Block) for piece in pieces) <= len(edits)
    assert len(pieces) <= 4 * len(edits) + 2


def test_what_only_grew_is_one_stretch_and_what_is_new() -> None:
    base = [block(number) for number in range(5_000)]
    assert difference(base, [*base, block(9_999)]) == [(0, 5_000), block(9_999)]
    assert difference(base, base) == [(0, 5_000)]
    assert difference([], base[:2]) == base[:2]
    assert difference(base, []) == []


@pytest.mark.parametrize("piece", [(0, 4), (-1, 2), (2, 1)])
def test_a_difference_to_another_base_is_refused(piece: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="a stretch"):
        restored_blocks([block(0), block(1), block(2)], [piece])
