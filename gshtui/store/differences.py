"""One list of blocks told as another one and what differs: what a stored iteration consists of.

Pure. Owns the form: stretches of the base as pairs of places, and blocks in full. Refuses a difference that does not
fit its base. Called by `iterations`.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.context import Block

Piece = tuple[int, int] | Block
"""Blocks of the base from the first place up to, not including, the second; or one block that the base has not."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[Piece])


def difference(base: Sequence[Block], blocks: Sequence[Block]) -> list[Piece]:
    """The pieces of which `blocks` consist. Takes time by the length of both lists, space by what differs."""
    head = _common(base, blocks)
    tail = _common(base[head:][::-1], blocks[head:][::-1])
    pieces: list[Piece] = [(0, head)] if head else []
    places: dict[Block, int] = {}
    for place in range(head, len(base) - tail):
        places.setdefault(base[place], place)
    for block in blocks[head : len(blocks) - tail]:
        place = places.get(block)
        # A block that stands where it stood goes on with the stretch before it.
        last = pieces[-1] if pieces else None
        if isinstance(last, tuple) and last[1] < len(base) and base[last[1]] == block:
            pieces[-1] = (last[0], last[1] + 1)
        else:
            pieces.append(block if place is None else (place, place + 1))
    if tail:
        pieces.append((len(base) - tail, len(base)))
    return pieces


def restored(base: Sequence[Block], pieces: Sequence[Piece]) -> tuple[Block, ...]:
    """The blocks that `difference` was given. Raises `ValueError` where the pieces reach beyond the base."""
    blocks: list[Block] = []
    for piece in pieces:
        if isinstance(piece, Block):
            blocks.append(piece)
            continue
        first, end = piece
        if not 0 <= first <= end <= len(base):
            raise ValueError(f"a stretch {first}-{end} of {len(base)} blocks")
        blocks += base[first:end]
    return tuple(blocks)


def encoded(pieces: Sequence[Piece]) -> bytes:
    """The pieces as JSON."""
    return _encoder.encode(pieces)


def decoded(data: bytes) -> list[Piece]:
    """Pieces of `encoded`. Raises `msgspec.DecodeError`."""
    return _decoder.decode(data)


def _common(one: Sequence[Block], other: Sequence[Block]) -> int:
    """How many blocks both begin with."""
    if len(one) <= len(other) and other[: len(one)] == one:
        return len(one)  # what only grew is compared in one go
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count
