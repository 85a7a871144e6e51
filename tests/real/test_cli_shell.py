"""`gsh-tui shell …` and `gsh run` as processes: start-up files, pausing, the history, what a command printed."""

import json
import os
import shlex
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.kit.command import command, environment
from tests.kit.home import Home
from tests.kit.shells import PLUGIN, zsh
from tests.kit.warm_program import run_gsh

BEFORE = b"# mine, with \xff in it\nexport A=1\n"


def test_install_and_uninstall(home: Home) -> None:
    file = home.path / ".zshrc"
    file.write_bytes(BEFORE)
    file.chmod(0o640)
    ran = run_gsh("shell", "install", "--yes", "--json")
    assert ran.code == 0
    assert ran.json["changed"] is True
    assert file.read_bytes() == BEFORE + ran.json["line"].encode() + b"\n"
    assert Path(ran.json["backup"]).read_bytes() == BEFORE
    assert file.stat().st_mode & 0o777 == 0o640
    again = run_gsh("shell", "install", "--yes", "--json")
    assert again.json["changed"] is False
    assert file.read_bytes().count(b"gsh.plugin.zsh") == 2
    assert run_gsh("shell", "uninstall", "--yes").code == 0
    assert file.read_bytes() == BEFORE


def test_install_asks_first_and_follows_links(home: Home) -> None:
    real = home.path / "dotfiles" / "zshrc"
    real.parent.mkdir()
    real.write_text("a=1")
    (home.path / ".zshrc").symlink_to(real)
    assert run_gsh("shell", "install").code == 4
    assert real.read_text() == "a=1"
    assert run_gsh("shell", "install", "--yes").code == 0
    assert (home.path / ".zshrc").is_symlink()
    assert real.read_text().startswith("a=1\n[[ ! -r ")
    # A line of a copy that is elsewhere is replaced.
    real.write_text(real.read_text().replace(str(PLUGIN), "/old/gsh.plugin.zsh"))
    assert run_gsh("shell", "install", "--yes").code == 0
    assert "/old/" not in real.read_text()
    assert real.read_text().count("shell install") == 1


def test_a_file_that_cannot_be_written(home: Home) -> None:
    (home.path / ".zshrc").mkdir()
    ran = run_gsh("shell", "install", "--yes")
    assert ran.code == 1
    assert ran.err.count("\n") == 1
    assert "source" in ran.err


