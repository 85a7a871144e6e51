"""The ways in which the record can fail, each as one sentence and what to do about it.

Translates SQLite's and the system's errors; none of those leaves the package.
"""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path
from typing import Literal

from gshtui.system.expected_error import ExpectedError

Kind = Literal[
    "unknown",
    "ambiguous",
    "held",
    "full",
    "readonly",
    "busy",
    "io",
    "corrupt",
    "newer",
    "unsafe",
    "invalid",
    "closed",
]

PASSING: frozenset[Kind] = frozenset({"full", "readonly", "busy", "io"})
"""The kinds that end without anybody starting gsh-tui anew."""


class StoreError(ExpectedError):
    """The record could not do it.

    Args:
        kind: the sort of failure. `full` and `readonly` end by themselves once the folder is writable again.
        message: one clear sentence.
        hint: what to do about it.
    """

    def __init__(self, kind: Kind, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind: Kind = kind


class SessionHeld(StoreError):
    """The conversation is open for writing elsewhere: `where` says in which window, `since` in epoch seconds."""

    def __init__(self, where: str, pid: int, since: float) -> None:
        super().__init__(
            "held",
            f"This conversation is open in {where or 'another window'} (process {pid}).",
            hint="Follow it here, or close it there first.",
        )
        self.where = where
        self.pid = pid
        self.since = since


def missing(session: str) -> StoreError:
    """The error for a conversation that is not in the record."""
    return StoreError(
        "unknown", f"The conversation {session!r} is not in the record.", hint="Was it removed elsewhere?"
    )


BUSY_CODES = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
CORRUPT_CODES = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_IO_CODES = frozenset({sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS})
_FULL_CODES = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR_WRITE,  # a quota or a process limit, for which the system does not say "full"
        sqlite3.SQLITE_IOERR_SHMSIZE,
        sqlite3.SQLITE_IOERR_SHMMAP,
    }
)
_READONLY_CODES = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})


def code_of(error: BaseException) -> int:
    """SQLite's primary result code of an error, 0 when it has none."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def is_busy(error: BaseException) -> bool:
    """Another process is writing at the moment."""
    return code_of(error) in BUSY_CODES


def is_corrupt(error: BaseException) -> bool:
    """The file is damaged, or not a database."""
    return code_of(error) in CORRUPT_CODES


def is_index_damage(error: BaseException) -> bool:
    """Only the word index is damaged, and can be rebuilt from the messages."""
    return int(getattr(error, "sqlite_errorcode", 0)) == sqlite3.SQLITE_CORRUPT_VTAB


def spoils_all(error: BaseException) -> bool:
    """The file or the disk failed, not one operation: nothing of its batch can be committed."""
    own = BUSY_CODES | CORRUPT_CODES | _IO_CODES | _READONLY_CODES | {sqlite3.SQLITE_FULL}
    return code_of(error) in own


def closed() -> StoreError:
    """The record was closed before this could run."""
    return StoreError("closed", "The record is closed.")


def from_sqlite(error: BaseException, path: Path) -> StoreError:
    """Our error for one of SQLite's or the system's."""
    if isinstance(error, StoreError):
        return error
    code = code_of(error)
    if code in BUSY_CODES:
        return StoreError("busy", f"Another process is writing to the record {path}.", hint="Try again.")
    if code in CORRUPT_CODES:
        hint = "Close every gsh-tui, then start one: it recovers what is readable, and keeps the damaged file."
        return StoreError("corrupt", f"The record {path} is damaged.", hint=hint)
    full_errno = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if int(getattr(error, "sqlite_errorcode", 0)) in _FULL_CODES or full_errno:
        hint = "Free some space; recording then continues by itself."
        return StoreError("full", f"The record {path} cannot grow: the disk or the quota is full.", hint=hint)
    if code in _IO_CODES:
        name = str(getattr(error, "sqlite_errorname", "input/output error"))
        hint = "Check the disk (system log, `df`); the record cannot be in a network folder."
        return StoreError("io", f"The system failed to read or write the record {path} ({name}).", hint=hint)
    if code in _READONLY_CODES or isinstance(error, OSError):
        hint = f"Make the folder {path.parent} writable, or set XDG_DATA_HOME to a writable folder."
        return StoreError("readonly", f"Cannot write to the record {path}.", hint=hint)
    return StoreError("invalid", f"The record refused the entry: {error}.")
