"""What each model request sent: its mark of the timeline, and its blocks as what differs from an earlier one.

Owns the table `iterations` and the choice of the base; refuses chains of bases longer than the binary digits of their
number. Every function works inside the caller's transaction. Called by `Assemblies`.

The base of an agent's n-th iteration is the one whose number is n without its lowest binary digit: 12 builds on 8, 13
on 12, 14 on 12, 15 on 14; a power of two builds on the power before it. So reading one means reading a few, and a
block is written a few times at most.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from itertools import compress, count
from operator import is_, is_not
from typing import Any

import msgspec

from gshtui.bus.context import Block, Iteration
from gshtui.bus.messages import Usage
from gshtui.store import differences, outputs, plain, texts
from gshtui.store.errors import StoreError, missing

Chain = dict[int, tuple[str, tuple[Block, ...]]]
"""Number → id and blocks of an agent's newest iteration and of those on which it builds."""
_decoder = msgspec.json.Decoder(Iteration)


def base_of(number: int) -> int:
    """The number of the iteration on which this one builds; 0: on none."""
    lower = number & (number - 1)
    return lower if lower or number == 1 else number // 2


def stored_blocks(blocks: Sequence[Block], known: tuple[Block, ...] = ()) -> tuple[Block, ...]:
    """The blocks as they are kept: without their cache state, which changes by itself and is reckoned when read.

    Args:
        known: blocks as they were kept before; those at the beginning that are the very same are not looked at again.
    """
    grown = len(known) <= len(blocks) and tuple(blocks[: len(known)]) == known  # in one go: the usual case
    same = len(known) if grown else next(compress(count(), map(is_not, blocks, known)), min(len(blocks), len(known)))
    rest = blocks[same:]
    kept = [_stored(block) for block in rest]
    if isinstance(blocks, tuple) and grown and all(map(is_, kept, rest)):
        return blocks  # nothing to take away: the very same, not another long one
    return (*known[:same], *kept)


def _stored(block: Block) -> Block:
    if not block.cache and math.isfinite(block.at):
        return block
    return msgspec.structs.replace(block, cache="", at=block.at if math.isfinite(block.at) else 0.0)


def add(
    connection: sqlite3.Connection, iteration: Iteration, blocks: tuple[Block, ...], chain: Chain
) -> tuple[int, Chain]:
    """Keep an iteration; one whose id is there already is not kept again.

    Args:
        chain: what this process remembers of the agent's iterations in this conversation; may be empty.

    Returns:
        Its number, and the chain to remember once this is committed.
    """
    known = connection.execute("SELECT number FROM iterations WHERE id = ?", (iteration.id,)).fetchone()
    if known:
        return int(known[0]), chain
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (iteration.session,)).fetchone():
        raise missing(iteration.session)
    number = 1 + int(
        connection.execute(
            "SELECT coalesce(max(number), 0) FROM iterations WHERE session = ? AND agent = ?",
            (iteration.session, iteration.agent),
        ).fetchone()[0]
    )
    seq, base = _base(connection, iteration, base_of(number), chain)
    pieces = differences.difference(base, blocks)
    raw, packed = outputs.packed(_encoded(pieces))
    connection.execute(
        "INSERT INTO iterations (id, session, agent, number, base, packed, blocks, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (iteration.id, iteration.session, iteration.agent, number, seq, int(packed), raw, _json(iteration)),
    )
    new = {piece.hash for piece in pieces if isinstance(piece, Block)}
    texts.use(connection, iteration.session, sorted(new))
    ancestors = _ancestors(number)
    return number, {**{n: kept for n, kept in chain.items() if n in ancestors}, number: (iteration.id, blocks)}


def _base(
    connection: sqlite3.Connection, iteration: Iteration, number: int, chain: Chain
) -> tuple[int | None, tuple[Block, ...]]:
    """Row and blocks to build on. What is remembered counts only if the record still says the same."""
    found = connection.execute(
        "SELECT seq, id FROM iterations WHERE session = ? AND agent = ? AND number = ?",
        (iteration.session, iteration.agent, number),
    ).fetchone()
    if found is None:
        return None, ()
    seq, name = int(found[0]), str(found[1])
    remembered = chain.get(number)
    if remembered is not None and remembered[0] == name:
        return seq, remembered[1]
    try:
        return seq, blocks_of(connection, name)
    except StoreError:
        return None, ()  # damaged: the new one is complete in itself


def _ancestors(number: int) -> set[int]:
    found: set[int] = set()
    while number:
        found.add(number)
        number = base_of(number)
    return found


