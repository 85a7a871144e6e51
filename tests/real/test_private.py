"""Everything that the program makes in a person's folders is for that person alone, whatever their umask says."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.command import ROOT, environment
from tests.kit.home import Home
from tests.kit.pty_child import WarmPtyChild
from tests.kit.shells import Shell
from tests.kit.warm_program import run_gsh

CRASH = "from gshtui.headless.crash import report_crash; report_crash(RuntimeError('made up'))"


@pytest.fixture(autouse=True)
def umask(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A person whose umask hides nothing, and whose home has none of the XDG folders yet."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    before = os.umask(0)
    try:
        yield
    finally:
        os.umask(before)


def open_to_others(*folders: Path) -> list[str]:
    """Paths below these folders that another user may read, write or enter. A socket's rights are its folder's too."""
    found: list[str] = []
    for folder in folders:
        for path in (folder, *folder.rglob("*")):
            info = path.lstat()
            if info.st_mode & 0o077 and not stat.S_ISLNK(info.st_mode):
                found.append(f"{path} {stat.S_IMODE(info.st_mode):o}")
    return found


def made(home: Home) -> list[str]:
    """What is below the home now, by its place there."""
    return [str(path.relative_to(home.path)) for path in (home.path / ".local").rglob("*")]


@pytest.mark.parametrize("arguments", [("prompt", "hello"), ("config", "edit", "--help"), ("run", "session ls")])
def test_a_command_without_a_window(home: Home, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert run_gsh(*arguments, cwd=tmp_path).code == 0
    assert open_to_others(home.path, home.runtime) == []


def test_a_setting_that_is_written(home: Home, tmp_path: Path) -> None:
    assert run_gsh("config", "set", "ui.theme", "gsh-light", cwd=tmp_path).code == 0
    assert run_gsh("config", "trust", "--yes", cwd=tmp_path).code == 0
    assert (home.path / ".config" / "gsh" / "config.toml").exists()
    assert open_to_others(home.path, home.runtime) == []


def test_the_window_with_its_draft_log_and_frames_and_doctor_is_content(home: Home, tmp_path: Path) -> None:
    window = WarmPtyChild([], tmp_path, columns=120, rows=36)
    window.go()
    window.read_until(lambda: b"$0.00" in window.output)
    state = home.path / ".local" / "state" / "gsh"
    window.write(b"hello\r")
    window.read_until(lambda: any(state.glob("logs/*.jsonl")))
    window.write(b"a draft that is kept")
    window.read_until(lambda: any(state.glob("drafts/*.json")))
    window.write(b"\x11")
    assert window.wait() == 0
    assert {"gsh.db", "workbench.json"} <= {Path(name).name for name in made(home)}, made(home)
    assert open_to_others(home.path, home.runtime) == []
    ran = run_gsh("doctor", "--json", cwd=tmp_path)
    assert [f for f in ran.json["findings"] if f["group"] == "Record" and f["status"] != "ok"] == []


@pytest.mark.parametrize("program", ["zsh", "bash"])
def test_the_spool_of_a_shell(home: Home, program: str) -> None:
    shell = Shell(program=program)
    shell.run("true")
    shell.exit()
    shell.close()
    assert any("spool/" in name and name.endswith(".jsonl") for name in made(home))
    assert open_to_others(home.path / ".local", home.runtime) == []


def test_the_report_of_a_crash(home: Home) -> None:
    subprocess.run([sys.executable, "-c", CRASH], env=environment(), cwd=ROOT, timeout=30, check=False)
    assert any("crash-" in name for name in made(home))
    assert open_to_others(home.path, home.runtime) == []
