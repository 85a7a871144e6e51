"""`gsh-tui doctor` as a process: what is missing, and how it is got; the record, the folders, the keys."""

import os
import sqlite3
from pathlib import Path

import pytest

from gshtui.headless.program import diagnosis, doctor_programs
from tests.kit.command import CommandResult
from tests.kit.command import run_gsh as run_alone
from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.warm_program import run_gsh


def programs(folder: Path, **versions: str) -> dict[str, str]:
    """An environment whose PATH has only these programs, each saying its version."""
    folder.mkdir(exist_ok=True)
    for name, version in versions.items():
        program = folder / name
        program.write_text(f"#!/bin/sh\necho '{version}'\n", encoding="utf-8")
        program.chmod(0o755)
    return {"PATH": str(folder)}


ALL = {"tmux": "tmux 3.3a", "zsh": "zsh 5.9 (x86)", "git": "git version 2.39.5", "rg": "ripgrep 13.0.0"}


def finding(ran: CommandResult, name: str) -> dict[str, str]:
    return next(found for found in ran.json["findings"] if found["name"] == name)


def test_everything_is_there(tmp_path: Path) -> None:
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=programs(tmp_path / "bin", bwrap="bubblewrap 0.8.0", **ALL))
    assert (ran.code, ran.err, ran.json["ok"], ran.json["install"]) == (0, "", True, "")
    assert finding(ran, "tmux")["detail"].startswith("3.3 at ")
    assert run_gsh("doctor", cwd=tmp_path, env=programs(tmp_path / "bin")).out.endswith(
        "Everything required is there.\n"
    )


def test_a_package_that_a_python_has_none_of_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [one.name for one in diagnosis.examine_python()] == ["Python"]
    monkeypatch.setattr(diagnosis, "find_spec", lambda _: None)
    python, *rest = diagnosis.examine_python()
    assert (python.status, [one.name for one in rest]) == ("ok", ["tree-sitter", "agent-client-protocol"])
    assert "each shell line" in rest[0].detail


def test_what_is_missing_comes_with_its_command(tmp_path: Path) -> None:
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=programs(tmp_path / "bin", git="git version 2.39.5"))
    assert (ran.code, ran.json["ok"]) == (1, False)
    tmux = finding(ran, "tmux")
    assert (tmux["status"], tmux["needed"]) == ("missing", True)
    assert "tmux" in tmux["fix"]
    assert finding(ran, "ripgrep")["needed"] is False
    assert all(package in ran.json["install"] for package in ("tmux", "zsh", "ripgrep"))


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ("tmux 2.9a", "problem"),
        ("tmux 3.0", "ok"),
        ("tmux next-3.5", "ok"),
        ("tmux master", "ok"),
        ("tmux openbsd-7.4", "ok"),
        ("nonsense", "problem"),
    ],
)
def test_versions(tmp_path: Path, said: str, status: str) -> None:
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=programs(tmp_path / "bin", **{**ALL, "tmux": said}))
    assert finding(ran, "tmux")["status"] == status
    assert ran.code == (0 if status == "ok" else 1)


def test_only_optional_things_missing_is_fine(tmp_path: Path) -> None:
    needed = {name: said for name, said in ALL.items() if name != "rg"}
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=programs(tmp_path / "bin", **needed))
    assert (ran.code, finding(ran, "ripgrep")["status"]) == (0, "missing")


def test_programs_whose_profiles_nobody_tested_are_named(tmp_path: Path, home: Home) -> None:
    own = home.config / "gsh" / "profiles" / "wrong.toml"
    own.parent.mkdir(parents=True)
    own.write_text('title = "Wrong"\nnonsense = 1\n')
    env = programs(tmp_path / "bin", **ALL, claude="2.1.197", goose="1.0")
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=env)
    assert (ran.code, finding(ran, "claude")["status"], finding(ran, "goose")["status"]) == (0, "ok", "note")
    assert "tested with 2.1.197" in finding(ran, "claude")["detail"]
    assert "untested" in finding(ran, "goose")["detail"]
    assert "wrong.toml is not a profile" in finding(ran, "profiles")["detail"]
    assert not [one for one in ran.json["findings"] if one["name"] in ("codex", "shell", "amp")]


@pytest.mark.parametrize(
    ("version", "status", "says"),
    [
        ("99.0.1 (Claude Code)", "note", "99.0.1 at "),
        ("0.1.2 (Claude Code)", "note", "0.1.2 at "),
        ("no version", "note", "does not tell"),
    ],
)
def test_a_version_whose_screens_were_never_seen_is_a_note(
    tmp_path: Path, version: str, status: str, says: str
) -> None:
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=programs(tmp_path / "bin", **ALL, claude=version))
    found = finding(ran, "claude")
    assert (ran.code, found["status"], found["fix"]) == (0, status, "gsh-tui run 'program_hooks install claude'")
    assert says in found["detail"] and "its screen rules were seen with " in found["detail"]


