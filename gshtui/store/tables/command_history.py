"""The table `history`: one row per command of each shell, found newest first.

Merges the halves of a command in any order; its index answers fast among a million rows. Any query is valid.
"""

from __future__ import annotations

import contextlib
import math
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import msgspec

from gshtui.bus.shell_data import ShellRecord
from gshtui.store.engine import encoding as plain
from gshtui.store.engine.encoding import clean_text
from gshtui.store.tables import output_table
from gshtui.system.struct_types import learned

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
"""Most rows removed in one step of trimming: readers wait no longer than that."""
_LATEST = 4e9
"""Latest believable time, in seconds since the epoch."""
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


def keep_records(connection: sqlite3.Connection, records: Sequence[ShellRecord]) -> list[ShellRecord]:
    """Keep each record, or merge it into the row of the same shell and number; return the current rows.

    What is known of a command is never taken back: a second start does not make a finished command run again, and a
    lost one is done if its end arrives after all. An end that arrives before its beginning waits for it and is not a
    row until then: its `id` is 0.
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


def add_new(connection: sqlite3.Connection, records: Sequence[ShellRecord]) -> int:
    """Keep those whose shell and number are new; return how many."""
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
    """Commands without a known end, oldest first."""
    return [
        record_of(row)
        for row in connection.execute(f"SELECT {ALL} FROM history WHERE state = 'running' ORDER BY id").fetchall()
    ]


def put_output(
    connection: sqlite3.Connection, shell: str, number: int, kept: output_table.Kept, lines: int
) -> ShellRecord | None:
    """Keep a command's output; return its row, or `None` if the command is not in the history (any more)."""
    row = connection.execute(
        f"UPDATE history SET output = ?, output_lines = ? WHERE shell = ? AND number = ? RETURNING {ALL}",
        (kept.key, lines, shell, number),
    ).fetchone()
    if row is None:
        return None
    output_table.insert(connection, kept)
    return record_of(row)


def delete_old(connection: sqlite3.Connection, ids: Collection[int]) -> int:
    """Remove these rows, and the output that only they use; return how many."""
    keys: set[str] = set()
    removed = 0
    for id in ids:
        row = connection.execute("DELETE FROM history WHERE id = ? RETURNING output", (id,)).fetchone()
        if row is not None:
            removed += 1
            keys.add(str(row[0]))
    output_table.drop_if_unused(connection, keys - {""})
    return removed


def trim(connection: sqlite3.Connection, most: int) -> int:
    """Remove the oldest rows above `most`, at most `TRIM_STEP` at once; return how many."""
    over = min(count_all(connection) - most, TRIM_STEP)
    if over <= 0:
        return 0
    oldest = connection.execute("SELECT id FROM history ORDER BY id LIMIT ?", (over,)).fetchall()
    return delete_old(connection, [int(row[0]) for row in oldest])


def count_all(connection: sqlite3.Connection) -> int:
    """Number of rows; costs nothing, however many there are."""
    return int(connection.execute("SELECT rows FROM history_size").fetchone()[0])


def record_of(row: Sequence[Any]) -> ShellRecord:
    fields = dict(zip(("id", *COLUMNS), row, strict=True))
    fields["pipestatus"] = tuple(int(code) for code in str(fields["pipestatus"]).split())
    return ShellRecord(**fields)


def rebuild(connection: sqlite3.Connection) -> None:
    """Rebuild the word index, and count again."""
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
    """The end of this command, if it arrived before its beginning."""
    row = connection.execute(
        "DELETE FROM shell_halves WHERE shell = ? AND number = ? RETURNING data", (record.shell, record.number)
    ).fetchone()
    return None if row is None else msgspec.json.decode(row[0], type=learned(ShellRecord))


def sound(at: float) -> float:
    """Whether a time is possible, in seconds since the epoch."""
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
    """The id for a new row: its time, but between its shell's previous and next commands, whatever the clock did."""
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
        if behind is not None and place >= int(behind[0]):  # it arrives late, from another time
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


MOST = 10_000
"""Most rows of one answer."""
_SHORTEST = 3
"""Shortest word, in letters, that the index can find; shorter ones are searched row by row."""
_FOLDERS = 64
"""Most subfolders to search one by one; with more, all rows are searched, newest first."""
_COLUMNS = ", ".join(f"h.{name.strip()}" for name in ALL.split(","))


class HistoryQuery(msgspec.Struct, frozen=True):
    """Conditions on rows. Empty fields match everything."""

    query: str = ""
    """Words that must all occur somewhere in the command, ignoring case."""
    cwd: str = ""
    """It ran in this folder or below."""
    exit: int | None = None
    failed: bool = False
    """It ended with a status other than 0."""
    after: float | None = None
    """Seconds since the epoch."""
    before: float | None = None
    shell: str = ""
    agent: str | None = None
    """Name of the agent that ran it; empty text: a person did."""
    branch: str = ""
    state: str = ""
    source: str = ""
    after_id: int | None = None
    before_id: int | None = None


