"""The tables `iterations` and `overlays`: what each model request sent, stored as differences, and what was cut.

The base of an agent's n-th iteration is n without its lowest binary digit (12 builds on 8, 13 on 12), so chains are
short.
"""

from __future__ import annotations

import asyncio
import math
import sqlite3
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import compress, count
from operator import is_, is_not
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.messages import Usage
from gshtui.store.engine import encoding
from gshtui.store.engine.encoding import clean_text, decoder
from gshtui.store.engine.store_errors import StoreError, missing
from gshtui.store.engine.table import ReadThread, Table, WriteQueue
from gshtui.store.tables import output_table, sent_texts

if TYPE_CHECKING:
    from gshtui.store.tables.output_table import OutputTable

Piece = tuple[int, int] | Block
"""Blocks of the base from the first position up to, not including, the second; or one block missing from the base."""

_piece_encoder = msgspec.json.Encoder()


def difference(base: Sequence[Block], blocks: Sequence[Block]) -> list[Piece]:
    """The pieces that make up `blocks`. Time grows with both lists, space with their difference."""
    head = _common(base, blocks)
    tail = _common(base[head:][::-1], blocks[head:][::-1])
    pieces: list[Piece] = [(0, head)] if head else []
    places: dict[Block, int] = {}
    for place in range(head, len(base) - tail):
        places.setdefault(base[place], place)
    for block in blocks[head : len(blocks) - tail]:
        place = places.get(block)
        # A block that is still in place extends the current span.
        last = pieces[-1] if pieces else None
        if isinstance(last, tuple) and last[1] < len(base) and base[last[1]] == block:
            pieces[-1] = (last[0], last[1] + 1)
        else:
            pieces.append(block if place is None else (place, place + 1))
    if tail:
        pieces.append((len(base) - tail, len(base)))
    return pieces


def restored_blocks(base: Sequence[Block], pieces: Sequence[Piece]) -> tuple[Block, ...]:
    """The blocks passed to `difference`. Raises `ValueError` if the pieces reach beyond the base."""
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


def encoded_pieces(pieces: Sequence[Piece]) -> bytes:
    return _piece_encoder.encode(pieces)


def decoded_pieces(data: bytes) -> list[Piece]:
    """Pieces of `encoded_pieces`. Raises `msgspec.DecodeError`."""
    return decoder(list[Piece]).decode(data)


def _common(one: Sequence[Block], other: Sequence[Block]) -> int:
    """How many leading blocks both share."""
    if len(one) <= len(other) and other[: len(one)] == one:
        return len(one)  # compare in one go what only grew
    count = 0
    for left, right in zip(one, other, strict=False):
        if left is not right and left != right:
            break
        count += 1
    return count


def add_overlay(connection: sqlite3.Connection, session: str, overlay_id: str, kind: str, at: float, data: str) -> int:
    """Append an overlay, unless its id is already there. Return its position, counted over all."""
    overlay_id = clean_text(overlay_id)
    known = connection.execute("SELECT seq FROM overlays WHERE id = ?", (overlay_id,)).fetchone()
    if known:
        return int(known[0])
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    added = connection.execute(
        "INSERT INTO overlays (id, session, kind, at, data) VALUES (?, ?, ?, ?, ?) RETURNING seq",
        (overlay_id, session, clean_text(kind), at if at == at else 0.0, clean_text(data)),
    ).fetchall()
    return int(added[0][0])


def home_of(connection: sqlite3.Connection, id: str) -> str:
    """The conversation that contains an overlay or a message with this id; empty: none."""
    for table, name in (("overlays", "id"), ("messages", "message")):
        found = connection.execute(f"SELECT session FROM {table} WHERE {name} = ? LIMIT 1", (id,)).fetchone()
        if found:
            return str(found[0])
    return ""


def list_overlays(connection: sqlite3.Connection, session: str, after: int = 0) -> list[tuple[int, str]]:
    """(position, data) of each overlay whose position is above `after`, in order."""
    found = connection.execute(
        "SELECT seq, data FROM overlays WHERE session = ? AND seq > ? ORDER BY seq", (session, after)
    )
    return [(int(seq), str(data)) for seq, data in found]


Chain = dict[int, tuple[str, tuple[Block, ...]]]
"""Number → id and blocks of an agent's newest iteration and of those it builds on."""


def base_of(number: int) -> int:
    """The number of the iteration that this one builds on; 0: none."""
    lower = number & (number - 1)
    return lower if lower or number == 1 else number // 2


