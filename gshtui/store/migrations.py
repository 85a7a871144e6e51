"""From any older format of the record to this one, a numbered step at a time.

Owns the list of steps and the backup before the first of them; refuses a file of a newer version. Called while the
record is opened, under the opening lock.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from gshtui.store import schema
from gshtui.store.errors import StoreError
from gshtui.store.files import beside, create_file

MIGRATIONS: tuple[str, ...] = (schema.RECORD, schema.SEARCH, schema.AGENTS, schema.MAIL, schema.CONTEXT, schema.SHELL)
"""SQL of each step; the file's `user_version` counts those that it has."""
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """How many steps the file has behind it; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[str] = MIGRATIONS) -> Path | None:
    """Bring the file to the newest format; an existing one is backed up first.

    Returns:
        The backup, when one was made.

    Raises:
        StoreError: the file comes from a newer version (`newer`).
        sqlite3.Error: a step failed; it left nothing behind, and the steps before it stand.
    """
    version = version_of(connection)
    if version > len(steps):
        raise StoreError(
            "newer",
            f"The record {path} was written by a newer gsh-tui (format {version}, this one knows {len(steps)}).",
            hint="Update gsh-tui; nothing was changed.",
        )
    if version == len(steps):
        return None
    backup = back_up(connection, path, version) if version else None
    for number in range(version, len(steps)):
        with transaction(connection):
            for statement in _statements(steps[number]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
    return backup


def back_up(connection: sqlite3.Connection, path: Path, version: int) -> Path:
    """A copy of the record beside it, complete and on disk before this returns."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    target = beside(path, f".v{version}-{stamp}")
    unfinished = beside(path, f".v{version}-{stamp}.unfinished")
    for left_over in path.parent.glob(path.name + ".v*.unfinished"):
        left_over.unlink()
    create_file(unfinished)
    with contextlib.closing(sqlite3.connect(unfinished)) as copy:
        connection.backup(copy)
    with unfinished.open("rb") as written:
        os.fsync(written.fileno())
    unfinished.rename(target)
    return target


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All of it or none of it, with the right to write taken at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """The script's statements one by one: `executescript` would commit the transaction that they belong to."""
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            if pending.strip():
                yield pending
            pending = ""
