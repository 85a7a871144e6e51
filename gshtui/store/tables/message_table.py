"""The tables `messages` and `partials`: a conversation's append-only log, unfinished answers, and the word search.

Runs its SQL inside the caller's transaction. Order is the log's own number, never the clock. A query is plain words:
nothing in it is syntax.
"""

from __future__ import annotations

import json
import sqlite3
from functools import partial
from typing import Any

import msgspec

from gshtui.bus.messages import Audio, Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from gshtui.media import media_files
from gshtui.store.engine import encoding as plain
from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.store_errors import missing
from gshtui.store.engine.table import Notice, ReadThread, Table, WriteQueue
from gshtui.store.tables import session_table
from gshtui.store.tables.queue_table import drop_prompt

_A_MOMENT = 20_000
"""Newest messages of all conversations among which a turn that has just ended is looked for."""
_LONGEST_TURN = 1_000


class StoredMessage(msgspec.Struct, frozen=True):
    """A message and its position in its conversation's log, counted from 1."""

    seq: int
    message: Message


def append_message(connection: sqlite3.Connection, session: str, message: Message) -> int:
    """Append the message, unless it is already there.

    Returns:
        Its position in the log.

    Raises `StoreError`: there is no such conversation (`unknown`).
    """
    if known := position_of(connection, session, message.id):
        return known
    data = plain.encode_message(message)
    message = plain.decode_message(data)
    title = session_table.title_of(message.text) if message.role == "user" else ""
    seq = session_table.next_seq(connection, session, title)
    connection.execute(
        "INSERT INTO messages (session, seq, message, role, at, data, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session, seq, message.id, message.role, message.at, data.decode(), body_of(message)),
    )
    connection.execute("DELETE FROM partials WHERE session = ? AND message = ?", (session, message.id))
    if message.role == "user":
        drop_prompt(connection, message.id)
    use_media(connection, session, message)
    return seq


def position_of(connection: sqlite3.Connection, session: str, message: str) -> int:
    """Where a message is in the conversation's log, by its id; 0: it is not in it."""
    name = plain.clean_text(message)
    for owner, upto in session_table.lineage(connection, session):
        known = connection.execute(
            "SELECT seq FROM messages WHERE session = ? AND message = ? AND seq <= ?", (owner, name, upto)
        ).fetchone()
        if known:
            return int(known[0])
    return 0


def use_media(connection: sqlite3.Connection, session: str, message: Message) -> None:
    """Note which files of pictures, documents and sounds the conversation uses."""
    for block in message.blocks:
        if isinstance(block, Image | Document | Audio):
            rows = [(session, key) for key in media_files.keys(block)]
            connection.executemany("INSERT OR IGNORE INTO media_uses (session, key) VALUES (?, ?)", rows)


def page_of(
    connection: sqlite3.Connection, session: str, before: int | None, limit: int | None
) -> tuple[list[StoredMessage], int]:
    """The newest `limit` messages older than `before`, oldest first, and how many of them are unreadable."""
    last = 2**62 if before is None else before - 1
    found: list[tuple[Any, ...]] = []
    for owner, upto in session_table.lineage(connection, session):
        room = -1 if limit is None else limit - len(found)
        found += connection.execute(
            "SELECT seq, data FROM messages WHERE session = ? AND seq <= ? ORDER BY seq DESC LIMIT ?",
            (owner, min(last, upto), room),
        )
    found.reverse()
    return _decoded(found)


def page_after(connection: sqlite3.Connection, session: str, after: int, limit: int) -> list[StoredMessage]:
    """The oldest `limit` messages with positions above `after`: what another window has added."""
    found: list[tuple[Any, ...]] = []
    for owner, upto in reversed(session_table.lineage(connection, session)):
        found += connection.execute(
            "SELECT seq, data FROM messages WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
            (owner, after, upto, limit - len(found)),
        )
    return _decoded(found)[0]


def turn_of(connection: sqlite3.Connection, prompt: str) -> list[Message]:
    """The messages of the turn that answered a prompt of a moment ago, by its id; none if it is not found."""
    found = connection.execute(
        "SELECT session, seq FROM messages WHERE message = ? AND id > (SELECT max(id) FROM messages) - ?"
        " ORDER BY id DESC LIMIT 1",
        (clean_text(prompt), _A_MOMENT),
    ).fetchone()
    if found is None:
        return []
    session, seq = str(found[0]), int(found[1])
    turn: list[Message] = []
    for stored in page_after(connection, session, seq, _LONGEST_TURN):
        if stored.message.role == "user":
            break
        turn.append(stored.message)
    return turn


def save_partial(connection: sqlite3.Connection, session: str, message: Message) -> None:
    """Keep the answer so far; `append` with the same id removes it."""
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
    """Answers that were cut off by a crash, in the order in which they began."""
    found = connection.execute("SELECT rowid, data FROM partials WHERE session = ? ORDER BY rowid", (session,))
    return [stored.message for stored in _decoded(found.fetchall())[0]]


