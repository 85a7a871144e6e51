"""What stands between the commands of the history: remarks, changes of folder, files that changed.

Owns the table `shell_notes`, and what is known of running shells (`shells`). Works inside the
caller's transaction. Called by `ShellHistory`.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from gshtui.bus.shell import ShellNote
from gshtui.store.history import sound
from gshtui.store.plain import clean_text

COLUMNS = "id, kind, text, at, shell, cwd"
_SHELLS_KEPT = 1_000


def add(connection: sqlite3.Connection, note: ShellNote, seq: int = 0) -> ShellNote | None:
    """Keep a note; it comes back with its id, or as `None` when this line of its shell was kept before.

    Args:
        seq: the line's number in its shell's life; 0: it is no shell's line.
    """
    row = connection.execute(
        "INSERT INTO shell_notes (kind, text, at, shell, cwd, seq) VALUES (?, ?, ?, ?, ?, ?)"
        f" ON CONFLICT DO NOTHING RETURNING {COLUMNS}",
        (note.kind, clean_text(note.text), sound(note.at), clean_text(note.shell), clean_text(note.cwd), seq),
    ).fetchone()
    return None if row is None else note_of(row)


def add_once(connection: sqlite3.Connection, note: ShellNote, seconds: float) -> None:
    """Keep a note, unless the same one of so many seconds ago is kept."""
    same = connection.execute(
        "SELECT 1 FROM shell_notes WHERE at >= ? AND kind = ? AND text = ? AND cwd = ?",
        (sound(note.at) - seconds, note.kind, clean_text(note.text), clean_text(note.cwd)),
    ).fetchone()
    if same is None:
        add(connection, note)


def listed(
    connection: sqlite3.Connection,
    *,
    after: float | None,
    before: float | None,
    shell: str,
    kind: str,
    limit: int,
) -> list[ShellNote]:
    """The newest that fit, newest first."""
    conditions = {"at >= ?": after, "at < ?": before, "shell = ?": shell or None, "kind = ?": kind or None}
    given = {text: value for text, value in conditions.items() if value is not None}
    where = " AND ".join(given) or "1"
    found = connection.execute(
        f"SELECT {COLUMNS} FROM shell_notes WHERE {where} ORDER BY at DESC, id DESC LIMIT ?", (*given.values(), limit)
    )
    return [note_of(row) for row in found.fetchall()]


def trim(connection: sqlite3.Connection, most: int) -> None:
    """Forget the oldest above `most`."""
    connection.execute(
        "DELETE FROM shell_notes WHERE id <= (SELECT id FROM shell_notes ORDER BY id DESC LIMIT 1 OFFSET ?)", (most,)
    )


def set_shell(connection: sqlite3.Connection, shell: str, data: str, at: float) -> None:
    """Remember what a shell said of itself; the oldest are forgotten."""
    connection.execute(
        "INSERT INTO shells (shell, data, at) VALUES (?, ?, ?)"
        " ON CONFLICT (shell) DO UPDATE SET data = excluded.data, at = excluded.at",
        (clean_text(shell), data, at),
    )
    connection.execute(
        "DELETE FROM shells WHERE at < (SELECT at FROM shells ORDER BY at DESC LIMIT 1 OFFSET ?)"
        " AND shell NOT IN (SELECT shell FROM history WHERE state = 'running')",
        (_SHELLS_KEPT,),
    )


def shells(connection: sqlite3.Connection) -> dict[str, str]:
    """What shells said of themselves, JSON, by their ids."""
    return {str(shell): str(data) for shell, data in connection.execute("SELECT shell, data FROM shells")}


def forget_shell(connection: sqlite3.Connection, shell: str) -> None:
    """It is gone, and all that it ran is closed."""
    connection.execute("DELETE FROM shells WHERE shell = ?", (shell,))


def note_of(row: tuple[Any, ...]) -> ShellNote:
    """The note of a row that was read as `COLUMNS`."""
    id, kind, text, at, shell, cwd = row
    return ShellNote(kind=kind, text=str(text), at=float(at), shell=str(shell), cwd=str(cwd), id=int(id))
