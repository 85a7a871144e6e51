"""Finding words in everything that was ever said.

Owns the query language towards people: plain words, all of which must occur, the last letters may be missing; refuses
nothing, whatever characters it holds. Called by `Store`.
"""

from __future__ import annotations

import sqlite3
from typing import Any

import msgspec

from gshtui.store.plain import clean_text

_START, _END = "\x02", "\x03"
_AROUND = 60
"""Characters shown on each side of a hit that the word index did not find."""
_FROM = "FROM {} JOIN messages m ON m.id = {} JOIN sessions s ON s.id = m.session"
_FIELDS = "s.id, s.title, s.cwd, m.seq, m.role, m.at"


class Hit(msgspec.Struct, frozen=True):
    """One message that fits. `spans` are (start, end) of the words found, in characters of `excerpt`."""

    session: str
    title: str
    cwd: str
    seq: int
    role: str
    at: float
    excerpt: str
    spans: tuple[tuple[int, int], ...] = ()


def phrase(query: str) -> str:
    """The query for FTS5: each word quoted, so that nothing in it is syntax, and taken as the beginning of a word."""
    words = clean_text(query).replace("\0", " ").split()
    return " ".join('"' + word.replace('"', '""') + '"*' for word in words)


def find(connection: sqlite3.Connection, query: str, *, cwd: str | None, limit: int) -> list[Hit]:
    """Messages that hold all the words, the best first; else those that hold the query as it stands, newest first.

    The second way finds what has no words (`->`), what stands inside words, and scripts without spaces.
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


def rebuild(connection: sqlite3.Connection) -> None:
    """Make the word index anew from the messages."""
    connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')")


def forget_removed(connection: sqlite3.Connection) -> None:
    """Rewrite the index without the words of removed messages, which it otherwise keeps until it next merges."""
    connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('optimize')")


def _hit(row: tuple[Any, ...], excerpt: str, spans: tuple[tuple[int, int], ...]) -> Hit:
    session, title, cwd, seq, role, at = row
    return Hit(session, title, cwd, seq, role, at, excerpt, spans)


def _spans(marked: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """The excerpt without its marks, on one line, and where they were."""
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
