"""Older records are brought up to date, with a copy first; newer ones are left alone."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from gshtui.store.engine.encoding import encode_message
from gshtui.store.engine.migrations import MIGRATIONS, VERSION, migrate, version_of
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from tests.kit.home import Home
from tests.kit.record import Notices, numbered_prompt, open_record


def _made_by(path: Path, steps: Sequence[str]) -> str:
    """A record as an older version left it, with two messages. Returns the conversation's id."""
    path.parent.mkdir(mode=0o700, exist_ok=True)
    raw = sqlite3.connect(path, isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    migrate(raw, path, steps)
    raw.execute("INSERT INTO sessions (id, cwd, agent, created, updated, touched) VALUES ('s1', '/p', 'main', 0, 0, 1)")
    for number in (1, 2):
        message = numbered_prompt(number, f"haystack {number} needle")
        raw.execute(
            "INSERT INTO messages (session, seq, message, role, at, data, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
            ("s1", number, message.id, message.role, 0.0, encode_message(message).decode(), message.text),
        )
        raw.execute("UPDATE sessions SET messages = ?, last_seq = ?", (number, number))
    raw.close()
    return "s1"


@pytest.mark.parametrize("version", range(1, VERSION))
async def test_an_older_record_is_copied_and_brought_up_to_date(home: Home, version: int) -> None:
    path = home.data / "gsh" / "gsh.db"
    session = _made_by(path, MIGRATIONS[:version])
    notices = Notices()
    async with open_record(path, notices) as store:
        assert [stored.message.id for stored in await store.messages.read(session)] == ["m1", "m2"]
        assert [hit.seq for hit in await store.messages.search("needle 2")] == [2]
        assert await store.messages.append(session, numbered_prompt(3)) == 3
        assert await store.check() == []
    (copy,) = [file for file in path.parent.iterdir() if file.name.startswith(f"gsh.db.v{version}-")]
    assert str(copy) in notices[0][1]
    assert copy.stat().st_mode & 0o777 == 0o600
    with sqlite3.connect(copy) as raw:
        assert version_of(raw) == version
        assert raw.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    raw.close()
    async with open_record(path, notices):
        pass
    assert len(notices) == 1


async def test_a_new_record_needs_no_copy(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    async with open_record(path):
        pass
    assert {file.name for file in path.parent.iterdir()} == {"gsh.db", "gsh.db.lock"}


async def test_a_newer_record_is_refused_and_left_alone(home: Home) -> None:
    path = home.data / "gsh" / "gsh.db"
    _made_by(path, (*MIGRATIONS, "CREATE TABLE of_tomorrow (id);\n"))
    before = path.read_bytes()
    with pytest.raises(StoreError) as error:
        await Store.open(path, on_notice=Notices())
    assert error.value.kind == "newer"
    assert f"format {VERSION + 1}" in error.value.message
    assert "Update" in error.value.hint
    assert path.read_bytes() == before


def test_a_step_that_fails_leaves_nothing_behind_and_the_copy_stands(tmp_path: Path) -> None:
    path = tmp_path / "gsh.db"
    _made_by(path, MIGRATIONS[:1])
    raw = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError):
        migrate(raw, path, (*MIGRATIONS[:1], "CREATE TABLE half (id);\nINSERT INTO nowhere VALUES (1);\n"))
    assert version_of(raw) == 1
    assert raw.execute("SELECT name FROM sqlite_master WHERE name = 'half'").fetchall() == []
    assert raw.execute("SELECT count(*) FROM messages").fetchone() == (2,)
    raw.close()
    assert len(list(tmp_path.glob("gsh.db.v1-*"))) == 1


def test_every_statement_of_a_step_runs_triggers_included(tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "gsh.db", isolation_level=None)
    assert migrate(raw, tmp_path / "gsh.db") is None
    names = {str(row[0]) for row in raw.execute("SELECT name FROM sqlite_master")}
    raw.close()
    assert {"sessions", "messages", "journal_session", "messages_fts", "messages_fts_delete", "agents", "mail"} <= names
    assert {"overlays", "iterations", "history", "history_fts", "history_delete"} <= names
