"""The record's tables, one constant per version of the format, and the steps from older versions.

Backs the file up before the first step; refuses a file of a newer version.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from gshtui.store.engine.record_files import beside, create_file
from gshtui.store.engine.store_errors import StoreError

RECORD = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL DEFAULT '',
    cwd TEXT NOT NULL DEFAULT '',
    agent TEXT NOT NULL DEFAULT '',
    provider TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    parent TEXT NOT NULL DEFAULT '',
    created REAL NOT NULL,
    updated REAL NOT NULL,
    touched INTEGER NOT NULL,          -- order of last use, independent of the clock
    messages INTEGER NOT NULL DEFAULT 0,
    last_seq INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_touched ON sessions (touched);
CREATE INDEX sessions_cwd ON sessions (cwd, touched);

CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    message TEXT NOT NULL,             -- the message's own id
    role TEXT NOT NULL,
    at REAL NOT NULL,
    data TEXT NOT NULL,                -- all of it, as JSON
    body TEXT NOT NULL,                -- its words, for the search
    UNIQUE (session, seq),
    UNIQUE (session, message)
);

CREATE TABLE partials (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (session, message)
);

CREATE TABLE outputs (
    key TEXT PRIMARY KEY,              -- hash of the text
    bytes INTEGER NOT NULL,
    packed INTEGER NOT NULL,           -- 1: zlib
    data BLOB NOT NULL
);
CREATE TABLE output_uses (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    call TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (session, call, key)
);
CREATE INDEX output_uses_key ON output_uses (key);

CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    type TEXT NOT NULL,
    at REAL NOT NULL,
    data TEXT NOT NULL                 -- the event's line, as on the wire
);
CREATE INDEX journal_session ON journal (session, seq);

CREATE TABLE holds (
    session TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    place TEXT NOT NULL,
    machine TEXT NOT NULL,             -- boot and process-id space, in which pid and started mean something
    pid INTEGER NOT NULL,
    started TEXT NOT NULL,
    since REAL NOT NULL
);

CREATE TABLE grants (
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    pattern TEXT NOT NULL,
    created REAL NOT NULL,
    PRIMARY KEY (project, tool, pattern)
);

CREATE TABLE prompts (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    cwd TEXT NOT NULL,
    text TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX prompts_cwd ON prompts (cwd, id);
"""

SEARCH = """
CREATE VIRTUAL TABLE messages_fts USING fts5 (
    body, content='messages', content_rowid='id', tokenize='unicode61 remove_diacritics 2', prefix='3'
);
CREATE TRIGGER messages_fts_insert AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts (rowid, body) VALUES (new.id, new.body);
END;
CREATE TRIGGER messages_fts_delete AFTER DELETE ON messages BEGIN
    INSERT INTO messages_fts (messages_fts, rowid, body) VALUES ('delete', old.id, old.body);
END;
INSERT INTO messages_fts (messages_fts) VALUES ('rebuild');
"""

AGENTS = """
CREATE TABLE agents (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    name TEXT NOT NULL,
    home TEXT NOT NULL DEFAULT '',     -- folder of the window that it belongs to
    data TEXT NOT NULL,                -- the row, as JSON
    request TEXT NOT NULL,             -- what was asked for, as JSON
    revision INTEGER NOT NULL,         -- order of the last changes, over all rows
    removed INTEGER NOT NULL DEFAULT 0,
    machine TEXT NOT NULL DEFAULT '',  -- with pid and started: the hub that looks after it
    pid INTEGER NOT NULL DEFAULT 0,
    started TEXT NOT NULL DEFAULT ''
);
CREATE INDEX agents_revision ON agents (revision);
"""

