"""Profiles: what ships, what a user writes, and what is wrong with what they wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.programs import profile as profiles

LOADED = profiles.load(Path("/nonexistent"))


def test_what_ships_is_in_order() -> None:
    assert LOADED.problems == ()
    assert set(LOADED.profiles) == {"aider", "claude", "codex", "gemini", "opencode", "python", "repl", "shell", "vibe"}
    for profile in LOADED.profiles.values():
        assert not profile.ai or profile.timing.idle >= 10
        assert profile.keys.interrupt and profile.keys.exit


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["claude"], "claude"),
        (["/opt/bin/codex", "--model", "x"], "codex"),
        (["env", "A=1", "claude"], "claude"),
        (["npx", "opencode"], "opencode"),
        (["python3", "-q"], "python"),
        (["python3", "-i", "app.py"], "python"),
        (["python3", "app.py"], "repl"),
        (["python3", "-m", "http.server"], "repl"),
        (["/bin/bash", "--rcfile", "own", "-i"], "shell"),
        (["-zsh"], "shell"),
        (["bash", "-c", "make"], "repl"),
        (["psql", "db"], "repl"),
        (["my-own-thing", "claude"], "repl"),
    ],
)
def test_a_command_line_finds_its_profile(argv: list[str], name: str) -> None:
    assert LOADED.for_argv(argv).name == name


def test_a_users_profile_replaces_the_one_that_ships(tmp_path: Path) -> None:
    (tmp_path / "claude.toml").write_text('title = "Mine"\nprograms = ["claude"]\n', "utf-8")
    (tmp_path / "tool.toml").write_text('title = "Tool"\nprograms = ["tool"]\nai = false\n', "utf-8")
    loaded = profiles.load(tmp_path)
    assert loaded.problems == ()
    assert loaded.get("claude").title == "Mine"
    assert loaded.origins["claude"] == tmp_path / "claude.toml"
    assert loaded.for_argv(["tool"]).name == "tool"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "is not valid TOML"),
        ("programs = ['x']", "missing required field `title`"),
        ("title = 'x'\ncolour = 'red'", "unknown field `colour`"),
        ("title = 'x'\n[timing]\nenter = -1", "`$.timing.enter`"),
        ("title = 'x'\n[[rules]]\nstatus = 'idle'\nall = ['(']", "the pattern '(' is wrong"),
        ("title = 'x'\n[[rules]]\nstatus = 'idle'\nall = ['(?=a)b']", "look-around"),
        ("title = 'x'\n[[rules]]\nstatus = 'idle'", "would always match"),
        ("title = 'x'\n[[rules]]\nstatus = 'sleepy'\nall = ['x']", "sleepy"),
        ("title = 'x'\n[timing]\nidle = 2", "must be at least 10 seconds"),
        ("title = 'x'\n[conversation]\nresume = ['--resume']", "do not name {id}"),
        ("title = 'x'\n[hooks.events]\nStop = 'happy'", "names unknown statuses: happy"),
        ("title = 'x'\nname = '../x'", "must consist of"),
        ("x = " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_profile_is_told_in_a_sentence_and_the_others_stay(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.toml").write_text(text, "utf-8")
    loaded = profiles.load(tmp_path)
    (problem,) = loaded.problems
    assert says in problem
    assert str(tmp_path / "bad.toml") in problem
    assert "\n" not in problem
    assert set(loaded.profiles) == set(LOADED.profiles)


def test_a_name_that_is_none_says_which_there_are() -> None:
    with pytest.raises(profiles.ProfileError, match="the profiles are aider, claude"):
        LOADED.get("clode")
