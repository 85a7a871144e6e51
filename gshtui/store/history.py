"""The history of commands on disk: one row for each command of each shell.

Owns writing to the table `history`: halves of a command become one row in whatever order and however often they come,
and the row's id is its place in time. Works inside the caller's transaction. Called by `ShellHistory`.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from gshtui.bus.shell import ShellRecord
from gshtui.store import outputs, plain
from gshtui.store.plain import clean_text

COLUMNS = (
    "shell",
    "number",
    "command",
    "expanded",
    "cwd",
    "host",
    "tty",
    "pane",
    "branch",
    "program",
    "at",
    "duration",
    "exit",
    "pipestatus",
    "state",
    "cut",
    "output",
    "output_lines",
    "agent",
    "source",
)
ALL = ", ".join(("id", *COLUMNS))
TRIM_STEP = 500
"""Rows that one step of trimming removes at most: readers wait for no more than that."""
_LATEST = 4e9
"""Seconds since the epoch; a clock that says more is not believed."""
_LARGEST = 2**63 - 1
_SECOND = 1_000_000
_HALF_KEPT = 7 * 86_400.0
"""Seconds that an end waits for its beginning."""
_TEXTS = ("expanded", "cwd", "host", "tty", "pane", "branch", "pipestatus", "output", "agent")
_INSERT = f"INSERT INTO history ({ALL}) VALUES ({', '.join('?' * (len(COLUMNS) + 1))})"
_MERGE = (
    " ON CONFLICT (shell, number) DO UPDATE SET"
    " at = iif(excluded.command <> '' OR command = '', excluded.at, at),"
    " command = iif(excluded.command <> '', excluded.command, command),"
    " program = iif(excluded.command <> '' AND excluded.program <> '', excluded.program, program),"
    + "".join(f" {name} = iif(excluded.{name} <> '', excluded.{name}, {name})," for name in _TEXTS)
    + " duration = coalesce(excluded.duration, duration), exit = coalesce(excluded.exit, exit),"
    " cut = max(cut, excluded.cut), output_lines = max(output_lines, excluded.output_lines),"
    " state = CASE WHEN 'done' IN (state, excluded.state) THEN 'done'"
    " WHEN 'lost' IN (state, excluded.state) THEN 'lost' ELSE 'running' END"
)
_KEEP = f"{_INSERT}{_MERGE} RETURNING {ALL}"
_ADD = f"{_INSERT} ON CONFLICT (shell, number) DO NOTHING"


def keep(connection: sqlite3.Connection, records: Sequence[ShellRecord]) -> list[ShellRecord]:
    """Keep each record, or what it adds to the row of the same shell and number; the rows as they are now.

    What is known of a command is never taken back: a second start does not make a command that ended run again, and
    one that counted as lost is done when its end comes after all. An end that comes before its beginning waits for it,
    and is no row until then: its `id` is 0.
    """
    kept: list[ShellRecord] = []
    for record in records:
        if not record.command and not _is_kept(connection, record):
            _wait(connection, record)
            kept.append(msgspec.structs.replace(record, id=0))
            continue
        row = connection.execute(_KEEP, _values(connection, record)).fetchone()
        if half := _half(connection, record):
            row = connection.execute(_KEEP, _values(connection, half)).fetchone()
        kept.append(record_of(row))
    return kept


def add_new(connection: sqlite3.Connection, records: Iterable[ShellRecord]) -> int:
    """Keep those whose shell and number are not there yet; how many there were."""
    added = 0
    for record in records:
        if _is_kept(connection, record):
            continue
        added += connection.execute(_ADD, _values(connection, record)).rowcount
    return added


def close_lost(connection: sqlite3.Connection, shells: Collection[str]) -> list[ShellRecord]:
    """End the commands that still count as running in shells that are gone."""
    closed: list[ShellRecord] = []
    for shell in shells:
        found = connection.execute(
            f"UPDATE history SET state = 'lost' WHERE shell = ? AND state = 'running' RETURNING {ALL}", (shell,)
        )
        closed += [record_of(row) for row in found.fetchall()]
    return closed


def running(connection: sqlite3.Connection) -> list[ShellRecord]:
    """Commands of which no end is known, oldest first."""
    return [
        record_of(row)
        for row in connection.execute(f"SELECT {ALL} FROM history WHERE state = 'running' ORDER BY id").fetchall()
    ]


def put_output(
    connection: sqlite3.Connection, shell: str, number: int, kept: outputs.Kept, lines: int
) -> ShellRecord | None:
    """Keep what a command printed; its row, or `None` when the command is not in the history (any more)."""
    row = connection.execute(
        f"UPDATE history SET output = ?, output_lines = ? WHERE shell = ? AND number = ? RETURNING {ALL}",
        (kept.key, lines, shell, number),
    ).fetchone()
    if row is None:
        return None
    outputs.insert(connection, kept)
    return record_of(row)


def forget(connection: sqlite3.Connection, ids: Collection[int]) -> int:
    """Remove these rows, and what only they printed; how many there were."""
    keys: set[str] = set()
    removed = 0
    for id in ids:
        row = connection.execute("DELETE FROM history WHERE id = ? RETURNING output", (id,)).fetchone()
        if row is not None:
            removed += 1
            keys.add(str(row[0]))
    outputs.drop_if_unused(connection, keys - {""})
    return removed


def trim(connection: sqlite3.Connection, most: int, step: int = TRIM_STEP) -> int:
    """Remove the oldest rows above `most`, no more than `step` at once; how many there were."""
    over = min(count(connection) - most, step)
    if over <= 0:
        return 0
    oldest = connection.execute("SELECT id FROM history ORDER BY id LIMIT ?", (over,)).fetchall()
    return forget(connection, [int(row[0]) for row in oldest])


def count(connection: sqlite3.Connection) -> int:
    """Rows of the history; costs nothing, however many there are."""
    return int(connection.execute("SELECT rows FROM history_size").fetchone()[0])


def record_of(row: Sequence[Any]) -> ShellRecord:
    """The record of a row that was read as `ALL`."""
    fields = dict(zip(("id", *COLUMNS), row, strict=True))
    fields["pipestatus"] = tuple(int(code) for code in str(fields["pipestatus"]).split())
    return ShellRecord(**fields)


def rebuild(connection: sqlite3.Connection) -> None:
    """Make the index of words anew, and count again."""
    connection.execute("INSERT INTO history_fts (history_fts) VALUES ('rebuild')")
    connection.execute("UPDATE history_size SET rows = (SELECT count(*) FROM history)")


def _wait(connection: sqlite3.Connection, record: ShellRecord) -> None:
    data = plain.encode_plain(msgspec.to_builtins(record)).decode()
    connection.execute(
        "INSERT OR REPLACE INTO shell_halves (shell, number, data, at) VALUES (?, ?, ?, ?)",
        (clean_text(record.shell), record.number, data, sound(record.at)),
    )
    connection.execute("DELETE FROM shell_halves WHERE at < ?", (sound(record.at) - _HALF_KEPT,))


def _half(connection: sqlite3.Connection, record: ShellRecord) -> ShellRecord | None:
    """The end of this command, when it came before its beginning."""
    row = connection.execute(
        "DELETE FROM shell_halves WHERE shell = ? AND number = ? RETURNING data", (record.shell, record.number)
    ).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=ShellRecord)


def sound(at: float) -> float:
    """A time that can be one, seconds since the epoch."""
    return min(max(at, 0.0), _LATEST) if math.isfinite(at) else 0.0


def _values(connection: sqlite3.Connection, record: ShellRecord) -> list[Any]:
    fields = msgspec.structs.asdict(record)
    fields["at"] = sound(record.at)
    fields["number"] = min(max(record.number, 0), _LARGEST)
    fields["pipestatus"] = " ".join(map(str, record.pipestatus))
    if record.duration is not None and not math.isfinite(record.duration):
        fields["duration"] = None
    place = _place(connection, record.shell, fields["number"], fields["at"])
    return [place, *(clean_text(value) if isinstance(value := fields[name], str) else value for name in COLUMNS)]


def _place(connection: sqlite3.Connection, shell: str, number: int, at: float) -> int:
    """The id for a new row: its time, but between its shell's commands before and behind it, whatever the clock did."""
    place = int(at * 1e6)
    before = connection.execute(
        "SELECT id FROM history WHERE shell = ? AND number < ? ORDER BY number DESC LIMIT 1", (shell, number)
    ).fetchone()
    imported = shell.startswith("import")
    step = 1
    if not imported:
        if before is not None:
            place = max(place, int(before[0]) + 1)
        behind = connection.execute(
            "SELECT id FROM history WHERE shell = ? AND number > ? ORDER BY number LIMIT 1", (shell, number)
        ).fetchone()
        if behind is not None and place >= int(behind[0]):  # it comes late, from another time
            place, step = int(behind[0]) - 1, -1
    while connection.execute("SELECT 1 FROM history WHERE id = ?", (place,)).fetchone():
        place += step
        if imported:  # these have whole seconds, or no time at all: thousands share one
            last = connection.execute("SELECT max(id) FROM history WHERE id < ?", (place - 1 + _SECOND,)).fetchone()
            place = max(place, int(last[0]) + 1)
    return place


def _is_kept(connection: sqlite3.Connection, record: ShellRecord) -> bool:
    found = connection.execute(
        "SELECT 1 FROM history WHERE shell = ? AND number = ?", (record.shell, record.number)
    ).fetchone()
    return found is not None
