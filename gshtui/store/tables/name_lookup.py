"""Names in the record for shell completion: read at once, without starting anything or waiting.

Uses only SQLite; never creates, moves or repairs a file. If it cannot be read, there are no names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from gshtui.bus.agent_data import AgentRow
from gshtui.store.tables import agent_table, session_table
from gshtui.store.tables.session_table import SessionInfo

T = TypeVar("T")
_WAIT = 0.2
"""Seconds for a lock."""


def agents_in(file: Path) -> list[AgentRow]:
    """Every agent on the roster, in the order of the numbers. Blocks for a moment."""
    return _read(file, agent_table.list_agents)


def sessions_in(file: Path, *, cwd: str) -> list[SessionInfo]:
    """A folder's 50 newest conversations, most recently used first. Blocks for a moment."""
    return _read(file, lambda connection: session_table.list_sessions(connection, cwd=cwd, limit=50, empty=False))


def turns_in(file: Path, pid: int) -> list[str]:
    """The titles of the conversations in which a process has a turn in progress. Blocks for a moment."""
    kinds = "'SessionOpened', 'TurnStarted', 'TurnFinished'"  # one that a crash cut has no end, but was opened again
    last = f"SELECT type FROM journal WHERE session = id AND type IN ({kinds}) ORDER BY seq DESC"
    query = f"SELECT title FROM holds JOIN sessions ON id = session WHERE pid = ? AND ({last} LIMIT 1) = 'TurnStarted'"
    return _read(
        file, lambda connection: [str(row[0]) for row in connection.execute(f"{query} ORDER BY since", (pid,))]
    )


def _read(file: Path, read: Callable[[sqlite3.Connection], list[T]]) -> list[T]:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT)) as connection:
            return read(connection)
    except (sqlite3.Error, OSError):
        return []