def test_keys_are_named_and_never_shown(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": "sk-secret-value", "OPENAI_API_KEY": ""}
    ran = run_gsh("doctor", "--json", cwd=tmp_path, env=env)
    assert "sk-secret-value" not in ran.out + ran.err
    assert finding(ran, "anthropic")["detail"] == "ANTHROPIC_API_KEY is set"
    assert finding(ran, "openai")["detail"] == "OPENAI_API_KEY is set but empty"
    assert finding(ran, "in use")["status"] == "ok"


def test_a_damaged_record_is_found(home: Home, tmp_path: Path) -> None:
    folder = home.data / "gsh"
    folder.mkdir(mode=0o700)
    (folder / "gsh.db").write_bytes(b"this is no database" * 1000)
    ran = run_gsh("doctor", "--json", cwd=tmp_path)
    said = " ".join(found["detail"] for found in ran.json["findings"] if found["name"] == "record")
    assert "gsh.db" in said
    assert "damaged" in said or "recover" in said or "corrupt" in said


def test_a_sound_record_is_checked_and_none_is_made(home: Home, tmp_path: Path) -> None:
    ran = run_gsh("doctor", "--json", cwd=tmp_path)
    assert finding(ran, "record")["status"] == "ok"
    assert not (home.data / "gsh" / "gsh.db").exists()
    assert run_gsh("session", "ls", cwd=tmp_path).code == 0
    ran = run_gsh("doctor", "--json", cwd=tmp_path)
    assert "is sound" in finding(ran, "record")["detail"]
    with sqlite3.connect(home.data / "gsh" / "gsh.db") as record:
        assert record.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_folders_open_to_others_and_files_in_the_way(home: Home, tmp_path: Path) -> None:
    (home.data / "gsh").mkdir()
    (home.data / "gsh").chmod(0o755)
    (home.state / "gsh").write_text("", encoding="utf-8")
    ran = run_gsh("doctor", "--json", cwd=tmp_path)
    assert ran.code == 1
    assert finding(ran, "data folder")["fix"] == f"chmod 700 {home.data / 'gsh'}"
    assert finding(ran, "state folder")["status"] == "problem"


def test_problems_of_the_configuration_and_the_terminal(home: Home, tmp_path: Path) -> None:
    file = user_file(home, "[agent]\nmax_step = 1\n")
    env = {"TERM": "dumb", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ran = run_alone("doctor", "--json", cwd=tmp_path, env=env)  # Python looks at these as it starts
    assert f"{file}:2" in finding(ran, "agent.max_step")["detail"]
    assert finding(ran, "TERM")["status"] == "problem"
    assert finding(ran, "encoding")["status"] == "problem"


def test_a_path_that_is_too_long_for_tmux_s_socket_is_a_problem(home: Home, tmp_path: Path) -> None:
    place = "/tmp/" + "x" * 100
    found = finding(run_gsh("doctor", "--json", cwd=tmp_path, env={"TMUX_TMPDIR": place}), "TMUX_TMPDIR")
    assert found["status"] == "problem" and place in found["detail"]


@pytest.mark.parametrize(
    ("release", "command"),
    [
        ("ID=debian\n", "sudo apt-get install -y tmux"),
        ('ID=pop\nID_LIKE="ubuntu debian"\n', "sudo apt-get install -y tmux"),
        ("ID=fedora\n", "sudo dnf install -y tmux"),
        ("ID=manjaro\nID_LIKE=arch\n", "sudo pacman -S --needed tmux"),
        ('ID="opensuse-tumbleweed"\n', "sudo zypper install -y tmux"),
        ("ID=alpine\n", "sudo apk add tmux"),
    ],
)
def test_the_command_fits_the_system(tmp_path: Path, release: str, command: str) -> None:
    file = tmp_path / "os-release"
    file.write_text(release, encoding="utf-8")
    assert (
        doctor_programs.install_command(["tmux"], doctor_programs.package_manager(file, "linux"), root=False) == command
    )


def test_on_a_mac_and_for_root(tmp_path: Path) -> None:
    assert (
        doctor_programs.install_command(
            ["tmux", "zsh"], doctor_programs.package_manager(tmp_path, "darwin"), root=False
        )
        == "brew install tmux zsh"
    )
    assert doctor_programs.install_command(["tmux"], "apt", root=True) == "apt-get install -y tmux"
    assert doctor_programs.install_command([], "apt") == ""
    assert os.geteuid() >= 0


def test_whether_the_sandbox_holds_is_tried(tmp_path: Path, home: Home) -> None:
    held = finding(run_gsh("doctor", "--json", cwd=tmp_path), "sandbox")
    assert (held["status"], held["detail"]) == ("ok", "holds: no known way out of it works here")
    false = programs(tmp_path / "bin", **ALL)
    bwrap = tmp_path / "bin" / "bwrap"
    bwrap.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n', "utf-8")
    bwrap.chmod(0o755)
    broken = finding(run_gsh("doctor", "--json", cwd=tmp_path, env=false), "sandbox")
    assert broken["status"] == "problem"
    assert "--yes covers fewer commands: a command in it can write outside the project" in broken["detail"]
    user_file(home, "[sandbox]\nenabled = false\n")
    assert "switched off" in finding(run_gsh("doctor", "--json", cwd=tmp_path), "sandbox")["detail"]
    assert not list(home.path.glob(".gsh-doctor-*"))
