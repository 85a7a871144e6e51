"""Which hooks there are: a person's own, Claude Code's once approved exactly, and the sentence for each bad entry."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gshtui.agents.hooks.hook_set import HookSet, approve, read_hooks, withdraw
from gshtui.settings.loader import load
from tests.kit.configuration import made_project, project_file, user_file
from tests.kit.home import Home


def claude(folder: Path, hooks: Any) -> Path:
    file = folder / ".claude" / "settings.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    return file


def command(line: str, matcher: str = "", **more: Any) -> dict[str, Any]:
    return {"matcher": matcher, "hooks": [{"type": "command", "command": line, **more}]}


def read(folder: Path) -> HookSet:
    return read_hooks(load(folder).settings.hooks, folder, os.environ)


def test_a_persons_own_run_and_a_project_can_set_none(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    user_file(home, '[[hooks.PreToolUse]]\nmatcher = "Bash|Edit"\ncommand = "check"\ntimeout = 5\n')
    project_file(project, '[[hooks.Stop]]\ncommand = "theirs"\n')
    found = read(project)
    assert [(one.event, one.command, one.approved) for one in found.hooks] == [("PreToolUse", "check", True)]
    assert [one.command for one in found.find_matching("PreToolUse", "Bash")] == ["check"]
    assert found.find_matching("PreToolUse", "BashOutput") == []
    assert any("a project cannot set" in str(problem) for problem in load(project).problems)


def test_those_of_claude_code_run_once_approved_exactly(tmp_path: Path, home: Home) -> None:
    project = made_project(tmp_path / "project")
    claude(home.path, {"Stop": [command("mine", timeout=3)]})
    asking = {"hooks": [{"type": "prompt", "prompt": "Is it good?"}]}
    claude(project, {"Wrong": [command("x")], "PreToolUse": [command("theirs", "Bash"), asking]})
    found = read(project)
    assert [(one.command, one.approved) for one in found.hooks] == [("mine", False), ("theirs", False)]
    assert found.find_matching("Stop") == []
    assert "hooks of 'Wrong' are not run here" in found.problems[0]
    assert "a hook of PreToolUse has the type 'prompt'" in found.problems[1]
    approve({one.id: one.command == "mine" for one in found.hooks})
    found = read(project)
    assert [(one.command, one.approved, one.sandbox) for one in found.hooks] == [
        ("mine", True, False),
        ("theirs", True, True),
    ]
    claude(project, {"PreToolUse": [command("theirs; rm -rf /", "Bash")]})
    assert read(project).find_matching("PreToolUse", "Bash") == []
    claude(project, {"PreToolUse": [command("theirs", "Edit")]})
    assert read(project).find_matching("PreToolUse", "Edit") == [], "another matcher asks again"
    withdraw([found.hooks[0].id])
    assert read(project).find_matching("Stop") == []


def test_what_gsh_tui_put_there_itself_is_left_out(tmp_path: Path, home: Home) -> None:
    claude(home.path, {"Stop": [command("/usr/bin/python3 /x/gshtui/programs/report_hook.py")]})
    assert read(tmp_path).hooks == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('command = ""', "either `command` or `url`"),
        ('command = "x"\nurl = "http://127.0.0.1/"', "either `command` or `url`"),
        ('url = "http://example.com/"', "not an http address of this machine"),
        ('url = "http://127.0.0.1.example.com/"', "not an http address of this machine"),
        ('url = "https://127.0.0.1/"', "not an http address of this machine"),
        ('command = "x"\nmatcher = "("', "is not an expression"),
    ],
)
def test_a_bad_entry_is_one_sentence(tmp_path: Path, home: Home, entry: str, said: str) -> None:
    user_file(home, f"[[hooks.Stop]]\n{entry}\n")
    found = read(tmp_path)
    assert found.hooks == []
    assert said in found.problems[0]


@pytest.mark.parametrize("text", ["{", '{"hooks": 3}', '{"hooks": {"Stop": 3}}', '{"hooks": {"Stop": [3, {}]}}', "[]"])
def test_a_broken_file_is_no_hook(tmp_path: Path, home: Home, text: str) -> None:
    claude(home.path, {}).write_text(text, encoding="utf-8")
    assert read(tmp_path).hooks == []