EVERYTHING = HistoryQuery()


class _Where(NamedTuple):
    """Conditions on `history h`, joined by AND, and their values."""

    conditions: list[str]
    values: list[Any]

    @property
    def text(self) -> str:
        return " AND ".join(self.conditions) or "1"


def find_commands(
    connection: sqlite3.Connection, wanted: HistoryQuery = EVERYTHING, *, limit: int = 50, oldest: bool = False
) -> list[ShellRecord]:
    """The newest `limit` matching rows (at most 10,000), newest first; with `oldest`, the oldest ones, oldest first."""
    order, limit = "ASC" if oldest else "DESC", min(max(limit, 0), MOST)
    long, where = _conditions(wanted)
    cwd = clean_text(wanted.cwd).rstrip("/")
    if long:
        _below(where, cwd)
        sql = (
            f"SELECT {_COLUMNS} FROM history_fts f CROSS JOIN history h ON h.id = f.rowid"
            f" WHERE f.history_fts MATCH ? AND {where.text.replace('h.id', 'f.rowid')}"
            f" ORDER BY f.rowid {order} LIMIT ?"
        )
        return _found_records(connection, sql, [_phrase(long), *where.values, limit])
    if cwd and len(folders := _folders(connection, cwd)) <= _FOLDERS:
        part = f"SELECT * FROM (SELECT {_COLUMNS} FROM history h WHERE h.cwd = ? AND {where.text}"
        part += f" ORDER BY h.id {order} LIMIT ?)"
        if not folders:
            return []
        sql = f"{' UNION ALL '.join([part] * len(folders))} ORDER BY id {order} LIMIT ?"
        values = [value for folder in folders for value in (folder, *where.values, limit)]
        return _found_records(connection, sql, [*values, limit])
    _below(where, cwd)
    sql = f"SELECT {_COLUMNS} FROM history h WHERE {where.text} ORDER BY h.id {order} LIMIT ?"
    return _found_records(connection, sql, [*where.values, limit])


PRINTED_ROWS = 20_000
"""Most commands, the newest that match, whose outputs are searched."""


def find_printed(
    connection: sqlite3.Connection, wanted: HistoryQuery, *, limit: int, known: Collection[int] = ()
) -> list[tuple[ShellRecord, str]]:
    """The newest `limit` matching rows whose kept output has all words of the query, and the best line of it. `known`:
    ids of rows that are left out.
    """
    words = [word.lower() for word in wanted.query.split()]
    _, where = _conditions(msgspec.structs.replace(wanted, query=""))
    _below(where, clean_text(wanted.cwd).rstrip("/"))
    newest = f"SELECT {_COLUMNS} FROM history h WHERE {where.text} ORDER BY h.id DESC LIMIT {PRINTED_ROWS}"
    rows = connection.execute(
        f"SELECT n.*, o.data, o.packed FROM ({newest}) n CROSS JOIN outputs o ON o.key = n.output"
        " WHERE n.output <> '' ORDER BY n.id DESC",
        where.values,
    )
    found: list[tuple[ShellRecord, str]] = []
    for row in rows if words else ():
        *columns, data, packed = row
        if columns[0] in known:
            continue
        with contextlib.suppress(output_table.PackError):
            text = output_table.unpacked(bytes(data), bool(packed)).decode("utf-8", "replace")
            lower = text.lower()
            if all(word in lower for word in words):
                lines = text.splitlines()
                best = max(lines, key=lambda line: sum(word in line.lower() for word in words), default="")
                found.append((record_of(columns), best.strip()))
        if len(found) >= limit:
            break
    return found


def count_commands(connection: sqlite3.Connection, wanted: HistoryQuery = EVERYTHING) -> int:
    """Number of matching rows. Without conditions it costs nothing, however many there are."""
    if wanted == EVERYTHING:
        return count_all(connection)
    sql, values = ids_of(wanted)
    return int(connection.execute(f"SELECT count(*) FROM ({sql})", values).fetchone()[0])


def ids_of(wanted: HistoryQuery) -> tuple[str, list[Any]]:
    """A query for the ids of matching rows, as `id`, unordered; and its values."""
    long, where = _conditions(wanted)
    _below(where, clean_text(wanted.cwd).rstrip("/"))
    if long:
        source = "history_fts f CROSS JOIN history h ON h.id = f.rowid"
        sql = f"SELECT h.id AS id FROM {source} WHERE f.history_fts MATCH ? AND {where.text}"
        return sql, [_phrase(long), *where.values]
    return f"SELECT h.id AS id FROM history h WHERE {where.text}", where.values


class PrefixRun(NamedTuple):
    """One run of a command that begins with what was typed."""

    command: str
    cwd: str
    at: float
    exit: int | None
    previous: str
    """What its shell had run just before; empty: not known."""


