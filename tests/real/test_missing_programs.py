"""Every program that is optional, away or broken, at every face: one sentence that names it, or nothing where it is not
needed. What other programs do is no fault of ours: no crash report, and nothing "failed inside gsh-tui"."""

import contextlib
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gshtui.settings import paths
from tests.kit.command import CommandResult
from tests.kit.home import Home
from tests.kit.pty_child import window_of
from tests.kit.storms import FULL, some
from tests.kit.warm_program import run_gsh

PROGRAMS = (
    "git",
    "tmux",
    "zsh",
    "bash",
    "rg",
    "fzf",
    "bwrap",
    "ssh",
    "node",
    "less",
    "vi",
    "ps",
    "sh",
    "python3",
    "uv",
)
FACES = {
    "prompt": ("prompt", "--yes", "write made.txt: hi"),
    "a command of an agent": ("prompt", "--yes", "run echo hi"),
    "a search of an agent": ("run", "--as", "main", "--yes", "grep hello"),
    "a commit of an agent": ("run", "--as", "main", "--yes", "git_commit all=true message=x"),
    "agent spawn": ("agent", "spawn", "--cli", "cat"),
    "agent spawn in a worktree": ("agent", "spawn", "--cli", "cat", "--worktree", "feat-1"),
    "doctor": ("doctor",),
    "mcp": ("mcp", "doctor"),
    "code": ("code", "references", "hello", "a.py"),
    "shell": ("shell", "status"),
    "a step of a workflow": ("workflow", "run", "explain-failure", "--command", "touch made.txt", "--yes"),
    "sandbox": ("sandbox", "--", "echo", "hi"),
    "worktree": ("run", "worktree finish feat-1"),
}
NEEDS: dict[tuple[str, str], str] = {
    ("git", "a commit of an agent"): "git is not installed",
    ("git", "agent spawn in a worktree"): "git is not installed",
    ("tmux", "agent spawn"): "tmux is not installed",
    ("tmux", "agent spawn in a worktree"): "tmux is not installed",
    ("rg", "a search of an agent"): "ripgrep (rg)",
    ("bwrap", "a step of a workflow"): "there is no sandbox: bubblewrap is not installed",
    ("bwrap", "sandbox"): "bubblewrap is not installed",
}
"""What cannot be done without, and how that is said. Everything else works, or is not about the program."""
FAULTY = re.compile(r"inside gsh-tui|internal error|Traceback|\[Errno|Error:|crash-|[^.]\.\.(?!\.)")
"""Words of faults; and a second full stop."""


@pytest.fixture
def project(home: Home) -> Path:
    folder = home.path / "project"
    folder.mkdir()
    (folder / "a.py").write_text("hello = 1\n", encoding="utf-8")
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        subprocess.run(("git", *words), cwd=folder, check=True)
    (folder / "a.py").write_text("hello = 2\n", encoding="utf-8")
    return folder


def path_without(program: str, folder: Path) -> Path:
    folder.mkdir()
    away = {"vi", "vim", "vim.tiny", "vim.basic", "nano", "editor"} if program == "vi" else {program}
    for base in map(Path, os.environ["PATH"].split(os.pathsep)):
        for file in base.iterdir() if base.is_dir() else ():
            if file.name not in away and not folder.joinpath(file.name).is_symlink():
                folder.joinpath(file.name).symlink_to(file)
    return folder


def crash_reports() -> list[str]:
    return [file.read_text() for file in paths.logs_dir().glob("crash-*.log")]


def run(face: str, project: Path, env: dict[str, str]) -> CommandResult:
    ended = run_gsh(*FACES[face], cwd=project, env=env)
    assert not crash_reports(), (face, ended)
    assert not FAULTY.search(ended.out + ended.err), (face, ended)
    return ended


@pytest.fixture(autouse=True)
def no_servers_left(home: Home):
    yield
    for socket in home.runtime.glob("tmux-*/*"):
        subprocess.run(("tmux", "-S", socket, "kill-server"), check=False, capture_output=True)


