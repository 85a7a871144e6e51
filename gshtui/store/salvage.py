"""Reading a damaged database: every row that can still be read, whatever lies between.

Owns the repair of a copy's first page and the way round damaged pages; refuses to touch the damaged
file itself. Called by `recovery` with a copy that may be spoilt.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gshtui.store.files import with_companions

PAGE = 4096
_LARGEST = 2**62


def open_copy(copy: Path, template: Path) -> sqlite3.Connection:
    """A connection to a damaged file that is ours to change, with its tables in sight.

    Args:
        copy: the damaged file's copy.
        template: a sound, empty record; its first page (header and list of tables) stands in for a lost one.

    Raises:
        sqlite3.Error: no table can be seen even so.
    """
    connection = connect(copy)
    try:
        _tables(connection)
        return connection
    except sqlite3.Error:
        connection.close()
    replace_first_page(copy, template)
    connection = connect(copy)
    try:
        _tables(connection)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def columns_of(connection: sqlite3.Connection, table: str) -> list[str]:
    """Names of the table's columns; none when there is no such table."""
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


def readable_rows(
    connection: sqlite3.Connection, table: str, columns: list[str], *, patience: int = 10_000
) -> Iterator[tuple[Any, ...]]:
    """The rows that can be read, in order of their row ids; `patience` damaged stretches are stepped over."""
    select = f"SELECT rowid, {', '.join(columns)} FROM {table} WHERE rowid >= ? ORDER BY rowid"
    start, barren = -1, 0
    for _ in range(patience):
        if start is None:
            return
        last = start - 1
        try:
            for row in connection.execute(select, (start,)):
                if int(row[0]) > last:  # a damaged page may lead back, which would never end
                    last, barren = int(row[0]), 0
                    yield row[1:]
            return
        except sqlite3.Error:
            # Where nothing is gained by it, larger and larger steps: the numbers of rows may lie far apart.
            start = _after_damage(connection, select + " LIMIT 1", last + (1 << barren))
            barren += 1


def _after_damage(connection: sqlite3.Connection, probe: str, damaged: int) -> int | None:
    """The smallest row id found from which reading goes on; `None` when nothing behind the damage can be read."""
    step = 1
    while not _reads(connection, probe, damaged + step):
        step *= 2
        if step > _LARGEST:
            return None
    low, high = damaged + step // 2, damaged + step
    while high - low > 1:
        middle = (low + high) // 2
        if _reads(connection, probe, middle):
            high = middle
        else:
            low = middle
    return high


def _reads(connection: sqlite3.Connection, probe: str, rowid: int) -> bool:
    """Whether the row behind this place, if there is one, can be read and is where it should be."""
    try:
        found = connection.execute(probe, (rowid,)).fetchall()
    except sqlite3.Error:
        return False
    return not found or int(found[0][0]) >= rowid


def connect(copy: Path) -> sqlite3.Connection:
    """A connection that overlooks what can be overlooked, in the file and in its list of tables."""
    connection = sqlite3.connect(copy, isolation_level=None)
    connection.text_factory = _lenient
    connection.execute("PRAGMA writable_schema = ON")  # also reads a faulty schema, and a file that was cut off
    return connection


def _lenient(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _tables(connection: sqlite3.Connection) -> None:
    if not connection.execute("SELECT name FROM sqlite_master WHERE name = 'sessions'").fetchall():
        raise sqlite3.DatabaseError("no table can be seen")


def emptied_log(copy: Path, template: Path) -> None:
    """Write what is in the copy's log into the copy itself, as far as SQLite believes it."""
    for attempt in (1, 2):
        try:
            with contextlib.closing(connect(copy)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                connection.execute("PRAGMA journal_mode = DELETE").fetchall()
            break
        except sqlite3.Error:
            if attempt == 1:
                replace_first_page(copy, template)
    for log in with_companions(copy)[1:]:
        log.unlink(missing_ok=True)


def roots_of(connection: sqlite3.Connection) -> frozenset[int]:
    """The pages at which the tables begin that can be seen."""
    return frozenset(int(row[0]) for row in connection.execute("SELECT rootpage FROM sqlite_master WHERE rootpage"))


def replace_first_page(copy: Path, template: Path) -> None:
    """Put a sound list of tables in place of the copy's. It must have no log, or SQLite believes that one."""
    page = bytearray(template.read_bytes()[:PAGE])
    with copy.open("r+b") as file:
        pages = -(-os.fstat(file.fileno()).st_size // PAGE)
        page[28:32] = pages.to_bytes(4, "big")
        page[32:40] = bytes(8)  # no list of free pages: nothing is written here any more
        page[92:96] = page[24:28]  # the number of pages is to be believed
        file.write(page)
        file.truncate(max(pages, 1) * PAGE)