MAIL = """
CREATE TABLE mail (
    id TEXT PRIMARY KEY,
    recipient TEXT NOT NULL,
    sender TEXT NOT NULL,
    state TEXT NOT NULL,
    created REAL NOT NULL,
    data TEXT NOT NULL,                -- the message, as JSON
    revision INTEGER NOT NULL,         -- order of the last changes, over all rows
    machine TEXT NOT NULL DEFAULT '',  -- with pid and started: the process that delivers it now
    pid INTEGER NOT NULL DEFAULT 0,
    started TEXT NOT NULL DEFAULT ''
);
CREATE INDEX mail_state ON mail (state, recipient);
CREATE INDEX mail_sender ON mail (sender, created);
CREATE INDEX mail_revision ON mail (revision);
"""

CONTEXT = """
CREATE TABLE overlays (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    at REAL NOT NULL,
    data TEXT NOT NULL                 -- the overlay, as JSON; never changed, undone by a later one
);
CREATE INDEX overlays_session ON overlays (session, seq);

CREATE TABLE texts (
    hash TEXT PRIMARY KEY,             -- of what a block sent
    bytes INTEGER NOT NULL,
    packed INTEGER NOT NULL,           -- 1: zlib
    data BLOB NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE text_uses (
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    hash TEXT NOT NULL,
    PRIMARY KEY (session, hash)
);
CREATE INDEX text_uses_hash ON text_uses (hash);

CREATE TABLE iterations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    agent TEXT NOT NULL,
    number INTEGER NOT NULL,           -- place among the agent's in this session, from 1
    base INTEGER,                      -- the iteration whose list of blocks this one builds on; none: complete
    packed INTEGER NOT NULL,           -- 1: zlib
    blocks BLOB NOT NULL,              -- what differs from the base, as JSON
    data TEXT NOT NULL                 -- the mark of the timeline, as JSON
);
CREATE INDEX iterations_session ON iterations (session, agent, number);
CREATE INDEX iterations_agent ON iterations (agent, seq);

CREATE TABLE usage (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL,
    agent TEXT NOT NULL,
    turn TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    at REAL NOT NULL,
    day TEXT NOT NULL,                 -- local date, YYYY-MM-DD
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL DEFAULT 'turn',
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    estimate INTEGER NOT NULL DEFAULT 0,
    cost REAL,                         -- US dollars; none: the price is unknown
    seconds REAL NOT NULL DEFAULT 0,
    UNIQUE (session, agent, turn, iteration, purpose, at)
);
CREATE INDEX usage_day ON usage (day);
CREATE INDEX usage_agent ON usage (agent, at);
CREATE INDEX sessions_parent ON sessions (parent) WHERE parent <> '';
"""

