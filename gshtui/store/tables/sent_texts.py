"""Texts that blocks sent, stored once each under their hash, for as long as a conversation uses them.

Functions on a connection work inside the caller's transaction.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping

import msgspec

from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.store_errors import StoreError, missing
from gshtui.store.tables import output_table

UNUSED_KEPT = 86_400.0
"""Seconds after which a text that no conversation has ever used is deleted."""


class KeptText(msgspec.Struct, frozen=True):
    """A text ready to be stored."""

    hash: str
    bytes: int
    packed: bool
    data: bytes


def hash_of(text: str) -> str:
    """The key of a text: 32 hexadecimal digits of its hash."""
    return output_table.key_of(clean_text(text).encode())


def prepared(texts: Mapping[str, str]) -> list[KeptText]:
    """Pack texts; thread-safe."""
    kept: list[KeptText] = []
    for name, text in texts.items():
        raw = clean_text(text).encode()
        data, packed = output_table.packed(raw)
        kept.append(KeptText(clean_text(name), len(raw), packed, data))
    return kept


def put(connection: sqlite3.Connection, session: str, kept: Iterable[KeptText]) -> None:
    now = time.time()
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    kept = list(kept)
    connection.executemany(
        "INSERT INTO texts (hash, bytes, packed, data, at) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (hash) DO UPDATE SET at = max(at, excluded.at)",
        ((text.hash, text.bytes, int(text.packed), text.data, now) for text in kept),
    )
    use(connection, session, [text.hash for text in kept])


def use(connection: sqlite3.Connection, session: str, hashes: Iterable[str]) -> None:
    """Record that a conversation uses these texts."""
    connection.executemany(
        "INSERT INTO text_uses (session, hash) VALUES (?, ?) ON CONFLICT DO NOTHING",
        ((session, name) for name in hashes if name),
    )


def get(connection: sqlite3.Connection, name: str) -> tuple[bytes, bool, int]:
    """The stored bytes, whether they are packed, and the text's own size. Raises `StoreError` (`unknown`)."""
    row = connection.execute("SELECT data, packed, bytes FROM texts WHERE hash = ?", (clean_text(name),)).fetchone()
    if row is None:
        raise StoreError("unknown", f"There is no text {name!r} in the record.", hint="Its conversation was removed.")
    return bytes(row[0]), bool(row[1]), int(row[2])


def text_of(name: str, data: bytes, packed: bool, size: int) -> str:
    """The text. Raises `StoreError` (`corrupt`) if it is not what was stored."""
    try:
        raw = output_table.unpacked(data, packed)
        if len(raw) == size:
            return raw.decode()
    except (output_table.PackError, UnicodeDecodeError):
        pass
    raise StoreError(
        "corrupt", f"The text {name!r} in the record is damaged.", hint="Run `gsh-tui doctor` for details."
    )


def of_session(connection: sqlite3.Connection, session: str) -> list[str]:
    """Hashes of the texts that a conversation uses and that are kept."""
    found = connection.execute(
        "SELECT hash FROM text_uses JOIN texts USING (hash) WHERE session = ? ORDER BY text_uses.rowid", (session,)
    )
    return [str(name) for (name,) in found]


def drop_of(connection: sqlite3.Connection, session: str) -> None:
    """Delete what only this conversation uses; call before deleting its own row."""
    connection.execute(
        "DELETE FROM texts WHERE hash IN (SELECT hash FROM text_uses AS mine WHERE session = ?1 AND NOT EXISTS"
        " (SELECT 1 FROM text_uses AS other WHERE other.hash = mine.hash AND other.session <> ?1))",
        (session,),
    )


def drop_unused(connection: sqlite3.Connection) -> None:
    """Delete unused texts, except those that may be about to be used."""
    connection.execute(
        "DELETE FROM texts WHERE at < ? AND NOT EXISTS (SELECT 1 FROM text_uses WHERE text_uses.hash = texts.hash)",
        (time.time() - UNUSED_KEPT,),
    )