def stored_blocks(blocks: Sequence[Block], known: tuple[Block, ...] = ()) -> tuple[Block, ...]:
    """The blocks as stored: without their cache state, which changes by itself and is computed when read. `known`:
    blocks as stored before; leading blocks that are identical are not examined again.
    """
    grown = len(known) <= len(blocks) and tuple(blocks[: len(known)]) == known  # in one go: the usual case
    same = len(known) if grown else next(compress(count(), map(is_not, blocks, known)), min(len(blocks), len(known)))
    rest = blocks[same:]
    kept = [_stored(block) for block in rest]
    if isinstance(blocks, tuple) and grown and all(map(is_, kept, rest)):
        return blocks  # nothing to remove: keep this object instead of another long one
    return (*known[:same], *kept)


def _stored(block: Block) -> Block:
    if not block.cache and math.isfinite(block.at):
        return block
    return msgspec.structs.replace(block, cache="", at=block.at if math.isfinite(block.at) else 0.0)


def add_iteration(
    connection: sqlite3.Connection, iteration: Iteration, blocks: tuple[Block, ...], chain: Chain, *, uses: bool = True
) -> tuple[int, Chain]:
    """Keep an iteration, unless its id is already there.

    Args:
        chain: what this process remembers of the agent's iterations in this conversation; may be empty.
        uses: whether to note that the conversation uses the texts of its new blocks.

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
    pieces = difference(base, blocks)
    raw, packed = output_table.packed(_encoded(pieces))
    connection.execute(
        "INSERT INTO iterations (id, session, agent, number, base, packed, blocks, data)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (iteration.id, iteration.session, iteration.agent, number, seq, int(packed), raw, _json(iteration)),
    )
    if uses:
        new = {piece.hash for piece in pieces if isinstance(piece, Block)}
        sent_texts.use(connection, iteration.session, sorted(new))
    ancestors = _ancestors(number)
    return number, {**{n: kept for n, kept in chain.items() if n in ancestors}, number: (iteration.id, blocks)}


def _base(
    connection: sqlite3.Connection, iteration: Iteration, number: int, chain: Chain
) -> tuple[int | None, tuple[Block, ...]]:
    """Row and blocks to build on. The remembered chain counts only if the record still agrees."""
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
        return None, ()  # damaged: store the new one in full


def chain_of(session: str, agent: str, connection: sqlite3.Connection) -> Chain:
    """What the next iteration builds on; empty: nothing, or it is damaged."""
    (newest,) = connection.execute(
        "SELECT coalesce(max(number), 0) FROM iterations WHERE session = ? AND agent = ?", (session, agent)
    ).fetchone()
    base = base_of(int(newest) + 1)
    found = connection.execute(
        "SELECT id FROM iterations WHERE session = ? AND agent = ? AND number = ?", (session, agent, base)
    ).fetchone()
    try:
        return {} if found is None else {base: (str(found[0]), blocks_of(connection, str(found[0])))}
    except StoreError:
        return {}


def _ancestors(number: int) -> set[int]:
    found: set[int] = set()
    while number:
        found.add(number)
        number = base_of(number)
    return found


def blocks_of(connection: sqlite3.Connection, iteration_id: str) -> tuple[Block, ...]:
    """The blocks that an iteration sent, in order. Raises `StoreError` (`unknown`, `corrupt`)."""
    row = connection.execute("SELECT base, packed, blocks FROM iterations WHERE id = ?", (iteration_id,)).fetchone()
    if row is None:
        raise unknown(iteration_id)
    steps = [row]
    while steps[-1][0] is not None:
        row = connection.execute(
            "SELECT base, packed, blocks FROM iterations WHERE seq = ?", (steps[-1][0],)
        ).fetchone()
        if row is None or len(steps) > 128:
            raise _damaged(iteration_id)
        steps.append(row)
    blocks: tuple[Block, ...] = ()
    try:
        for _, packed, raw in reversed(steps):
            pieces = decoded_pieces(output_table.unpacked(bytes(raw), bool(packed)))
            blocks = restored_blocks(blocks, pieces)
    except (msgspec.DecodeError, ValueError, output_table.PackError) as error:
        raise _damaged(iteration_id) from error
    return blocks


def update_iteration(connection: sqlite3.Connection, id: str, changes: dict[str, Any]) -> Iteration:
    """Set fields of an iteration's mark; return the whole mark. Raises `StoreError` (`unknown`)."""
    iteration = msgspec.structs.replace(get_iteration(connection, id), **changes)
    connection.execute("UPDATE iterations SET data = ? WHERE id = ?", (_json(iteration), id))
    return iteration


