"""The table `prompts`: what was typed into the input line, for its history; at most the newest ten thousand."""

from __future__ import annotations

import sqlite3
import time

from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.table import Table
from gshtui.text.secret_shapes import without_tokens

KEPT = 10_000


def add(connection: sqlite3.Connection, cwd: str, text: str) -> None:
    """Remember a line, without secrets; the previous one, typed again, moves up instead of being doubled."""
    cwd, text = clean_text(cwd), without_tokens(clean_text(text))
    connection.execute(
        "DELETE FROM prompts WHERE id = (SELECT max(id) FROM prompts WHERE cwd = ?) AND text = ?", (cwd, text)
    )
    added = connection.execute("INSERT INTO prompts (cwd, text, at) VALUES (?, ?, ?)", (cwd, text, time.time()))
    connection.execute("DELETE FROM prompts WHERE id <= ?", ((added.lastrowid or 0) - KEPT,))


def listed(connection: sqlite3.Connection, cwd: str | None, limit: int = 1_000) -> list[str]:
    """Lines typed in this folder (in any, for `None`), each once, newest first."""
    where, values = ("", []) if cwd is None else ("WHERE cwd = ?", [clean_text(cwd)])
    found = connection.execute(
        f"SELECT text FROM prompts {where} GROUP BY text ORDER BY max(id) DESC LIMIT ?", (*values, limit)
    )
    return [str(row[0]) for row in found]


class PromptTable(Table):
    """`store.prompts`: what was typed."""

    add = Table.writes(add)
    find_all = Table.reads(listed)
