"""The append-only log of a conversation, and the answer that is still being given.

Owns the tables `messages` and `partials`; refuses to change what is in the log. Order is the log's own number, never
the clock. Every function works inside the caller's transaction. Called by `Store`.
"""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import msgspec

from gshtui.bus.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.store import plain, sessions
from gshtui.store.errors import missing


class StoredMessage(msgspec.Struct, frozen=True):
    """A message and its place in its conversation's log, counted from 1."""

    seq: int
    message: Message


def append(connection: sqlite3.Connection, session: str, message: Message) -> int:
    """Add the message at the end; one that is there already stays where it is.

    Returns:
        Its place in the log.

    Raises:
        StoreError: there is no such conversation (`unknown`).
    """
    known = connection.execute(
        "SELECT seq FROM messages WHERE session = ? AND message = ?", (session, plain.clean_text(message.id))
    ).fetchone()
    if known:
        return int(known[0])
    data = plain.encode_message(message)
    message = plain.decode_message(data)
    title = sessions.title_of(message.text) if message.role == "user" else ""
    seq = sessions.next_seq(connection, session, title)
    connection.execute(
        "INSERT INTO messages (session, seq, message, role, at, data, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session, seq, message.id, message.role, message.at, data.decode(), body_of(message)),
    )
    connection.execute("DELETE FROM partials WHERE session = ? AND message = ?", (session, message.id))
    return seq


def page(
    connection: sqlite3.Connection, session: str, before: int | None, limit: int | None
) -> tuple[list[StoredMessage], int]:
    """The newest `limit` messages older than `before`, oldest first, and how many of them could not be read."""
    found = connection.execute(
        "SELECT seq, data FROM messages WHERE session = ? AND seq < ? ORDER BY seq DESC LIMIT ?",
        (session, 2**62 if before is None else before, -1 if limit is None else limit),
    ).fetchall()
    found.reverse()
    return _decoded(found)


def page_after(connection: sqlite3.Connection, session: str, after: int, limit: int) -> list[StoredMessage]:
    """The oldest `limit` messages newer than `after`."""
    found = connection.execute(
        "SELECT seq, data FROM messages WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?", (session, after, limit)
    ).fetchall()
    return _decoded(found)[0]


def save_partial(connection: sqlite3.Connection, session: str, message: Message) -> None:
    """Keep an answer as far as it has come, in place of what was kept of it before."""
    data = plain.encode_message(message).decode()
    name = plain.clean_text(message.id)
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    if connection.execute("SELECT 1 FROM messages WHERE session = ? AND message = ?", (session, name)).fetchone():
        return
    connection.execute(
        "INSERT INTO partials (session, message, data) VALUES (?, ?, ?)"
        " ON CONFLICT (session, message) DO UPDATE SET data = excluded.data",
        (session, name, data),
    )


def partials(connection: sqlite3.Connection, session: str) -> list[Message]:
    """Answers that were cut off, in the order in which they began."""
    found = connection.execute("SELECT rowid, data FROM partials WHERE session = ? ORDER BY rowid", (session,))
    return [stored.message for stored in _decoded(found.fetchall())[0]]


def body_of(message: Message) -> str:
    """The message's words for the search: what was said, thought, called and answered; no pictures."""
    parts: list[str] = []
    for block in message.blocks:
        match block:
            case Text(text=text) | Thinking(text=text):
                parts.append(text)
            case ToolCall(name=name, arguments=arguments, broken=broken):
                parts.append(f"{name} {_words(arguments)}{broken}")
            case ToolResult(content=content):
                parts.append(content)
            case Image(name=name) | Document(name=name):
                parts.append(name)
    return "\n".join(part for part in parts if part).replace("\0", " ")


def _words(arguments: dict[str, Any]) -> str:
    values = [
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in arguments.values()
    ]
    return " ".join(values)


def _decoded(found: list[tuple[Any, ...]]) -> tuple[list[StoredMessage], int]:
    stored: list[StoredMessage] = []
    for seq, data in found:
        try:
            stored.append(StoredMessage(int(seq), plain.decode_message(data)))
        except msgspec.DecodeError:
            continue
    return stored, len(found) - len(stored)