SHELL = """
CREATE TABLE history (
    id INTEGER PRIMARY KEY,            -- its time in microseconds, moved on to where it is free: the order of all
    shell TEXT NOT NULL,
    number INTEGER NOT NULL,
    command TEXT NOT NULL,
    expanded TEXT NOT NULL DEFAULT '',
    cwd TEXT NOT NULL DEFAULT '',
    host TEXT NOT NULL DEFAULT '',
    tty TEXT NOT NULL DEFAULT '',
    pane TEXT NOT NULL DEFAULT '',
    branch TEXT NOT NULL DEFAULT '',
    program TEXT NOT NULL DEFAULT '',
    at REAL NOT NULL,
    duration REAL,
    exit INTEGER,
    pipestatus TEXT NOT NULL DEFAULT '',
    state TEXT NOT NULL,
    cut INTEGER NOT NULL DEFAULT 0,
    output TEXT NOT NULL DEFAULT '',
    output_lines INTEGER NOT NULL DEFAULT 0,
    agent TEXT NOT NULL DEFAULT '',
    source TEXT NOT NULL DEFAULT 'shell',
    UNIQUE (shell, number)
);
CREATE INDEX history_cwd ON history (cwd, id);
CREATE INDEX history_failed ON history (id) WHERE exit <> 0;
CREATE INDEX history_exit ON history (exit, id) WHERE exit <> 0;
CREATE INDEX history_running ON history (shell) WHERE state = 'running';
CREATE INDEX history_output ON history (output) WHERE output <> '';
CREATE VIRTUAL TABLE history_fts USING fts5 (
    command, expanded, content='history', content_rowid='id', tokenize='trigram'
);
CREATE TABLE history_size (rows INTEGER NOT NULL);
INSERT INTO history_size (rows) VALUES (0);
CREATE TRIGGER history_insert AFTER INSERT ON history BEGIN
    INSERT INTO history_fts (rowid, command, expanded) VALUES (new.id, new.command, new.expanded);
    UPDATE history_size SET rows = rows + 1;
END;
CREATE TRIGGER history_delete AFTER DELETE ON history BEGIN
    INSERT INTO history_fts (history_fts, rowid, command, expanded)
        VALUES ('delete', old.id, old.command, old.expanded);
    UPDATE history_size SET rows = rows - 1;
END;
CREATE TRIGGER history_update AFTER UPDATE OF command, expanded ON history
WHEN old.command IS NOT new.command OR old.expanded IS NOT new.expanded BEGIN
    INSERT INTO history_fts (history_fts, rowid, command, expanded)
        VALUES ('delete', old.id, old.command, old.expanded);
    INSERT INTO history_fts (rowid, command, expanded) VALUES (new.id, new.command, new.expanded);
END;
CREATE TABLE shell_notes (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    at REAL NOT NULL,
    shell TEXT NOT NULL DEFAULT '',
    cwd TEXT NOT NULL DEFAULT '',
    seq INTEGER NOT NULL DEFAULT 0     -- of the shell's line that said it; 0: it was no shell's line
);
CREATE INDEX shell_notes_at ON shell_notes (at);
CREATE UNIQUE INDEX shell_notes_seq ON shell_notes (shell, seq) WHERE seq > 0;
CREATE TABLE shell_halves (
    shell TEXT NOT NULL,
    number INTEGER NOT NULL,
    data TEXT NOT NULL,                -- the end of a command whose beginning has not come yet, as JSON
    at REAL NOT NULL,
    PRIMARY KEY (shell, number)
);
CREATE TABLE shells (
    shell TEXT PRIMARY KEY,
    data TEXT NOT NULL,                -- what it said when it started, as JSON
    at REAL NOT NULL
);
"""

MEMORY = """
CREATE TABLE memory (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order in which the notes were first written
    agent TEXT NOT NULL,
    project TEXT NOT NULL,             -- the project's folder; empty: the note holds in all of them
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    author TEXT NOT NULL,
    at REAL NOT NULL,                  -- when it was last written
    UNIQUE (agent, project, key)
);
"""

CALLS = """
CREATE TABLE calls (
    name TEXT PRIMARY KEY,
    created REAL NOT NULL,
    data TEXT NOT NULL,                -- topic, owner, settings, as JSON
    messages INTEGER NOT NULL DEFAULT 0,
    revision INTEGER NOT NULL          -- order of the last changes, over all rows
);
CREATE INDEX calls_revision ON calls (revision);
INSERT INTO calls (name, created, data, revision) VALUES ('lobby', 0, '{"name":"lobby"}', 1);
CREATE TABLE call_members (
    call TEXT NOT NULL REFERENCES calls (name) ON DELETE CASCADE,
    member TEXT NOT NULL,              -- id of an agent, or the principal of a person
    name TEXT NOT NULL,
    is_agent INTEGER NOT NULL,
    joined REAL NOT NULL,
    seen INTEGER NOT NULL,             -- number of the last message seen or sent
    PRIMARY KEY (call, member)
);
CREATE TABLE call_messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    call TEXT NOT NULL REFERENCES calls (name) ON DELETE CASCADE,
    seq INTEGER NOT NULL,              -- from 0
    message TEXT NOT NULL UNIQUE,      -- the message's own id
    author TEXT NOT NULL,
    at REAL NOT NULL,
    data TEXT NOT NULL,                -- all of it, as JSON
    pending INTEGER NOT NULL,          -- 1: not yet put to all whom it asks
    UNIQUE (call, seq)
);
CREATE INDEX call_messages_pending ON call_messages (id) WHERE pending;
CREATE TABLE call_pins (
    call TEXT NOT NULL REFERENCES calls (name) ON DELETE CASCADE,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    author TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (call, name)
);
CREATE TABLE call_presence (
    member TEXT PRIMARY KEY,
    call TEXT NOT NULL,                -- the call that they are in now
    at REAL NOT NULL,                  -- when they last did something there
    doing TEXT NOT NULL DEFAULT ''     -- in their own words
);
"""


