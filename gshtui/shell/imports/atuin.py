"""Atuin's history: its SQLite file, read without changing it, as records.

Owns the reading; refuses a file that is none of Atuin's. Blocks: called in a thread, by the import.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from gshtui.bus.shell import ShellRecord
from gshtui.shell.imports.identity import number

_NANOSECONDS = 1e9


class NotAtuin(Exception):
    """The file is no history of Atuin's; the text says why."""


def read(file: Path) -> Iterator[ShellRecord]:
    """The commands, oldest first, without those that were deleted. Raises `NotAtuin`."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as connection:
            columns = {str(row[1]) for row in connection.execute("PRAGMA table_info(history)")}
            if not {"id", "timestamp", "command"} <= columns:
                raise NotAtuin("it has no table `history` as Atuin makes it")
            names = ("id", "timestamp", "duration", "exit", "command", "cwd", "hostname")
            chosen = ", ".join(name if name in columns else f"NULL AS {name}" for name in names)
            where = "WHERE deleted_at IS NULL" if "deleted_at" in columns else ""
            for row in connection.execute(f"SELECT {chosen} FROM history {where} ORDER BY timestamp, id"):
                if record := _record(*row):
                    yield record
    except sqlite3.Error as error:
        raise NotAtuin(str(error)) from error


def _record(id: Any, at: Any, took: Any, exit: Any, command: Any, cwd: Any, host: Any) -> ShellRecord | None:
    if not isinstance(command, str) or not command.strip():
        return None
    known = isinstance(took, int) and took >= 0
    return ShellRecord(
        shell="import atuin",
        number=number(id),
        command=command,
        cwd=cwd if isinstance(cwd, str) and cwd != "unknown" else "",
        host=str(host or "").partition(":")[0],
        at=at / _NANOSECONDS if isinstance(at, int) else 0.0,
        duration=took / _NANOSECONDS if known else None,
        exit=exit if isinstance(exit, int) and known else None,
        state="done",
        source="import atuin",
    )
