"""Whatever git prints costs one sentence: garbage, an early end, a hundred megabytes, names of any bytes."""

import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.settings.git_info import branch, find_project, project_name
from gshtui.system.expected_error import ExpectedError
from gshtui.tools.git.git import git
from gshtui.tools.git.hunks import hunks_of, stage_hunk
from gshtui.tools.git.worktree import Worktree, checked_out, find_worktree, index_of, list_worktrees
from gshtui.tools.git.worktree_changes import changes_of, merge_worktree, write_patch
from gshtui.tools.git.worktree_create import create_worktree
from gshtui.tools.git.worktree_finish import plan_finish
from gshtui.tools.git.worktree_fork import fork_worktree
from gshtui.tools.git.worktree_state import losses_of, remove_worktree, state_of, unsaved_work
from tests.kit.storms import some

Look = Callable[[Path, Worktree], Awaitable[object]]


async def _stage_all(folder: Path, tree: Worktree) -> None:
    for file in (await changes_of(tree)).files:
        for hunk in hunks_of(file):
            await stage_hunk(tree, hunk)


LOOKS: dict[str, Look] = {
    "list": lambda folder, tree: list_worktrees(folder),
    "find": lambda folder, tree: find_worktree(folder),
    "branch": lambda folder, tree: checked_out(folder),
    "index": lambda folder, tree: index_of(folder),
    "state": lambda folder, tree: state_of(tree),
    "losses": lambda folder, tree: losses_of(tree),
    "unsaved": lambda folder, tree: unsaved_work(folder),
    "changes": lambda folder, tree: changes_of(tree),
    "stage": _stage_all,
    "patch": lambda folder, tree: write_patch(tree, folder.parent / "out.patch"),
    "merge": lambda folder, tree: merge_worktree(tree),
    "finish": lambda folder, tree: plan_finish(tree),
    "create": lambda folder, tree: create_worktree(folder, "other"),
    "fork": lambda folder, tree: fork_worktree(folder, "fork"),
    "remove": lambda folder, tree: remove_worktree(tree, folder.parent),
}

KNOWN = "case \"$*\" in *--get-regexp*) printf 'command\\0gsh.known\\0'; exit 0;; esac\n"
"""It is as new as it has to be."""
GITS: dict[str, str] = {
    "words": KNOWN + "echo 'this is no answer at all'",
    "words, from the start": "echo 'this is no answer at all'",
    "nothing": KNOWN + "exit 0",
    "nothing, from the start": "exit 0",
    "bytes": KNOWN + r"printf '\377\376\0\033[2J\0\n\0worktree \377\0branch \033\0\0-x\0'",
    "numbers": KNOWN + "echo '99999999999999999999 -1 1e9 ½'",
    "a long number": KNOWN + "head -c 5000 /dev/zero | tr '\\0' 9",
    "zeros": KNOWN + "head -c 3000 /dev/zero",
    "a failure in bytes": KNOWN + r"printf '\377\033]0;x\007' >&2; exit 128",
    "killed": KNOWN + "kill -9 $$",
    "closed early": KNOWN + "exec >&- 2>&-; exit 0",
    "a diff": KNOWN + r"printf 'diff --git a/x b/x\n@@ -1,99999999999 +0,0 @@\n-\377\ndiff --git\n@@ @@\n--- \n'",
    "worktrees": KNOWN + r"printf 'worktree \nx\0HEAD \0branch refs/heads/-x\0\0worktree -y\0\0'",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    for words in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "A"),
        ("config", "user.email", "a@example.org"),
        ("commit", "-q", "--allow-empty", "-m", "one"),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.mark.parametrize("garbage", some(list(GITS), 2))
async def test_a_git_that_answers_garbage_is_told_of_in_a_sentence(
    garbage: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a.txt").write_text("x\n")
    tree = Worktree(str(project), "work")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{GITS[garbage]}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    failed: list[str] = []
    for name, look in LOOKS.items():
        try:
            await look(project, tree)
        except ExpectedError as error:
            assert "\x1b" not in error.message and error.message.isprintable(), (name, error.message)
        except Exception as error:
            failed.append(f"{name}: {error!r}")
    assert failed == []


async def test_a_git_that_prints_without_an_end_is_ended(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{KNOWN}exec yes 'a line'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(CommandError, match="did not answer within 1 s"):
        await checked_out(project, 1.0)


NAMES = [b"a\nb", b"\xff\xfe", b"\x1b]0;x\x07", b"-rf", b"--help", b" ", b"a\tb", b'"q"', b":(top)x", b"\\", b"x" * 255]


async def test_files_of_any_name_are_listed_staged_and_named_safely(project: Path) -> None:
    for name in NAMES:
        Path(os.fsdecode(os.path.join(os.fsencode(project), name))).write_text("x\n")  # noqa: PTH118 - bytes
    tree = await find_worktree(project)
    state = await state_of(tree)
    assert len(state.uncommitted) == len(NAMES)
    assert all(shown.isprintable() for shown in state.uncommitted)
    changes = await changes_of(tree)
    assert sorted(os.fsencode(file.path) for file in changes.files) == sorted(NAMES)
    assert all(file.shown().path.isprintable() for file in changes.files)
    await _stage_all(project, tree)
    listed = await git(project, "diff", "--cached", "--name-only", "-z")
    assert sorted(os.fsencode(name) for name in listed.out.strip("\0").split("\0")) == sorted(NAMES)


@pytest.mark.parametrize(
    "head",
    [
        b"ref: refs/heads/" + b"x" * 240,
        b"ref: refs/heads/" + b"x/" * 1_800 + b"y",
        b"ref: refs/heads/" + b"x" * 1_000_000,
        b"ref: refs/heads/\xff\xfe",
        b"ref: refs/heads/\x1b]0;x\x07",
        b"ref: \0",
        b"\0" * 5_000,
        b"",
        b"ref: ",
        b"\xff",
    ],
)
async def test_a_head_of_any_bytes_is_a_short_name_or_none(head: bytes, project: Path) -> None:
    (project / ".git" / "HEAD").write_bytes(head + b"\n")
    shown = branch(project)
    assert shown.isprintable() and len(shown) <= 80
    assert project_name(project) == "project"
    assert find_project(project).branch.isprintable()
    for look in (checked_out(project), list_worktrees(project), unsaved_work(project)):
        try:
            await look
        except CommandError as error:
            assert "\x1b" not in error.message
