"""`gsh-tui config` as a process: what it says, what it writes, and what it refuses."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from gshtui.shell import plugin_files
from tests.kit.command import DEADLINE, command, environment
from tests.kit.configuration import made_project, project_file, user_file
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh


def test_show_says_values_origins_and_problems(home: Home, tmp_path: Path) -> None:
    file = user_file(home, "[agent]\nmax_steps = 7\nmax_step = 8\n")
    ran = run_gsh("config", "show", "--json", "--set", "ui.fps=20", cwd=tmp_path, env={"GSH_UI__THEME": "nord"})
    assert (ran.code, ran.err) == (0, "")
    values = ran.json["values"]
    assert values["agent.max_steps"] == {"value": 7, "origin": {"layer": "user", "where": str(file), "line": 2}}
    assert values["ui.theme"]["origin"] == {"layer": "environment", "where": "GSH_UI__THEME", "line": 0}
    assert values["ui.fps"] == {"value": 20, "origin": {"layer": "flag", "where": "--set ui.fps", "line": 0}}
    assert values["context.max_iterations"]["origin"]["layer"] == "default"
    (problem,) = ran.json["problems"]
    assert (problem["line"], problem["key"], problem["hint"]) == (
        3,
        "agent.max_step",
        "Did you mean `agent.max_steps`?",
    )
    text = run_gsh("config", "show", "agent.max_steps", cwd=tmp_path).out
    assert text.startswith(f"agent.max_steps = 7  # user ({file}:2)\n")


def test_set_then_show(home: Home, tmp_path: Path) -> None:
    ran = run_gsh("config", "set", "agent.auto_approve", '["read"]', "--json", cwd=tmp_path)
    assert ran.json["value"] == ["read"]
    assert run_gsh("config", "show", "agent", "--json", cwd=tmp_path).json["values"]["agent.auto_approve"]["value"] == [
        "read"
    ]
    refused = run_gsh("config", "set", "agent.max_stps", "3", cwd=tmp_path)
    assert (refused.code, refused.out) == (1, "")
    assert "`agent.max_steps`" in refused.err


def test_path_and_schema(home: Home, tmp_path: Path) -> None:
    assert run_gsh("config", "path", "--json", cwd=tmp_path).json["config"] == str(home.config / "gsh" / "config.toml")
    schema = json.loads(run_gsh("config", "schema", cwd=tmp_path).out)
    agent = schema["$defs"][schema["properties"]["agent"]["$ref"].rpartition("/")[2]]
    assert agent["properties"]["max_steps"]["default"] == 50


def test_a_broken_file_is_no_obstacle_to_looking(home: Home, tmp_path: Path) -> None:
    file = user_file(home, "[agent\n")
    ran = run_gsh("config", "show", cwd=tmp_path)
    assert ran.code == 0
    assert f"problem: {file}:1: this is not valid TOML" in ran.out
    assert run_gsh("config", "set", "agent.max_steps", "3", cwd=tmp_path).code == 1


def test_trust_needs_a_person_or_a_yes(home: Home, tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    project_file(project, "[agent]\nmax_steps = 3\n", trusted=False)
    refused = run_gsh("config", "trust", cwd=project)
    assert refused.code == 4
    assert "nobody is there to ask" in refused.err
    values = run_gsh("config", "show", "--json", cwd=project).json
    assert (values["project"]["trust"], values["values"]["agent.max_steps"]["value"]) == ("untrusted", 50)
    assert run_gsh("config", "trust", "--yes", "--json", cwd=project).json["trust"] == "trusted"
    values = run_gsh("config", "show", "--json", cwd=project).json
    assert values["values"]["agent.max_steps"]["value"] == 3
    assert run_gsh("config", "trust", "--revoke", "--json", cwd=project).json["trust"] == "untrusted"


def trusted_by_hand(project: Path, answer: bytes, *, until: bytes) -> tuple[int, bytes]:
    """The exit code, and what a person at a terminal saw."""
    leader, follower = pty.openpty()
    try:
        os.write(leader, answer)
        done = subprocess.run(
            command(["config", "trust"]),
            stdin=follower,
            stdout=subprocess.PIPE,
            stderr=follower,
            cwd=project,
            env=environment(),
            timeout=DEADLINE,
            check=False,
        )
        said = b""
        while until not in said:  # a terminal gives what is there, not all that will be
            said += os.read(leader, 65_536)
    finally:
        os.close(leader)
        os.close(follower)
    return done.returncode, said


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"\n", 4), (b"no\n", 4), (b"\x04", 4)])
def test_trust_shows_the_file_and_asks(home: Home, tmp_path: Path, answer: bytes, code: int) -> None:
    project = made_project(tmp_path / "project")
    project_file(project, "[agent]\nmax_steps = 3 # \x1b]0;title\x07\n", trusted=False)
    returned, said = trusted_by_hand(project, answer, until=b"max_steps = 3")
    assert returned == code
    assert b"max_steps = 3" in said
    assert b"\x1b]0;" not in said


def test_trust_shows_what_was_changed_since(home: Home, tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    (project / "AGENTS.md").write_text("Rules.\n", encoding="utf-8")
    (project / "CLAUDE.md").write_text("Of no interest.\n", encoding="utf-8")
    trusted = run_gsh("config", "trust", "--yes", "--json", cwd=project).json
    assert trusted["files"] == ["AGENTS.md", "CLAUDE.md"]
    (project / "AGENTS.md").write_text("Other \x1b]0;rules\x07.\n", encoding="utf-8")
    returned, said = trusted_by_hand(project, b"n\n", until=b"Other ")
    assert returned == 4
    assert b"AGENTS.md (changed) says" in said and b"Other " in said
    assert b"CLAUDE.md" not in said and b"\x1b]0;" not in said


def test_edit_opens_the_editor_and_says_what_is_wrong_after(home: Home, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf '[agent]\\nmax_step = 1\\n' > \"$2\"\n", encoding="utf-8")
    editor.chmod(0o755)
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            command(["config", "edit"]),
            stdin=follower,
            stdout=follower,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment({"VISUAL": f"{editor} --wait"}),
            timeout=DEADLINE,
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 0
    assert b"Did you mean `agent.max_steps`?" in done.stderr
    assert (home.config / "gsh" / "config.toml").stat().st_mode & 0o777 == 0o600


SET = ("config", "set", "shell.notices", "false")


@pytest.mark.parametrize("words", [SET, ("run", " ".join(SET))])
def test_a_changed_setting_reaches_the_shells_plugins(home: Home, tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = run_gsh(*words, cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert "notices=no" in (plugin_files.options_folder() / "options").read_text(encoding="utf-8")
