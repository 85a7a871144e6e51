"""Histories of zsh, bash, Atuin and the daemon before are taken in once, and come out again as JSON lines."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.shell import history_import
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh

ODD = ["echo 'ü日本 \x83'", "for a in 1 2\ndo echo $a\ndone", "echo \\\\", "echo a \\\n  b", ": 12:0;not a time", "ls"]


def imported(*words: str) -> dict[str, Any]:
    done = run_gsh("shell", "import", *words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def history() -> list[dict[str, Any]]:
    done = run_gsh("shell", "export")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.split("\n") if line]


@pytest.mark.parametrize("extended", [True, False])
def test_what_zsh_itself_wrote(home: Home, tmp_path: Path, extended: bool) -> None:
    file = tmp_path / "history"
    script = f"{'' if extended else 'un'}setopt extended_history; HISTSIZE=100; SAVEHIST=100; unset HISTFILE; "
    script += 'file=$1; shift; for c in "$@"; do print -rs -- "$c"; done; fc -W $file'
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(home.path)}
    words = ["zsh", "-fic", script, "-", str(file), *ODD]
    subprocess.run(words, check=True, env=environ, stdin=subprocess.DEVNULL, capture_output=True)
    found = imported("zsh", str(file))
    assert (found["found"], found["added"]) == (len(ODD), len(ODD))
    rows = history()
    assert [row["command"] for row in rows] == ODD
    assert (rows[0].get("at", 0) > 1e9) == extended
    again = imported("zsh", str(file))
    assert (again["added"], again["known"]) == (0, len(ODD))
    with file.open("ab") as more:
        more.write(b": 1999999999:0;one more\n" if extended else b"ls\n")
    assert imported("zsh", str(file))["added"] == 1


def test_secrets_and_ignored_commands_stay_out(home: Home, tmp_path: Path) -> None:
    (home.config / "gsh").mkdir(exist_ok=True)
    (home.config / "gsh" / "config.toml").write_text('[shell]\nignore = ["pass *"]\n')
    file = tmp_path / "h"
    file.write_text("export API_TOKEN=abcdefgh12345678\npass show bank\nls\n")
    found = imported("bash", str(file))
    assert (found["added"], found["ignored"]) == (2, 1)
    assert [row["command"] for row in history()] == ["export API_TOKEN=[redacted]", "ls"]


def test_bash_with_times_has_commands_of_several_lines(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "h"
    file.write_bytes(b"#1700000000\nfor a in 1\ndo ls\ndone\n#1700000009\nls \xff\n")
    imported("bash", str(file))
    assert [(row["command"], row["at"]) for row in history()] == [
        ("for a in 1\ndo ls\ndone", 1_700_000_000.0),
        ("ls \ufffd", 1_700_000_009.0),
    ]


def test_atuin(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "history.db"
    with sqlite3.connect(file) as made:
        made.execute(
            "CREATE TABLE history (id TEXT PRIMARY KEY, timestamp INTEGER, duration INTEGER, exit INTEGER,"
            " command TEXT, cwd TEXT, session TEXT, hostname TEXT, deleted_at INTEGER)"
        )
        made.executemany(
            "INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, 's', 'box:me', ?)",
            [
                ("a", 1_700_000_001_500_000_000, 2_000_000_000, 1, "make test", "/p", None),
                ("b", 1_700_000_000_000_000_000, -1, -1, "vim", "unknown", None),
                ("c", 1_700_000_002_000_000_000, 1, 0, "deleted", "/p", 1),
            ],
        )
    made.close()
    before = file.read_bytes()
    assert imported("atuin", str(file))["added"] == 2 and imported("atuin", str(file))["added"] == 0
    first, second = history()
    assert first["command"] == "vim" and "exit" not in first and first.get("cwd", "") == ""
    assert (second["exit"], second["duration"], second["at"], second["host"]) == (1, 2.0, 1_700_000_001.5, "box")
    assert file.read_bytes() == before
    (tmp_path / "other.db").write_text("nothing of the kind")
    done = run_gsh("shell", "import", "atuin", str(tmp_path / "other.db"))
    assert done.code == 1 and "cannot read" in done.err and "Traceback" not in done.err


def test_the_daemons_lines_and_our_own_export(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "shell-history.jsonl"
    lines = [
        {
            "Command": {
                "timestamp": 1_700_000_000_123,
                "command": "cargo test",
                "pwd": "/p",
                "exit_code": 101,
                "duration_ms": 1500,
            }
        },
        {
            "type": "Command",
            "timestamp": 1_700_000_001,
            "command": "ls",
            "cwd": "/q",
            "exit_code": None,
            "duration_ms": None,
        },
        {"DirChange": {"timestamp": 1_700_000_002, "from": "/p", "to": "/q"}},
        {"UserNote": {"timestamp": 1_700_000_003, "content": "look here"}},
    ]
    file.write_text("\n".join([*map(json.dumps, lines), "torn {", "[1]", ""]))
    found = imported("jsonl", str(file))
    assert (found["added"], found["notes"], found["unread"]) == (2, 2, 2)
    assert imported("jsonl", str(file))["notes"] == 0
    first, _ = history()
    assert (first["at"], first["exit"], first["duration"], first["cwd"]) == (1_700_000_000.123, 101, 1.5, "/p")
    out = tmp_path / "out.jsonl"
    assert run_gsh("shell", "export", str(out)).code == 0 and out.stat().st_mode & 0o777 == 0o600
    assert run_gsh("shell", "export", str(out)).code == 1
    again = imported("jsonl", str(out))
    assert (again["found"], again["added"], again["known"], again["unread"]) == (2, 0, 2, 0)


def test_a_file_that_is_not_there_is_one_sentence(home: Home) -> None:
    done = run_gsh("shell", "import", "zsh", "/nowhere/history")
    assert done.code == 1 and done.out == "" and "No such file" in done.err


@given(st.binary(max_size=200))
def test_any_bytes_are_read_without_an_error(raw: bytes) -> None:
    for read in (history_import.read_zsh, history_import.read_bash):
        assert [row.number for row in read(raw)] == [row.number for row in read(raw)]
    list(history_import.read_json_lines(raw.split(b"\n")))
