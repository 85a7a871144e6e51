"""The right to write to a conversation: one place at a time, kept as a row.

Owns the table `holds`; refuses a second holder while the first one's process lives, and takes over from a dead one.
The caller's transaction makes looking and taking one step. Called by `Store`.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from gshtui.bus.ids import new_id
from gshtui.store.errors import SessionHeld, missing
from gshtui.store.plain import clean_text
from gshtui.store.process import Process, is_alive, this_process


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a conversation: the place in a person's words, the process, since when in epoch seconds."""

    place: str
    pid: int
    since: float


def take(connection: sqlite3.Connection, session: str, place: str) -> str:
    """Take the conversation for this process.

    Returns:
        A token that gives it back.

    Raises:
        SessionHeld: a living process has it, perhaps this one.
        StoreError: there is no such conversation (`unknown`).
    """
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    if found := holder(connection, session):
        raise SessionHeld(found.place, found.pid, found.since)
    me, token = this_process(), new_id()
    connection.execute(
        "INSERT OR REPLACE INTO holds (session, token, place, machine, pid, started, since)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session, token, clean_text(place), me.machine, me.pid, me.started, time.time()),
    )
    return token


def give_back(connection: sqlite3.Connection, token: str) -> None:
    """End a hold; one that was taken over since stays as it is."""
    connection.execute("DELETE FROM holds WHERE token = ?", (token,))


def holder(connection: sqlite3.Connection, session: str) -> Holder | None:
    """Who has the conversation open for writing; `None` when nobody alive does."""
    row = connection.execute(
        "SELECT place, machine, pid, started, since FROM holds WHERE session = ?", (session,)
    ).fetchone()
    if row is None or not is_alive(Process(str(row[1]), int(row[2]), str(row[3]))):
        return None
    return Holder(str(row[0]), int(row[2]), float(row[4]))