_RUNS_READ = 5_000
"""Rows that are looked through for a text that the index cannot find."""


def runs_with_prefix(connection: sqlite3.Connection, prefix: str, cwd: str, limit: int) -> list[PrefixRun]:
    """The newest runs by people of commands that begin with `prefix`: `limit` of this folder, and `limit` of all."""
    prefix = clean_text(prefix)
    if not prefix:
        return []
    begins = "h.agent = '' AND h.cut = 0 AND h.source <> 'agent' AND substr(h.command, 1, ?) = ?"
    values: list[Any] = [len(prefix), prefix]
    columns = (
        "SELECT h.id, h.command, h.cwd, h.at, h.exit, coalesce((SELECT p.command FROM history p"
        " WHERE p.shell = h.shell AND p.number = h.number - 1), '')"
    )
    here = f"{columns} FROM (SELECT * FROM history WHERE cwd = ? ORDER BY id DESC LIMIT ?) h WHERE {begins} LIMIT ?"
    rows = connection.execute(here, [clean_text(cwd), _RUNS_READ, *values, limit]).fetchall()
    if len(prefix) >= _SHORTEST:
        anywhere = (
            f"{columns} FROM history_fts f CROSS JOIN history h ON h.id = f.rowid"
            f" WHERE f.history_fts MATCH ? AND {begins} ORDER BY f.rowid DESC LIMIT ?"
        )
        rows += connection.execute(anywhere, [_phrase([prefix]), *values, limit]).fetchall()
    else:
        anywhere = f"{columns} FROM (SELECT * FROM history ORDER BY id DESC LIMIT ?) h WHERE {begins} LIMIT ?"
        rows += connection.execute(anywhere, [_RUNS_READ, *values, limit]).fetchall()
    return [PrefixRun(*row[1:]) for row in {row[0]: row for row in rows}.values()]


def _found_records(connection: sqlite3.Connection, sql: str, values: list[Any]) -> list[ShellRecord]:
    return [record_of(row) for row in connection.execute(sql, values).fetchall()]


def _conditions(wanted: HistoryQuery) -> tuple[list[str], _Where]:
    """The words for the index, and every condition except the folder."""
    words = clean_text(wanted.query).replace("\0", " ").split()
    where = _Where([], [])
    for word in words:
        if len(word) < _SHORTEST:
            where.conditions.append("(instr(lower(h.command), ?) OR instr(lower(h.expanded), ?))")
            where.values.extend([word.lower()] * 2)
    if wanted.failed:
        where.conditions.append("h.exit <> 0")
    plain = {"shell": wanted.shell, "branch": wanted.branch, "state": wanted.state, "source": wanted.source}
    for name, value in plain.items():
        if value:
            where.conditions.append(f"h.{name} = ?")
            where.values.append(clean_text(value))
    if wanted.exit is not None:
        where.conditions.append("h.exit = ?" if wanted.exit == 0 else "h.exit = ? AND h.exit <> 0")
        where.values.append(wanted.exit)
    if wanted.agent is not None:
        where.conditions.append("h.agent = ?")
        where.values.append(clean_text(wanted.agent))
    bounds = (
        ("h.id >= ?", None if wanted.after is None else int(sound(wanted.after) * 1e6)),
        ("h.id < ?", None if wanted.before is None else int(sound(wanted.before) * 1e6)),
        ("h.id > ?", wanted.after_id),
        ("h.id < ?", wanted.before_id),
    )
    for condition, value in bounds:
        if value is not None:
            where.conditions.append(condition)
            where.values.append(value)
    return [word for word in words if len(word) >= _SHORTEST], where


def _below(where: _Where, cwd: str) -> None:
    """Add the folder, in a form that leaves the order of rows to another index."""
    if cwd:
        where.conditions.append("(+h.cwd = ? OR (+h.cwd > ? AND +h.cwd < ?))")
        where.values.extend([cwd, f"{cwd}/", f"{cwd}0"])


def _folders(connection: sqlite3.Connection, cwd: str) -> list[str]:
    """The folders of the history at or below this one, at most one more than `_FOLDERS`."""
    found = connection.execute(
        "WITH RECURSIVE below (name) AS ("
        " SELECT min(cwd) FROM history WHERE cwd > ?1 AND cwd < ?2"
        " UNION ALL SELECT (SELECT min(cwd) FROM history WHERE cwd > below.name AND cwd < ?2) FROM below"
        " WHERE below.name IS NOT NULL LIMIT ?3)"
        " SELECT name FROM below WHERE name IS NOT NULL",
        (f"{cwd}/", f"{cwd}0", _FOLDERS + 1),
    )
    return [cwd, *(str(row[0]) for row in found.fetchall())]


def _phrase(words: list[str]) -> str:
    """The words for FTS5, each quoted, so that nothing in them is syntax."""
    return " ".join('"' + word.replace('"', '""') + '"' for word in words)