def test_zdotdir_and_a_bash_that_is_too_old(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    os.environ["ZDOTDIR"] = str(home.path / "z")
    (home.path / "z").mkdir()
    assert run_gsh("shell", "install", "--yes").code == 0
    assert (home.path / "z" / ".zshrc").exists()
    old = home.path / "old"
    old.mkdir()
    (old / "bash").write_text("#!/bin/sh\nprintf '3.2.57(1)-release'\n")
    (old / "bash").chmod(0o755)
    with monkeypatch.context() as mac:
        mac.setenv("PATH", f"{old}:{os.environ['PATH']}")
        added = run_gsh("shell", "install", "bash", "--yes")
        assert added.code == 0 and "bash 3.2.57 is too old for the plugin" in added.err
        ran = run_gsh("shell", "status", "--json")
        assert "bash 3.2.57 is too old" in "".join(ran.json["problems"])
    assert "gsh.bash" in (home.path / ".bashrc").read_text()
    ran = run_gsh("shell", "status", "--json")
    assert sorted(ran.json["installed"]) == ["bash", "zsh"]
    assert "too old" not in "".join(ran.json["problems"])


def test_what_init_prints_is_the_plugin() -> None:
    text = run_gsh("shell", "init", "zsh").out
    assert str(PLUGIN) in text
    ran = subprocess.run(
        [zsh(), "-d", "-f", "-i", "-c", f"{text}\nprint -r -- $+functions[_gsh_preexec] ${{aliases[gsh]}}"],
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert ran.stdout == "1 noglob gsh\n"
    assert ran.stderr == ""
    assert run_gsh("shell", "path").out.strip() == str(PLUGIN)
    assert run_gsh("shell", "init", "tcsh").code == 2


def test_pause_and_resume(home: Home) -> None:
    assert run_gsh("shell", "pause").code == 0
    assert run_gsh("shell", "status", "--json").json["paused"] is True
    assert run_gsh("shell", "resume").code == 0
    assert run_gsh("shell", "status", "--json").json["paused"] is False


def test_status_says_what_is_wrong(home: Home) -> None:
    place = home.runtime / "gsh" / "gsh.sock"
    place.parent.mkdir(mode=0o700, exist_ok=True)
    place.write_text("")
    assert "not a socket" in run_gsh("shell", "status").out


@pytest.mark.parametrize(("shell", "file"), [("bash", "gsh.bash"), ("zsh", "gsh.plugin.zsh")])
def test_status_names_the_plugin_of_the_shell_it_is_typed_in(home: Home, shell: str, file: str) -> None:
    line = f"{shlex.join(command(['shell', 'status', '--json']))}; true"
    said = subprocess.run([shell, "-c", line], env=environment(), capture_output=True, check=True, timeout=60)
    assert Path(json.loads(said.stdout)["plugin"]).name == file


def test_run_keeps_what_was_printed(home: Home) -> None:
    ran = run_gsh("gsh", "run", "--", "sh", "-c", "echo one; echo two; exit 3")
    assert (ran.code, ran.out) == (3, "one\ntwo\n")
    (found,) = run_gsh("shell", "log", "--json", "--output").json
    assert (found["exit"], found["source"], found["output"]) == (3, "run", "one\ntwo\n")
    assert found["command"] == "sh -c 'echo one; echo two; exit 3'"
    assert run_gsh("shell", "log", "--failed", "nothing").out == ""
    assert "one" in run_gsh("shell", "log", "--exit", "3", "--cwd", ".", "--since", "1h", "--output").out
    assert "one" in run_gsh("shell", "log", "--since", "yesterday", "--output").out
    ran = run_gsh("shell", "log", "--since", "whenever")
    assert (ran.code, "is not a time" in ran.err, "yesterday" in ran.err, ran.out) == (2, True, True, "")


def test_run_takes_secrets_out(home: Home) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    assert run_gsh("gsh", "run", "--", "echo", token).out == token + "\n"
    assert token not in run_gsh("shell", "log", "--json", "--output").out


@pytest.mark.parametrize(("words", "code"), [(["nosuchcommand"], 127), ([], 2), (["/"], 126)])
def test_run_of_what_cannot_run(words: list[str], code: int) -> None:
    ran = run_gsh("gsh", "run", "--", *words)
    assert ran.code == code
    assert ran.err.count("\n") == 1


def test_gsh_asks_and_goes_on(home: Home) -> None:
    (home.path / "notes.txt").write_text("what is in it\n")
    os.environ["GSH_SHELL_ID"] = "a-shell"
    first = run_gsh("gsh", "read", "notes.txt", cwd=home.path)
    assert first.code == 0
    assert "what is in it" in first.out
    assert run_gsh("gsh", "--", "what failed?", cwd=home.path).code == 0
    listed = run_gsh("session", "ls", cwd=home.path).out
    assert len(listed.strip().split("\n")) == 2, "below the headings: a follow-up goes on with the conversation"
    assert run_gsh("gsh", "--new", "what", "failed?", cwd=home.path).code == 0
    assert len(run_gsh("session", "ls", cwd=home.path).out.strip().split("\n")) == 3


def test_gsh_refuses_what_nobody_can_be_asked_about(home: Home) -> None:
    assert run_gsh("gsh", "--", "run touch hello", cwd=home.path).code == 4


def test_a_follow_up_knows_what_was_run_since(home: Home) -> None:
    """Not by words of its own in the question, but along with it, as the inspector shows."""
    os.environ["GSH_SHELL_ID"] = "a-shell"
    (home.path / "notes.txt").write_text("noted\n")
    assert run_gsh("gsh", "--", "what failed?", cwd=home.path).code == 0
    assert run_gsh("gsh", "run", "--", "sh", "-c", "echo because; exit 3", cwd=home.path).code == 3
    assert run_gsh("gsh", "read", "notes.txt", cwd=home.path).code == 0
    shown = run_gsh("session", "show", "latest", cwd=home.path).out
    assert "because" not in shown
    with sqlite3.connect(home.data / "gsh" / "gsh.db") as record:
        told = [str(row[0]) for row in record.execute("SELECT data FROM overlays")]
    (later,) = [text for text in told if "Recent Shell Activity" in text]
    assert "exit 3" in later
    assert "because" in later
