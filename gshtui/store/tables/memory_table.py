"""The table `memory`: what agents know beyond one conversation, as notes with a key, by agent and project.

A note without a project holds in all of them; a project's own note of the same key takes its place there. Checks that
keys are plain names, and that an agent's notes stay within their limits.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable

import msgspec

from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.engine.table import Table
from gshtui.text.plain_name import NameRefused, plain_name

NOTE_BYTES = 16 * 1024
"""Bytes of one note."""
AGENT_BYTES = 512 * 1024
"""Bytes of all notes of an agent."""
EVERYWHERE = ""
"""The project of a note that holds in all of them."""


class MemoryNote(msgspec.Struct, frozen=True):
    """One note of an agent. `at`: when it was last written, in epoch seconds."""

    agent: str
    project: str
    """The project's folder, or `EVERYWHERE`."""
    key: str
    value: str
    author: str
    at: float


def put_note(
    connection: sqlite3.Connection, name: NoteName, author: str, change: Callable[[str], str]
) -> tuple[MemoryNote, MemoryNote | None]:
    """Write a note; an existing one keeps its place in the order. `change`: makes the new value of the old one, which
    is empty if there was none.

    Returns:
        The note as it is now, and as it was before.

    Raises `StoreError`: `invalid`: a name that cannot be used, or too much text.
    """
    checked = name.checked()
    before = get_note(connection, checked)
    value = clean_text(change(before.value if before is not None else ""))
    if (size := len(value.encode())) > NOTE_BYTES:
        what = f"A note has at most {NOTE_BYTES // 1024} KB; this one would have {size:,} bytes."
        raise StoreError("invalid", what, hint="Keep the facts, or write several notes.")
    (others,) = connection.execute(
        "SELECT coalesce(sum(length(CAST(value AS BLOB))), 0) FROM memory"
        " WHERE agent = ?1 AND NOT (project = ?2 AND key = ?3)",
        checked,
    ).fetchone()
    if others + size > AGENT_BYTES:
        what = f"The memory of {checked.agent} is full: it has at most {AGENT_BYTES // 1024} KB."
        raise StoreError("invalid", what, hint="`memory list` shows the notes, and `forget key=…` removes one.")
    note = MemoryNote(*checked, value, clean_text(author), time.time())
    connection.execute(
        "INSERT INTO memory (agent, project, key, value, author, at) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (agent, project, key) DO UPDATE SET value = excluded.value, author = excluded.author,"
        " at = excluded.at",
        msgspec.structs.astuple(note),
    )
    return note, before


def get_note(connection: sqlite3.Connection, name: NoteName) -> MemoryNote | None:
    """The note of exactly this name and project."""
    found = connection.execute(
        "SELECT agent, project, key, value, author, at FROM memory WHERE agent = ? AND project = ? AND key = ?", name
    ).fetchone()
    return None if found is None else MemoryNote(*found)


def remove_note(connection: sqlite3.Connection, name: NoteName) -> MemoryNote | None:
    """Remove a note; return it as it was, `None` if there was none."""
    if (before := get_note(connection, name)) is not None:
        connection.execute("DELETE FROM memory WHERE agent = ? AND project = ? AND key = ?", name)
    return before


def list_notes(connection: sqlite3.Connection, agent: str, project: str) -> list[MemoryNote]:
    """The notes that hold for an agent in a project, in the order in which they were first written."""
    found = connection.execute(
        "SELECT agent, project, key, value, author, at FROM memory WHERE agent = ? AND project IN (?, '') ORDER BY id",
        (clean_text(agent), clean_text(project)),
    )
    notes = [MemoryNote(*row) for row in found]
    own = {note.key for note in notes if note.project}
    return [note for note in notes if note.project or note.key not in own]


def list_agents(connection: sqlite3.Connection, project: str) -> list[str]:
    """The agents that have notes in a project, by name."""
    found = connection.execute(
        "SELECT DISTINCT agent FROM memory WHERE project IN (?, '') ORDER BY agent", (clean_text(project),)
    )
    return [str(row[0]) for row in found]


class NoteName(tuple[str, str, str]):
    """What identifies a note: agent, project and key."""

    __slots__ = ()

    def __new__(cls, agent: str, project: str, key: str) -> NoteName:
        return super().__new__(cls, (agent, project, key))

    @property
    def agent(self) -> str:
        return self[0]

    @property
    def project(self) -> str:
        return self[1]

    @property
    def key(self) -> str:
        return self[2]

    def checked(self) -> NoteName:
        """The same, with names that can be used. Raises `StoreError` (`invalid`)."""
        try:
            return NoteName(
                plain_name(self.agent, "agent's name"), clean_text(self.project), plain_name(self.key, "key")
            )
        except NameRefused as error:
            raise StoreError("invalid", error.message, hint=error.hint) from error


class MemoryTable(Table):
    """`store.memory`: the notes of agents."""

    put = Table.writes(put_note)
    remove = Table.writes(remove_note)
    find_all = Table.reads(list_notes)
    agents = Table.reads(list_agents)
