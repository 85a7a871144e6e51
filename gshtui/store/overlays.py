"""Overlays of a conversation: cuts, pins, restorations and the like, in the order in which they were made.

Owns the table `overlays`; refuses to change one that is there, and knows nothing of what they mean. Every function
works inside the caller's transaction. Called by `Assemblies`.
"""

from __future__ import annotations

import sqlite3

from gshtui.store.errors import missing
from gshtui.store.plain import clean_text


def add(connection: sqlite3.Connection, session: str, overlay: str, kind: str, at: float, data: str) -> int:
    """Keep an overlay behind the others; one whose id is there already is not kept again. Returns its place."""
    overlay = clean_text(overlay)
    known = connection.execute("SELECT seq FROM overlays WHERE id = ?", (overlay,)).fetchone()
    if known:
        return int(known[0])
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    added = connection.execute(
        "INSERT INTO overlays (id, session, kind, at, data) VALUES (?, ?, ?, ?, ?) RETURNING seq",
        (overlay, session, clean_text(kind), at if at == at else 0.0, clean_text(data)),
    ).fetchall()
    return int(added[0][0])


def home(connection: sqlite3.Connection, id: str) -> str:
    """The conversation in which an overlay, or a message, of this id is; empty: there is none."""
    for table, name in (("overlays", "id"), ("messages", "message")):
        found = connection.execute(f"SELECT session FROM {table} WHERE {name} = ? LIMIT 1", (id,)).fetchone()
        if found:
            return str(found[0])
    return ""


def of_session(connection: sqlite3.Connection, session: str, after: int) -> list[tuple[int, str]]:
    """(place, data) of each overlay whose place is above `after`, in order."""
    found = connection.execute(
        "SELECT seq, data FROM overlays WHERE session = ? AND seq > ? ORDER BY seq", (session, after)
    )
    return [(int(seq), str(data)) for seq, data in found]