def body_of(message: Message) -> str:
    """The message's words for the search: text, thoughts, calls and results; no pictures."""
    parts: list[str] = []
    for block in message.blocks:
        match block:
            case Text(text=text) | Thinking(text=text):
                parts.append(text)
            case ToolCall(name=name, arguments=arguments, broken=broken):
                parts.append(f"{name} {_words(arguments)}{broken}")
            case ToolResult(content=content):
                parts.append(content)
            case Image(name=name) | Document(name=name) | Audio(name=name):
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


_START, _END = "\x02", "\x03"
_AROUND = 60
"""Characters shown on each side of a hit that the word index did not find."""
_FROM = "FROM {} JOIN messages m ON m.id = {} JOIN sessions s ON s.id = m.session"
_FIELDS = "s.id, s.title, s.cwd, m.seq, m.role, m.at"


class SearchHit(msgspec.Struct, frozen=True):
    """One matching message. `spans` are (start, end) of the words found, in characters of `excerpt`."""

    session: str
    title: str
    cwd: str
    seq: int
    role: str
    at: float
    excerpt: str
    spans: tuple[tuple[int, int], ...] = ()


def phrase(query: str) -> str:
    """The query for FTS5: each word quoted, so that nothing in it is syntax, and matched as a prefix."""
    words = clean_text(query).replace("\0", " ").split()
    return " ".join('"' + word.replace('"', '""') + '"*' for word in words)


def find_words(
    connection: sqlite3.Connection, query: str, *, cwd: str | None = None, limit: int = 20
) -> list[SearchHit]:
    """Messages that contain all the words, best first; or else the exact query, newest first.

    Nothing in it is syntax. The second way finds non-words (`->`), parts of words, and scripts without spaces.
    """
    words = phrase(query)
    if not words:
        return []
    where, values = ("", []) if cwd is None else (" AND s.cwd = ?", [cwd])
    found = connection.execute(
        f"SELECT {_FIELDS}, snippet(messages_fts, 0, ?, ?, '…', 16) "
        f" {_FROM.format('messages_fts', 'messages_fts.rowid')}"
        f" WHERE messages_fts MATCH ?{where} ORDER BY rank LIMIT ?",
        (_START, _END, words, *values, limit),
    ).fetchall()
    if found:
        return [_hit(row[:-1], *_spans(str(row[-1]))) for row in found]
    needle = " ".join(clean_text(query).split())
    found = connection.execute(
        f"SELECT {_FIELDS}, m.body FROM messages m JOIN sessions s ON s.id = m.session"
        f" WHERE instr(lower(m.body), lower(?)){where} ORDER BY m.id DESC LIMIT ?",
        (needle, *values, limit),
    ).fetchall()
    return [_hit(row[:-1], *_around(str(row[-1]), needle)) for row in found]


def rebuild_index(connection: sqlite3.Connection) -> None:
    """Rebuild the word index from the messages."""
    connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")


def _hit(row: tuple[Any, ...], excerpt: str, spans: tuple[tuple[int, int], ...]) -> SearchHit:
    session, title, cwd, seq, role, at = row
    return SearchHit(session, title, cwd, seq, role, at, excerpt, spans)


def _spans(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The excerpt on one line without its marks, and their positions."""
    excerpt: list[str] = []
    spans: list[tuple[int, int]] = []
    start = 0
    for char in marked:
        if char == _START:
            start = len(excerpt)
        elif char == _END:
            spans.append((start, len(excerpt)))
        else:
            excerpt.append(" " if char in "\r\n\t" else char)
    return "".join(excerpt), tuple(spans)


def _around(body: str, needle: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    at = max(body.lower().find(needle.lower()), 0)
    start = max(at - _AROUND, 0)
    lead = "…" if start else ""
    excerpt = lead + body[start : at + len(needle) + _AROUND]
    begin = len(lead) + at - start
    plain = "".join(" " if char in "\r\n\t" else char for char in excerpt)
    return plain, ((begin, begin + len(needle)),)


class MessageTable(Table):
    """`store.messages`: the logs of conversations."""

    def __init__(self, thread: ReadThread, writer: WriteQueue, on_notice: Notice) -> None:
        super().__init__(thread, writer)
        self._on_notice = on_notice

    append = Table.writes(append_message)

    async def read(self, session: str, *, before: int | None = None, limit: int | None = None) -> list[StoredMessage]:
        """The newest `limit` messages with positions below `before`, oldest first; without limits all of them."""
        page, unreadable = await self._read(partial(page_of, session=session, before=before, limit=limit))
        if unreadable:
            self._on_notice(
                f"{unreadable} messages of the conversation {session} could not be read.",
                "Run `gsh-tui doctor` for details.",
            )
        return page

    read_after = Table.reads(page_after)
    turn_of = Table.reads(turn_of)
    position = Table.reads(position_of)
    save_partial = Table.writes(save_partial)
    partials = Table.reads(partials)
    search = Table.reads(find_words)