def get_iteration(connection: sqlite3.Connection, id: str) -> Iteration:
    """An iteration's mark. Raises `StoreError` (`unknown`, `corrupt`)."""
    row = connection.execute("SELECT data FROM iterations WHERE id = ?", (id,)).fetchone()
    if row is None:
        raise unknown(id)
    try:
        return decoder(Iteration).decode(row[0])
    except msgspec.DecodeError as error:
        raise _damaged(id) from error


def list_iterations(
    connection: sqlite3.Connection, session: str = "", *, agent: str = "", limit: int = 500
) -> list[Iteration]:
    """The newest marks of a conversation, of an agent, or of both, oldest first. Unreadable ones are skipped."""
    given = [(name, value) for name, value in (("session", session), ("agent", agent)) if value]
    where = " AND ".join(f"{name} = ?" for name, _ in given) or "1"
    found = connection.execute(
        f"SELECT data FROM iterations WHERE {where} ORDER BY seq DESC LIMIT ?", (*(value for _, value in given), limit)
    ).fetchall()
    marks: list[Iteration] = []
    for (data,) in reversed(found):
        try:
            marks.append(decoder(Iteration).decode(data))
        except msgspec.DecodeError:
            continue
    return marks


class IterationRow(msgspec.Struct, frozen=True):
    """An iteration as stored. `pieces`: blocks, and spans of the base's blocks as pairs of positions."""

    seq: int
    iteration: Iteration
    base: str
    """Id of the iteration it builds on; empty: none."""
    pieces: list[Piece]


def iteration_rows(connection: sqlite3.Connection, session: str, after: int, limit: int) -> list[IterationRow]:
    """The oldest `limit` iterations of a conversation after a position, as stored. Damaged ones are skipped."""
    found = connection.execute(
        "SELECT i.seq, i.data, b.id, i.packed, i.blocks FROM iterations AS i"
        " LEFT JOIN iterations AS b ON b.seq = i.base WHERE i.session = ? AND i.seq > ? ORDER BY i.seq LIMIT ?",
        (session, after, limit),
    ).fetchall()
    read: list[IterationRow] = []
    for seq, data, base, packed, blocks in found:
        try:
            pieces = decoded_pieces(output_table.unpacked(bytes(blocks), bool(packed)))
            read.append(IterationRow(int(seq), decoder(Iteration).decode(data), str(base or ""), pieces))
        except (msgspec.DecodeError, output_table.PackError):
            continue
    if found and not read:
        return iteration_rows(
            connection, session, int(found[-1][0]), limit
        )  # a page that is all damaged is not the end
    return read


def check_iteration(data: str, packed: int, blocks: bytes) -> None:
    """Raise `ValueError`, `msgspec.DecodeError` or `PackError` if the row is not one of ours."""
    decoder(Iteration).decode(data)
    decoded_pieces(output_table.unpacked(bytes(blocks), bool(packed)))


def hashes_in(packed: int, blocks: bytes) -> list[str]:
    """Hashes of the texts that a row names. Raises like `check_iteration`."""
    pieces = decoded_pieces(output_table.unpacked(bytes(blocks), bool(packed)))
    return [piece.hash for piece in pieces if isinstance(piece, Block)]


def unknown(id: str) -> StoreError:
    """The error for an iteration that is not in the record."""
    return StoreError("unknown", f"There is no iteration {id!r} in the record.", hint="Its conversation was removed.")


def _damaged(id: str) -> StoreError:
    return StoreError(
        "corrupt",
        f"The iteration {id!r} in the record is damaged.",
        hint="Others are intact. Run `gsh-tui doctor` for details.",
    )


def _json(iteration: Iteration) -> str:
    """The mark as JSON, without times and prices that are not numbers."""
    at = iteration.at if math.isfinite(iteration.at) else 0.0
    cost = iteration.cost if iteration.cost is not None and math.isfinite(iteration.cost) else None
    mark = msgspec.structs.replace(iteration, at=at, cost=cost)
    try:
        return msgspec.json.encode(mark).decode()
    except UnicodeEncodeError:
        return encoding.encode_plain(msgspec.to_builtins(mark)).decode()


