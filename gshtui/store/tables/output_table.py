"""Full outputs of tools, stored once each under the hash of their text, and deleted when nothing uses them."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import zlib
from collections.abc import Collection

import msgspec

from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.store_errors import StoreError, missing
from gshtui.store.engine.table import Table

PACK_FROM = 512
"""Bytes; anything smaller is stored unpacked."""
PackError = zlib.error
_IN_THREAD = 64 * 1024
"""Outputs longer than this, in characters, are packed in another thread."""


def key_of(raw: bytes) -> str:
    """The key of an output: 32 hexadecimal digits of its hash."""
    return hashlib.blake2b(raw, digest_size=16).hexdigest()


def packed(raw: bytes) -> tuple[bytes, bool]:
    """The bytes to store, and whether they are packed: only if that makes them smaller."""
    if len(raw) >= PACK_FROM:
        small = zlib.compress(raw, 3)
        if len(small) < len(raw):
            return small, True
    return raw, False


def unpacked(data: bytes, is_packed: bool) -> bytes:
    """Reverse `packed`. Raises `PackError` if the data is damaged."""
    return zlib.decompress(data) if is_packed else data


class Kept(msgspec.Struct, frozen=True):
    """An output ready to be stored."""

    key: str
    bytes: int
    data: bytes
    packed: bool


def prepared(text: str) -> Kept:
    """Hash and pack an output; takes seconds for hundreds of megabytes, and is thread-safe."""
    raw = clean_text(text).encode()
    data, is_packed = packed(raw)
    return Kept(key_of(raw), len(raw), data, is_packed)


def put(connection: sqlite3.Connection, session: str, call: str, kept: Kept) -> None:
    """Store an output for a call of a conversation; the same text is stored once."""
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    insert(connection, kept)
    connection.execute(
        "INSERT INTO output_uses (session, call, key) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (session, clean_text(call), kept.key),
    )


def insert(connection: sqlite3.Connection, kept: Kept) -> None:
    """Store an output whose user is written in the same transaction; the same text is stored once."""
    connection.execute(
        "INSERT INTO outputs (key, bytes, packed, data) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (kept.key, kept.bytes, int(kept.packed), kept.data),
    )


def get(connection: sqlite3.Connection, key: str) -> tuple[bytes, bool]:
    """The stored bytes and whether they are packed. Raises `StoreError` (`unknown`)."""
    row = connection.execute("SELECT data, packed FROM outputs WHERE key = ?", (key,)).fetchone()
    if row is None:
        raise StoreError("unknown", f"There is no output {key!r} in the record.", hint="Its conversation was removed.")
    return bytes(row[0]), bool(row[1])


def text_of(key: str, data: bytes, is_packed: bool) -> str:
    """The output's text. Raises `StoreError` (`corrupt`) if it is not what was stored."""
    try:
        raw = unpacked(data, is_packed)
    except PackError:
        raw = b""
    if key_of(raw) != key:
        raise StoreError(
            "corrupt", f"The output {key!r} in the record is damaged.", hint="Run `gsh-tui doctor` for details."
        )
    return raw.decode()


def of_session(connection: sqlite3.Connection, session: str) -> list[tuple[str, str]]:
    """(call, key) of each output that the conversation keeps, in order."""
    found = connection.execute("SELECT call, key FROM output_uses WHERE session = ? ORDER BY rowid", (session,))
    return [(str(call), str(key)) for call, key in found]


def folders(connection: sqlite3.Connection, key: str) -> list[str]:
    """The folders of the conversations and shell commands that the output of this key comes from."""
    found = connection.execute(
        "SELECT cwd FROM sessions WHERE id IN (SELECT session FROM output_uses WHERE key = ?1)"
        " UNION SELECT cwd FROM history WHERE output = ?1 AND output <> ''",
        (key,),
    )
    return [str(cwd) for (cwd,) in found]


def drop_unused(connection: sqlite3.Connection) -> None:
    """Delete outputs that neither a conversation nor the shell history uses."""
    connection.execute(
        "DELETE FROM outputs WHERE key NOT IN (SELECT key FROM output_uses)"
        " AND key NOT IN (SELECT output FROM history WHERE output <> '')"
    )


def drop_if_unused(connection: sqlite3.Connection, keys: Collection[str]) -> None:
    """Delete those of these that nothing uses."""
    for key in keys:
        connection.execute(
            "DELETE FROM outputs WHERE key = ?1 AND NOT EXISTS (SELECT 1 FROM output_uses WHERE key = ?1)"
            " AND NOT EXISTS (SELECT 1 FROM history WHERE output = ?1 AND output <> '')",
            (key,),
        )


class OutputTable(Table):
    """`store.outputs`: whole outputs, by their keys."""

    async def put(self, session: str, call: str, text: str) -> str:
        """Store a call's whole output. Return its key; the same text has the same key."""
        kept = prepared(text) if len(text) < _IN_THREAD else await asyncio.to_thread(prepared, text)
        await self._write(lambda connection: put(connection, session, call, kept))
        return kept.key

    async def get(self, key: str) -> str:
        """A whole output. Raises `StoreError` (`unknown`, or `corrupt` when it is damaged)."""
        data, is_packed = await self._read(lambda connection: get(connection, key))
        return await asyncio.to_thread(text_of, key, data, is_packed)

    folders = Table.reads(folders)
    find_all = Table.reads(of_session)