WORKFLOWS = """
CREATE TABLE workflow_runs (
    id TEXT PRIMARY KEY,
    workflow TEXT NOT NULL,
    cwd TEXT NOT NULL,
    state TEXT NOT NULL,
    started REAL NOT NULL,
    data TEXT NOT NULL                 -- all of it, as JSON
);
CREATE INDEX workflow_runs_folder ON workflow_runs (cwd, started);
CREATE TABLE workflow_steps (
    run TEXT NOT NULL REFERENCES workflow_runs (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    state TEXT NOT NULL,               -- `running` from before it begins until it has ended
    data TEXT NOT NULL,
    PRIMARY KEY (run, number)
);
"""


MEDIA = """
CREATE TABLE media_uses (              -- files of pictures, documents and sounds, in the record's folder
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    PRIMARY KEY (session, key)
);
"""


FORKS = """
CREATE TABLE session_bases (           -- forks: their first messages are those of another conversation
    session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE,
    base TEXT NOT NULL,
    upto INTEGER NOT NULL,             -- the last `seq` that is taken over
    rewound INTEGER NOT NULL DEFAULT 0 -- 1: made by a rewind, which can be undone
);
CREATE INDEX session_bases_base ON session_bases (base);
CREATE TABLE checkpoints (             -- the files of a folder, as trees of its shadow repository
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    message TEXT NOT NULL,             -- id of the prompt
    kind TEXT NOT NULL,                -- before, after (its turn), rewound (from there)
    folder TEXT NOT NULL,
    tree TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE INDEX checkpoints_session ON checkpoints (session, id);
"""


PASSING = """
CREATE TABLE passing_sessions (        -- conversations that are not kept: deleted when closed, or found abandoned
    session TEXT PRIMARY KEY REFERENCES sessions (id) ON DELETE CASCADE
);
"""


QUEUE = """
CREATE TABLE queued_prompts (          -- prompts that wait; a prompt leaves with the message that it becomes
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    prompt TEXT NOT NULL UNIQUE,       -- its id, and that of its message
    session TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    at REAL NOT NULL,
    data TEXT NOT NULL                 -- all of it, as JSON
);
CREATE INDEX queued_prompts_session ON queued_prompts (session, number);
"""


ARCHIVE = """
ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
"""


MIGRATIONS: tuple[str, ...] = (
    *(RECORD, SEARCH, AGENTS, MAIL, CONTEXT, SHELL, MEMORY, CALLS, WORKFLOWS, MEDIA, FORKS),
    *(PASSING, QUEUE, ARCHIVE),
)
"""SQL of each step; the file's `user_version` counts the completed ones."""
VERSION = len(MIGRATIONS)


def version_of(connection: sqlite3.Connection) -> int:
    """How many steps the file has completed; 0 for an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[str] = MIGRATIONS) -> Path | None:
    """Upgrade the file to the newest format; an existing one is backed up first.

    Returns:
        The backup, if one was made.

    Raises `StoreError`: the file comes from a newer version (`newer`). sqlite3.Error: a step failed; it left nothing
    behind, and the earlier steps remain.
    """
    version = version_of(connection)
    if version > len(steps):
        raise StoreError(
            "newer",
            f"A newer gsh-tui wrote the record {path} (format {version}; this one knows {len(steps)}).",
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
    """Copy the record beside itself, completely and on disk before this returns."""
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
    """All or nothing, taking the write lock at once."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    """The script's statements one by one: `executescript` would commit their transaction."""
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            if pending.strip():
                yield pending
            pending = ""