def _encoded(pieces: list[Piece]) -> bytes:
    try:
        return encoded_pieces(pieces)
    except UnicodeEncodeError:
        return encoding.encode_plain(msgspec.to_builtins(pieces))


def usage_changes(usage: Usage | None, cost: float | None, error: str, broken_by: str, sent: str) -> dict[str, Any]:
    """The given fields, as `update_iteration` expects them."""
    given = {"usage": usage, "cost": cost, "error": error, "broken_by": broken_by, "sent": sent}
    return {name: value for name, value in given.items() if value not in (None, "")}


_IN_THREAD = 64 * 1024
"""Texts longer than this, in characters, are packed in another thread."""
_REMEMBERED = 64
"""Agents whose last iterations a process remembers, so that adding one reads nothing."""


class ContextTables(Table):
    """`store.contexts`: what was sent to models, and what was cut."""

    def __init__(self, thread: ReadThread, writer: WriteQueue, outputs: OutputTable) -> None:
        super().__init__(thread, writer)
        self._outputs = outputs
        self._chains: dict[tuple[str, str], Chain] = {}

    add_overlay = Table.writes(add_overlay)
    overlays = Table.reads(list_overlays)
    home = Table.reads(home_of)

    async def text(self, hash: str) -> str:
        """The text of a block. Raises `StoreError` (`unknown`, or `corrupt` if it is damaged)."""
        data, packed, size = await self._read(lambda connection: sent_texts.get(connection, hash))
        return await asyncio.to_thread(sent_texts.text_of, hash, data, packed, size)

    async def output(self, key: str) -> str:
        """A whole output, for sending it again. Raises `StoreError` (`unknown`, `corrupt`)."""
        return await self._outputs.get(key)

    texts_of = Table.reads(sent_texts.of_session)

    async def keep_texts(self, session: str, texts: Mapping[str, str]) -> None:
        """Keep texts that a request of the conversation is about to send, by their hashes."""
        kept = await _packed(texts)
        await self._write(lambda connection: sent_texts.put(connection, session, kept))

    async def recall(self, session: str, agent: str) -> None:
        """Remember what the agent's next iteration builds on, so that adding it reads nothing."""
        if (session, agent) not in self._chains and (chain := await self._read(partial(chain_of, session, agent))):
            self._chains[session, agent] = chain

    async def add_iteration(
        self, iteration: Iteration, blocks: Sequence[Block], new_texts: Mapping[str, str] | None = None
    ) -> int:
        """Keep a model request with its blocks and the texts of new blocks, all or nothing.

        Only differences from the agent's earlier requests take space. Blocks' `cache` is not kept: see
        `context.prompt_cache`. `new_texts`: those that the conversation has not kept yet; `None`: it may use texts that
        others have kept.

        Returns:
            Its number among the agent's in this conversation, from 1.
        """
        key = (iteration.session, iteration.agent)
        chain = self._chains.get(key, {})
        kept = await _packed(new_texts or {})
        stored = stored_blocks(blocks, chain[max(chain)][1] if chain else ())

        def work(connection: sqlite3.Connection) -> tuple[int, Chain]:
            sent_texts.put(connection, iteration.session, kept)
            return add_iteration(connection, iteration, stored, chain, uses=new_texts is None)

        number, chain = await self._write(work)
        self._chains.pop(key, None)
        self._chains[key] = chain
        while len(self._chains) > _REMEMBERED:
            del self._chains[next(iter(self._chains))]
        return number

    async def update_iteration(
        self,
        id: str,
        usage: Usage | None = None,
        cost: float | None = None,
        error: str = "",
        *,
        broken_by: str = "",
        sent: str = "",
    ) -> Iteration:
        """Add what is known since the answer; omitted fields stay. Raises `StoreError` (`unknown`)."""
        changes = usage_changes(usage, cost, error, broken_by, sent)
        return await self._write(lambda connection: update_iteration(connection, id, changes))

    iteration = Table.reads(get_iteration)
    iterations = Table.reads(list_iterations)
    iteration_rows = Table.reads(iteration_rows)
    blocks = Table.reads(blocks_of)


async def _packed(of: Mapping[str, str]) -> list[sent_texts.KeptText]:
    if sum(map(len, of.values())) < _IN_THREAD:
        return sent_texts.prepared(of)
    return await asyncio.to_thread(sent_texts.prepared, dict(of))