@pytest.mark.parametrize("program", sorted({*some(PROGRAMS, 3), *(name for name, _ in NEEDS)}))
def test_a_program_that_is_not_there_is_named_where_it_is_needed_and_nowhere_else(
    program: str, project: Path, tmp_path: Path
) -> None:
    env = {"PATH": str(path_without(program, tmp_path / "bin"))}
    needed = [face for name, face in NEEDS if name == program]
    for face in FACES if FULL or program == "git" else {"prompt": 0, "doctor": 0} | dict.fromkeys(needed):
        ended = run(face, project, env)
        words = NEEDS.get((program, face))
        assert words is None or (ended.code != 0 and words in ended.err), (program, face, ended)
        if face in ("prompt", "a command of an agent"):
            said = ended.err.strip().split("\n") if ended.err else []
            assert ended.code == 0 and len(said) <= 1 and all(program in line for line in said), (face, ended)


@pytest.mark.parametrize("program", PROGRAMS if FULL else PROGRAMS[:1])
def test_a_window_works_without_a_program(
    program: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(path_without(program, tmp_path / "bin")))
    with contextlib.closing(window_of(project)) as child:
        child.read_until(lambda: b"\x1b[?2004h" in child.output)
        child.write(b"find hello\r")
        found = b"ripgrep" if program == "rg" else b"a.py"  # which is what searches: it is named
        child.read_until(lambda: found in child.output)
        child.write(b"\x11")
        assert child.wait() == 0
    assert not crash_reports()
    assert not re.search(rb"inside gsh-tui|internal error|Traceback", child.output)


def _break(folder: Path, name: str, text: str) -> None:
    (folder / ".git" / name).write_text(text, encoding="utf-8")


def _program(path: Path, text: str, mode: int = 0o755) -> dict[str, str]:
    path.mkdir()
    (path / "git").write_text(text, encoding="utf-8")
    (path / "git").chmod(mode)
    return {"PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}


DUBIOUS = "#!/bin/sh\necho \"fatal: detected dubious ownership in repository at '/x'\" >&2\nexit 128\n"
STATES: dict[str, Callable[[Path, Path], dict[str, str]]] = {
    "no such configuration": lambda project, _: _break(project, "config", "[core\n") or {},
    "no HEAD": lambda project, _: _break(project, "HEAD", "nonsense\n") or {},
    "no index": lambda project, _: _break(project, "index", "nonsense") or {},
    "a lock left behind": lambda project, _: _break(project, "index.lock", "") or {},
    "a file that names no repository": lambda project, _: _replace_git(project, "gitdir: /nonexistent\n"),
    "a file of nonsense": lambda project, _: _replace_git(project, "\0\1\2"),
    "the person's own configuration": lambda project, _: _break_global("[core\n"),
    "dubious ownership": lambda _, path: _program(path, DUBIOUS),
    "a program of another machine": lambda _, path: _program(path, "\0\0\0\0"),
    "a program that dies": lambda _, path: _program(path, "#!/bin/sh\nkill -9 $$\n"),
    "a program that says nonsense": lambda _, path: _program(path, "#!/bin/sh\nprintf '\\377\\0x'\n"),
    "a program without an interpreter": lambda _, path: _program(path, "#!/nonexistent\n"),
    "no home": lambda _, __: {"HOME": "", "XDG_CONFIG_HOME": ""},
}


def _replace_git(project: Path, text: str) -> dict[str, str]:
    (project / ".git").rename(project.parent / "git-before")
    (project / ".git").write_text(text, encoding="utf-8")
    return {}


def _break_global(text: str) -> dict[str, str]:
    Path(os.environ["HOME"], ".gitconfig").write_text(text, encoding="utf-8")
    return {}


CHOSEN = some(list(STATES), 2)


@pytest.mark.parametrize("state", CHOSEN)
def test_a_git_that_fails_costs_what_needs_it_and_no_turn(state: str, project: Path, tmp_path: Path) -> None:
    env = STATES[state](project, tmp_path / "bin")
    faces = ("a commit of an agent", "agent spawn in a worktree", "worktree", "doctor")
    for face in ("prompt", *(faces if FULL else faces[CHOSEN.index(state) % 4 :][:1])):
        ended = run(face, project, env)
        if face == "prompt":
            assert ended.code == 0 and len(ended.err.splitlines()) <= 1, (state, ended)
            assert (project / "made.txt").exists()
