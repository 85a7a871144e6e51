"""The difference between two assemblies: blocks added, removed, rewritten or moved. Pure.

It compares requests of one agent or of two. Two agents' messages have different ids, so a block with the same text
under another id counts as the same block. Takes n log n for n blocks. Called by `service`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from gshtui.bus.context_data import SECTIONS, Block, Difference, SectionName

_ONE_PLACE: frozenset[SectionName] = frozenset({"history", "input"})
"""One turn's input is the next one's history, at the same place in the request, so it has not moved."""


def differences(before: Sequence[Block], after: Sequence[Block]) -> list[Difference]:
    """The changes that turn `before` into `after`, in reading order.

    Blocks that are in both at the same place are left out. `moved`: a block is in another section, or in another order
    among those that are in both; as few blocks as possible count as moved.
    """
    pairs = _paired(before, after)
    moved = _moved(before, after, pairs)
    came_from = {new: old for old, new in pairs.items()}
    found: list[tuple[tuple[int, float], Difference]] = []
    for new, block in enumerate(after):
        old = came_from.get(new)
        where = (SECTIONS.index(block.section), float(new))
        if old is None:
            found.append((where, _difference("added", block, after=block)))
        elif before[old].hash != block.hash:
            found.append((where, _difference("rewritten", block, before[old], block)))
        elif old in moved:
            found.append((where, _difference("moved", block, before[old], block)))
    place = -0.5
    for old, block in enumerate(before):
        if old in pairs:
            place = pairs[old] + 0.5
        else:
            found.append(((SECTIONS.index(block.section), place), _difference("removed", block, block)))
    found.sort(key=lambda entry: entry[0])
    return [difference for _, difference in found]


def _difference(kind: str, block: Block, before: Block | None = None, after: Block | None = None) -> Difference:
    return Difference(
        kind=kind,  # pyright: ignore[reportArgumentType]  # one of the four, given above
        block=block.id,
        section=block.section,
        source=block.source,
        before=before.tokens if before else 0,
        after=after.tokens if after else 0,
        hash_before=before.hash if before else "",
        hash_after=after.hash if after else "",
    )


def _paired(before: Sequence[Block], after: Sequence[Block]) -> dict[int, int]:
    """Places in `before` → places in `after` of the same block: by id, else by text, first within a section."""
    pairs: dict[int, int] = {}
    old: list[int] = list(range(len(before)))
    new: list[int] = list(range(len(after)))
    keys: tuple[Callable[[Block], Hashable], ...] = (
        lambda block: (block.id, block.hash),
        lambda block: block.id,
        lambda block: (_place_of(block), block.kind, block.hash),
        lambda block: (block.kind, block.hash),
    )
    for key in keys:
        waiting: defaultdict[Hashable, deque[int]] = defaultdict(deque)
        for place in new:
            waiting[key(after[place])].append(place)
        for place in old:
            if queue := waiting.get(key(before[place])):
                pairs[place] = queue.popleft()
        taken = set(pairs.values())
        old = [place for place in old if place not in pairs]
        new = [place for place in new if place not in taken]
    return pairs


def _place_of(block: Block) -> str:
    return "messages" if block.section in _ONE_PLACE else block.section


def _moved(before: Sequence[Block], after: Sequence[Block], pairs: dict[int, int]) -> set[int]:
    """Places in `before` of blocks that have moved; what was rewritten is no measure of that."""
    same = ((before[old], after[new], old) for old, new in sorted(pairs.items()))
    staying = [old for one, other, old in same if one.hash == other.hash and _place_of(one) == _place_of(other)]
    in_order = _longest_rising([pairs[old] for old in staying])
    kept = {staying[number] for number in in_order}
    return set(pairs) - kept


def _longest_rising(numbers: Sequence[int]) -> Iterable[int]:
    """Places of a longest rising subsequence (patience sorting)."""
    ends: list[int] = []
    """For each length, the smallest number that such a run can end with."""
    places: list[int] = []
    above: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        if length == len(ends):
            ends.append(number)
            places.append(place)
        else:
            ends[length] = number
            places[length] = place
        above.append(places[length - 1] if length else -1)
    place = places[-1] if places else -1
    while place >= 0:
        yield place
        place = above[place]