def blocks_of(connection: sqlite3.Connection, id: str) -> tuple[Block, ...]:
    """The blocks that an iteration sent, in order. Raises `StoreError` (`unknown`, `corrupt`)."""
    row = connection.execute("SELECT base, packed, blocks FROM iterations WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise unknown(id)
    steps = [row]
    while steps[-1][0] is not None:
        row = connection.execute(
            "SELECT base, packed, blocks FROM iterations WHERE seq = ?", (steps[-1][0],)
        ).fetchone()
        if row is None or len(steps) > 128:
            raise _damaged(id)
        steps.append(row)
    blocks: tuple[Block, ...] = ()
    try:
        for _, packed, raw in reversed(steps):
            pieces = differences.decoded(outputs.unpacked(bytes(raw), bool(packed)))
            blocks = differences.restored(blocks, pieces)
    except (msgspec.DecodeError, ValueError, outputs.PackError) as error:
        raise _damaged(id) from error
    return blocks


def update(connection: sqlite3.Connection, id: str, changes: dict[str, Any]) -> Iteration:
    """Set fields of an iteration's mark; returns all of it. Raises `StoreError` (`unknown`)."""
    iteration = msgspec.structs.replace(get(connection, id), **changes)
    connection.execute("UPDATE iterations SET data = ? WHERE id = ?", (_json(iteration), id))
    return iteration


def get(connection: sqlite3.Connection, id: str) -> Iteration:
    """An iteration's mark. Raises `StoreError` (`unknown`, `corrupt`)."""
    row = connection.execute("SELECT data FROM iterations WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise unknown(id)
    try:
        return _decoder.decode(row[0])
    except msgspec.DecodeError as error:
        raise _damaged(id) from error


def listed(connection: sqlite3.Connection, session: str, agent: str, limit: int) -> list[Iteration]:
    """The newest marks of a conversation, of an agent, or of both; oldest first. Unreadable ones are left out."""
    given = [(name, value) for name, value in (("session", session), ("agent", agent)) if value]
    where = " AND ".join(f"{name} = ?" for name, _ in given) or "1"
    found = connection.execute(
        f"SELECT data FROM iterations WHERE {where} ORDER BY seq DESC LIMIT ?", (*(value for _, value in given), limit)
    ).fetchall()
    marks: list[Iteration] = []
    for (data,) in reversed(found):
        try:
            marks.append(_decoder.decode(data))
        except msgspec.DecodeError:
            continue
    return marks


class Row(msgspec.Struct, frozen=True):
    """An iteration as it is kept. `pieces`: blocks, and stretches of the base's blocks as pairs of places."""

    seq: int
    iteration: Iteration
    base: str
    """Id of the iteration on which it builds; empty: none."""
    pieces: list[differences.Piece]


def rows(connection: sqlite3.Connection, session: str, after: int, limit: int) -> list[Row]:
    """The oldest `limit` iterations of a conversation behind a place, as they are kept. Damaged ones are left out."""
    found = connection.execute(
        "SELECT i.seq, i.data, b.id, i.packed, i.blocks FROM iterations AS i"
        " LEFT JOIN iterations AS b ON b.seq = i.base WHERE i.session = ? AND i.seq > ? ORDER BY i.seq LIMIT ?",
        (session, after, limit),
    ).fetchall()
    read: list[Row] = []
    for seq, data, base, packed, blocks in found:
        try:
            pieces = differences.decoded(outputs.unpacked(bytes(blocks), bool(packed)))
            read.append(Row(int(seq), _decoder.decode(data), str(base or ""), pieces))
        except (msgspec.DecodeError, outputs.PackError):
            continue
    if found and not read:
        return rows(connection, session, int(found[-1][0]), limit)  # a page of nothing but damage is no end
    return read


def sound(data: str, packed: int, blocks: bytes) -> None:
    """Raises `ValueError`, `msgspec.DecodeError` or `PackError` where a row is not one of ours."""
    _decoder.decode(data)
    differences.decoded(outputs.unpacked(bytes(blocks), bool(packed)))


def hashes_in(packed: int, blocks: bytes) -> list[str]:
    """Hashes of the texts that a row names. Raises as `sound`."""
    pieces = differences.decoded(outputs.unpacked(bytes(blocks), bool(packed)))
    return [piece.hash for piece in pieces if isinstance(piece, Block)]


def unknown(id: str) -> StoreError:
    """The error for an iteration that is not in the record."""
    return StoreError("unknown", f"There is no iteration {id!r} in the record.", hint="Its conversation was removed.")


def _damaged(id: str) -> StoreError:
    return StoreError(
        "corrupt", f"The iteration {id!r} in the record is damaged.", hint="`gsh-tui doctor` says more; others are not."
    )


def _json(iteration: Iteration) -> str:
    """The mark as JSON; times and prices that are no numbers are left out."""
    at = iteration.at if math.isfinite(iteration.at) else 0.0
    cost = iteration.cost if iteration.cost is not None and math.isfinite(iteration.cost) else None
    mark = msgspec.structs.replace(iteration, at=at, cost=cost)
    try:
        return msgspec.json.encode(mark).decode()
    except UnicodeEncodeError:
        return plain.encode_plain(msgspec.to_builtins(mark)).decode()


def _encoded(pieces: list[differences.Piece]) -> bytes:
    try:
        return differences.encoded(pieces)
    except UnicodeEncodeError:
        return plain.encode_plain(msgspec.to_builtins(pieces))


def usage_changes(usage: Usage | None, cost: float | None, error: str, broken_by: str, sent: str) -> dict[str, Any]:
    """The fields that were given, as `update` takes them."""
    given = {"usage": usage, "cost": cost, "error": error, "broken_by": broken_by, "sent": sent}
    return {name: value for name, value in given.items() if value not in (None, "")}
