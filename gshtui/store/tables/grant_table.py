"""What a person has always allowed, per project. Whether a call matches is the guard's decision."""

from __future__ import annotations

import sqlite3
import time

import msgspec

from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.table import Table


class Grant(msgspec.Struct, frozen=True):
    """A tool may do what the pattern says, in this project. `created` in epoch seconds."""

    project: str
    tool: str
    pattern: str
    created: float


def listed(connection: sqlite3.Connection, project: str) -> list[Grant]:
    """What is always allowed in a project, oldest first."""
    found = connection.execute(
        "SELECT project, tool, pattern, created FROM grants WHERE project = ? ORDER BY rowid", (clean_text(project),)
    )
    return [Grant(*row) for row in found]


def add(connection: sqlite3.Connection, project: str, tool: str, pattern: str) -> None:
    """Allow it from now on; allowing it twice changes nothing."""
    connection.execute(
        "INSERT INTO grants (project, tool, pattern, created) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (clean_text(project), clean_text(tool), clean_text(pattern), time.time()),
    )


def remove(connection: sqlite3.Connection, project: str, tool: str, pattern: str) -> bool:
    """Revoke it. Return whether it was allowed."""
    done = connection.execute(
        "DELETE FROM grants WHERE project = ? AND tool = ? AND pattern = ?",
        (clean_text(project), clean_text(tool), clean_text(pattern)),
    )
    return done.rowcount > 0


class GrantTable(Table):
    """`store.grants`: what is always allowed."""

    find_all = Table.reads(listed)
    add = Table.writes(add)
    remove = Table.writes(remove)
