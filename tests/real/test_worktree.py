"""Worktrees of real repositories: what is copied, what is kept from being lost, merges, patches, set-up commands."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gshtui.commands import execution
from gshtui.commands.declaration import Caller, CommandError, Effect, Invocation
from gshtui.commands.registry import Registry
from gshtui.tools.commands import commands
from gshtui.tools.files.workspace import ToolConfig
from gshtui.tools.git import git as git_module
from gshtui.tools.git import setup_record
from gshtui.tools.git.git import GitAnswer
from gshtui.tools.git.git_worktree import MergeWorktree
from gshtui.tools.git.setup_record import SetupRecord
from gshtui.tools.git.worktree_create import create_worktree
from gshtui.tools.git.worktree_fork import fork_worktree
from gshtui.tools.git.worktree_state import unsaved_work
from tests.kit.home import Home
from tests.kit.storms import FULL, combined
from tests.kit.tool_harness import ToolHarness

WHO = ("-c", "user.name=A", "-c", "user.email=a@example.org")


def run_git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *WHO, *arguments], cwd=folder, check=True, capture_output=True, text=True, errors="replace"
    )
    return done.stdout.strip()


def commit(folder: Path, name: str, text: str, words: str = "more") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    run_git(folder, "add", name)
    run_git(folder, "commit", "-q", "-m", words)


@pytest.fixture
def project(tmp_path: Path, home: Home) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    run_git(project, "init", "-q", "-b", "main")
    run_git(project, "config", "user.name", "A")
    run_git(project, "config", "user.email", "a@example.org")
    commit(project, "a.txt", "one\ntwo\nthree\n", "one")
    return project


@pytest.fixture
def tools(project: Path) -> ToolHarness:
    return ToolHarness(project)


def write_script(folder: Path, body: str) -> tuple[str, ...]:
    """A set-up command with an argument."""
    script = folder / "setup.py"
    script.write_text(body)
    return (sys.executable, str(script), "an argument")


# Made


def all_of(project: Path) -> tuple[str, str, list[str]]:
    """The worktrees, branches and folders that there are."""
    folders = sorted(str(path) for path in project.parent.iterdir())
    return run_git(project, "worktree", "list"), run_git(project, "branch", "-a", "-v"), folders


@pytest.mark.parametrize(
    ("make", "fault"), combined(["new branch", "branch that is there", "fork"], ["refused", "late", "cancelled"])
)
async def test_whichever_step_of_git_fails_nothing_of_a_worktree_is_left(
    project: Path, make: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_git(project, "branch", "there")
    (project / ".worktreeinclude").write_text(".env\n")
    (project / ".env").write_text("WORD=1\n")
    before = all_of(project)
    really = git_module._git
    for number in range(1, 200, 1 if FULL else 3):
        left = [number]

        async def fail(folder: Path, arguments: tuple[str, ...], *rest: Any, left: list[int] = left) -> GitAnswer:
            left[0] -= 1
            done = await really(folder, arguments, *rest) if fault == "late" or left[0] else GitAnswer(128, "", "")
            if left[0]:
                return done
            if fault == "cancelled":
                raise asyncio.CancelledError
            return GitAnswer(128, "", "fatal: it broke")

        monkeypatch.setattr(git_module, "_git", fail)
        try:
            branch = "there" if make == "branch that is there" else "feat"
            made = await (fork_worktree(project, branch) if make == "fork" else create_worktree(project, branch))
        except (CommandError, asyncio.CancelledError):
            monkeypatch.setattr(git_module, "_git", really)
            assert all_of(project) == before, number
            continue
        monkeypatch.setattr(git_module, "_git", really)
        run_git(project, "worktree", "remove", "--force", made.path)
        run_git(project, "branch", "-D", "feat") if branch == "feat" else None
        assert all_of(project) == before
        if left[0] > 0:
            return
    raise AssertionError("it has no end")


async def test_a_bare_repository_beside_its_worktrees_has_more_of_them(project: Path, tmp_path: Path) -> None:
    root = tmp_path / "layout"
    root.mkdir()
    run_git(tmp_path, "clone", "-q", "--bare", str(project), str(root / ".bare"))
    (root / ".git").write_text("gitdir: ./.bare\n")
    made = await create_worktree(root, "feat-1")
    assert (Path(made.path).is_dir(), made.branch, made.new_branch) == (True, "feat-1", True)
    assert run_git(root, "config", "branch.feat-1.gshbase") == "main"
    based = await create_worktree(root, "feat-2", base="feat-1")
    assert run_git(Path(based.path), "log", "--format=%s") == "one"
    inside = await create_worktree(root, "feat-3", inside=True)
    again = await create_worktree(Path(inside.path), "feat-4")
    assert len({made.path, based.path, inside.path, again.path}) == 4


async def test_the_include_file_names_what_is_copied(project: Path, tmp_path: Path) -> None:
    (project / ".gitignore").write_text(".env*\nbuild/\nlinked\n")
    (project / ".worktreeinclude").write_text("# for the tests\n.env\n/config/**\n!config/big.bin\nlinked\na.txt\n")
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "ignore")
    (project / ".env").write_text("WORD=1\n")
    (project / ".env.other").write_text("no\n")
    (project / "config/deep").mkdir(parents=True)
    (project / "config/deep/local.toml").write_text("x = 1\n")
    (project / "config/big.bin").write_text("no")
    (project / "build").mkdir()
    (project / "build/out").write_text("no")
    (project / "linked").symlink_to("/etc/passwd")
    tree = await create_worktree(project, "feat/x")
    place = Path(tree.path)
    assert place == tmp_path / "project-feat-x"
    assert (place / ".env").read_text() == "WORD=1\n"
    assert (place / "config/deep/local.toml").read_text() == "x = 1\n"
    for name in (".env.other", "config/big.bin", "build", "linked"):
        assert not (place / name).exists(), name
    assert tree.notes[0] == "2 files of .worktreeinclude copied."
    assert "linked was not copied: it is a link" in tree.notes[1]
    # What was copied and is as it was is no work to lose.
    assert await unsaved_work(place) == []
    (place / ".env").write_text("WORD=2\n")
    assert await unsaved_work(place) == [
        "Its worktree feat/x has 1 copied file that differs from the main tree (.env)."
    ]


async def test_a_copy_never_leaves_the_worktree(project: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (project / ".worktreeinclude").write_text("conf/\n")
    (project / "conf").symlink_to(outside)
    run_git(project, "add", ".")
    run_git(project, "commit", "-q", "-m", "a link")
    (project / "conf").unlink()
    (project / "conf").mkdir()
    (project / "conf/stolen").write_text("text")
    tree = await create_worktree(project, "x")
    assert list(outside.iterdir()) == []
    assert "conf/stolen was not copied: a link leads out of the worktree." in tree.notes


async def test_worktrees_in_the_repository_are_no_files_of_it(project: Path) -> None:
    tree = await create_worktree(project, "feat/x", inside=True)
    assert tree.path == str(project / ".gsh/worktrees/feat-x")
    assert run_git(project, "status", "--porcelain") == ""
    # One that is made from a worktree stands beside its siblings, not in it.
    other = await create_worktree(Path(tree.path), "y", inside=True)
    assert other.path == str(project / ".gsh/worktrees/y")
    beside = await create_worktree(Path(tree.path), "z")
    assert beside.path == str(project.parent / "project-z")


async def test_a_set_up_command_runs_only_by_consent_to_its_very_arguments(project: Path, tmp_path: Path) -> None:
    argv = write_script(tmp_path, "import sys; open('made', 'w').write(sys.argv[1])")
    asked: list[tuple[tuple[str, ...], Path]] = []

    async def refuse(argv: tuple[str, ...], folder: Path, _refused: tuple[str, ...] = ()) -> bool:
        asked.append((argv, folder))
        return False

    async def agree(_argv: tuple[str, ...], _folder: Path, _refused: tuple[str, ...] = ()) -> bool:
        return True

    tree = await create_worktree(project, "x", setup=argv, consent=refuse)
    assert asked == [(argv, Path(tree.path))]
    assert not (Path(tree.path) / "made").exists()
    assert "was not run: nobody approved it" in tree.notes[-1]
    tree = await create_worktree(project, "y", setup=argv, consent=agree)
    assert (Path(tree.path) / "made").read_text() == "an argument"
    failing = write_script(tmp_path, "print('no \\x1b[31mnetwork'); raise SystemExit(3)")
    tree = await create_worktree(project, "z", setup=failing, consent=agree)
    assert "failed with exit code 3. Its last output: no network" in tree.notes[-1]
    tree = await create_worktree(project, "v", setup=failing, consent=agree, output=tmp_path / "kept")
    (kept,) = (tmp_path / "kept").glob("*.log")
    assert f"Its output is in {kept}." in tree.notes[-1]
    assert kept.read_text() == "no \x1b[31mnetwork\n"
    record = setup_record.find(tmp_path / "kept", Path(tree.path))
    assert record is not None
    assert (record.code, record.output) == (3, str(kept))
    assert record.said.endswith("failed with exit code 3.")
    assert setup_record.last_lines(record, 40) == (["no network"], False)
    tree = await create_worktree(project, "w", setup=("no-such-program",), consent=agree, output=tmp_path / "kept")
    assert "Cannot start" in tree.notes[-1]
    record = setup_record.find(tmp_path / "kept", Path(tree.path))
    assert record is not None
    assert (record.code, record.output, setup_record.last_lines(record, 40)) == (None, "", ([], False))


def test_of_a_long_output_the_last_lines_are_shown_whole(tmp_path: Path) -> None:
    file, tree = tmp_path / "all.log", tmp_path / "tree"
    record = SetupRecord(command="make", said="It succeeded.", code=0, output=str(file))
    setup_record.write(tmp_path / "kept", tree, record)
    assert setup_record.find(tmp_path / "kept", tree) == record
    assert setup_record.find(tmp_path / "kept", tmp_path) is None
    assert setup_record.last_lines(record, 3) == ([], False), "it was removed"
    for count in (2, 3, 4, 40_000):
        lines = [f"line {number}" for number in range(count)]
        file.write_text("\n".join(lines) + "\n")
        assert setup_record.last_lines(record, 3) == (lines[-3:], count > 3)
    file.write_text("x" * 100_000)
    assert setup_record.last_lines(record, 3) == ([], True), "one line without an end"
    next((tmp_path / "kept").glob("*.json")).write_text("{torn")
    assert setup_record.find(tmp_path / "kept", tree) is None


async def test_an_agents_call_is_asked_about_with_the_set_up_command(project: Path, tmp_path: Path) -> None:
    argv = write_script(tmp_path, "open('made', 'w')")
    tools = ToolHarness(project, ToolConfig(os.environ, worktree_setup=argv))
    question = await tools.assess("git_worktree", action="create", branch="x", call="c1")
    assert question.effect is Effect.EXECUTE
    assert not question.inside
    assert "setup.py 'an argument'" in question.detail
    await tools.run("git_worktree", action="create", branch="x", call="c1")
    assert (tmp_path / "project-x/made").exists()
    quiet = await tools.assess("git_worktree", action="create", branch="y", setup=False, call="c2")
    assert quiet.effect is Effect.WRITE
    await tools.run("git_worktree", action="create", branch="y", setup=False, call="c2")
    assert not (tmp_path / "project-y/made").exists()
    # One that nobody was asked about runs nothing.
    made = await tools.run("git_worktree", action="create", branch="z")
    assert "nobody approved" in made.text
    assert not (tmp_path / "project-z/made").exists()


# How it stands


async def test_the_state_of_a_worktree(project: Path, tools: ToolHarness) -> None:
    place = Path((await create_worktree(project, "x")).path)
    commit(place, "b.txt", "b\n")
    commit(project, "c.txt", "c\n")
    commit(project, "d.txt", "d\n")
    (place / "new file").write_text("new")
    state = await tools.run("git_worktree", action="status", branch="x")
    assert state.data["uncommitted"] == ["new file"]
    assert (state.data["unpushed"], state.data["base"], state.data["ahead"], state.data["behind"]) == (1, "main", 1, 2)
    assert "1 uncommitted file (new file) and 1 commit that is not on any other branch" in state.text
    assert await unsaved_work(place) == [
        "Its worktree x has 1 uncommitted file (new file).",
        "Its worktree x has 1 commit that is not on any other branch or remote.",
    ]
    here = await tools.run_in(place, "git_worktree", action="status")
    assert here.data == state.data


async def test_a_base_is_remembered(project: Path, tools: ToolHarness) -> None:
    run_git(project, "checkout", "-q", "-b", "next")
    commit(project, "b.txt", "b\n")
    await tools.run("git_worktree", action="create", branch="x")
    run_git(project, "checkout", "-q", "main")
    assert (await tools.run("git_worktree", action="status", branch="x")).data["base"] == "next"
    assert (await tools.run("git_worktree", action="status", branch="x", base="main")).data["ahead"] == 1
    with pytest.raises(CommandError, match="no branch --all to compare with"):
        await tools.run("git_worktree", action="status", branch="x", base="--all")


async def test_pushed_work_is_safe(project: Path, tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q", "--bare", "remote")
    run_git(project, "remote", "add", "origin", str(tmp_path / "remote"))
    place = Path((await create_worktree(project, "x")).path)
    commit(place, "b.txt", "b\n")
    assert len(await unsaved_work(place)) == 1
    run_git(place, "push", "-q", "origin", "x")
    assert await unsaved_work(place) == []


async def test_a_diff_shows_all_that_was_done(project: Path, tools: ToolHarness) -> None:
    commit(project, "old name.txt", "a long line of words to know it by\nanother one\n")
    commit(project, "gone.txt", "gone\n")
    place = Path((await create_worktree(project, "x")).path)
    commit(project, "later.txt", "on main only\n")
    commit(place, "a.txt", "one\n2\nthree\n")
    run_git(place, "mv", "old name.txt", "näw name.txt")
    run_git(place, "rm", "-q", "gone.txt")
    (place / "fresh.txt").write_text("a\x1b[2Jb\n")
    (place / "data.bin").write_bytes(bytes(range(256)))
    before = run_git(place, "status", "--porcelain")
    diff = await tools.run("git_worktree", action="diff", branch="x")
    files = {file["path"]: file for file in diff.data["files"]}
    assert set(files) == {"a.txt", "näw name.txt", "gone.txt", "fresh.txt", "data.bin"}
    assert (files["a.txt"]["added"], files["a.txt"]["removed"], files["a.txt"]["status"]) == (1, 1, "changed")
    assert "-two\n+2\n" in files["a.txt"]["text"]
    assert (files["näw name.txt"]["status"], files["näw name.txt"]["before"]) == ("renamed", "old name.txt")
    assert files["gone.txt"]["status"] == "deleted"
    assert files["fresh.txt"]["status"] == "added"
    assert "\x1b" not in diff.text and "␛[2J" in files["fresh.txt"]["text"]
    assert files["data.bin"]["binary"]
    assert run_git(place, "status", "--porcelain") == before
    empty = Path((await create_worktree(project, "y")).path)
    nothing = await tools.run_in(empty, "git_worktree", action="diff")
    assert nothing.data["files"] == []
    assert "has no changes compared with main" in nothing.text


# Brought home


async def test_a_merge_is_asked_about_with_what_it_brings(project: Path) -> None:
    place = Path((await create_worktree(project, "x")).path)
    registry = Registry(commands(ToolConfig(os.environ)))
    here = Invocation(Caller(), project, project)
    merge = MergeWorktree(path=str(place))
    assert await execution.question(registry, merge, here) is None, "there is nothing to merge"
    commit(place, "b.txt", "b\n")
    question = await execution.question(registry, merge, here)
    assert question is not None and question.agreed == merge
    assert (question.title, question.yes) == ("Merge x into main?", "Merge")
    assert question.text.startswith("1 file, +1 −0.")
    assert execution.bound(registry, f"git_worktree merge path={place}") == merge
    assert (await execution.call(registry, merge, here)).commits == 1


async def test_a_merge(project: Path, tools: ToolHarness) -> None:
    place = Path((await create_worktree(project, "x")).path)
    with pytest.raises(CommandError, match="nothing that main does not have"):
        await tools.run("git_worktree", action="merge", branch="x")
    commit(place, "b.txt", "b\n")
    commit(project, "c.txt", "c\n")
    (place / "b.txt").write_text("changed\n")
    with pytest.raises(CommandError, match=r"has 1 uncommitted file \(b\.txt\)"):
        await tools.run("git_worktree", action="merge", branch="x")
    run_git(place, "commit", "-qam", "two")
    (project / "a.txt").write_text("half done\n")
    with pytest.raises(CommandError, match=r"project has 1 uncommitted file \(a\.txt\)"):
        await tools.run("git_worktree", action="merge", branch="x")
    run_git(project, "checkout", "-q", "a.txt")
    merged = await tools.run("git_worktree", action="merge", branch="x")
    assert (merged.data["commits"], merged.data["base"]) == (2, "main")
    assert (project / "b.txt").read_text() == "changed\n"
    assert await unsaved_work(place) == []


async def test_a_conflict_is_said_and_nothing_changed(project: Path, tools: ToolHarness) -> None:
    place = Path((await create_worktree(project, "x")).path)
    commit(place, "a.txt", "one\nours\nthree\n")
    commit(project, "a.txt", "one\ntheirs\nthree\n")
    head = run_git(project, "rev-parse", "HEAD")
    with pytest.raises(CommandError, match=r"x and main conflict in a\.txt; nothing was changed") as caught:
        await tools.run("git_worktree", action="merge", branch="x")
    assert caught.value.data == {"conflicts": ["a.txt"]}
    assert "Merge main into x" in caught.value.hint
    assert run_git(project, "rev-parse", "HEAD") == head
    assert run_git(project, "status", "--porcelain") == ""
    assert (project / "a.txt").read_text() == "one\ntheirs\nthree\n"


async def test_a_base_that_is_checked_out_nowhere(project: Path, tools: ToolHarness) -> None:
    place = Path((await create_worktree(project, "x")).path)
    commit(place, "b.txt", "b\n")
    run_git(project, "checkout", "-q", "-b", "other")
    with pytest.raises(CommandError, match="main is not checked out anywhere"):
        await tools.run("git_worktree", action="merge", branch="x")


async def test_a_merge_runs_nothing_of_the_repository(project: Path, tools: ToolHarness, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/owned\n")
    evil.chmod(0o755)
    for key in ("merge.evil.driver", "gpg.program", "core.editor", "merge.tool"):
        run_git(project, "config", key, str(evil))
    run_git(project, "config", "commit.gpgSign", "true")
    for name in ("post-merge", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit"):
        hook = project / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(evil.read_text())
        hook.chmod(0o755)
    (project / ".git/info").mkdir(exist_ok=True)
    (project / ".git/info/attributes").write_text("a.txt merge=evil\n")
    place = Path((await create_worktree(project, "x")).path)
    (place / "a.txt").write_text("zero\none\ntwo\nthree\n")
    (place / "b.txt").write_text("b\n")
    run_git(place, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "add", ".")
    run_git(place, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "commit", "-qm", "x")
    (project / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    run_git(project, "-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false", "commit", "-qam", "y")
    with pytest.raises(CommandError, match=r"conflict in a\.txt"):
        await tools.run("git_worktree", action="merge", branch="x")
    run_git(project, "config", "--unset", "merge.evil.driver")
    await tools.run("git_worktree", action="merge", branch="x")
    assert (project / "a.txt").read_text() == "zero\none\ntwo\nthree\nfour\n"
    assert not (tmp_path / "owned").exists()


async def test_a_patch_applies_elsewhere(project: Path, tools: ToolHarness, tmp_path: Path) -> None:
    run_git(tmp_path, "clone", "-q", str(project), "elsewhere")
    place = Path((await create_worktree(project, "feat/x")).path)
    with pytest.raises(CommandError, match="has no changes against main"):
        await tools.run("git_worktree", action="patch", branch="feat/x")
    assert list(tmp_path.glob("*.patch")) == []
    commit(place, "a.txt", "one\n2\nthree\n")
    commit(place, "latin.txt", "x\n")
    (place / "latin.txt").write_bytes(b"caf\xe9\r\n")
    (place / "data.bin").write_bytes(bytes(range(256)) * 4)
    written = await tools.run("git_worktree", action="patch", branch="feat/x")
    file = tmp_path / "project-feat-x.patch"
    assert written.data["file"] == str(file)
    run_git(tmp_path / "elsewhere", "apply", str(file))
    for name in ("a.txt", "latin.txt", "data.bin"):
        assert (tmp_path / "elsewhere" / name).read_bytes() == (place / name).read_bytes()
    with pytest.raises(CommandError, match="already exists"):
        await tools.run("git_worktree", action="patch", branch="feat/x")
    with pytest.raises(CommandError, match="Cannot write"):
        await tools.run("git_worktree", action="patch", branch="feat/x", file="no/such/folder.patch")
    question = await tools.assess("git_worktree", action="patch", branch="feat/x", file="mine.patch")
    assert (question.effect, question.inside) == (Effect.WRITE, True)


# Taken away


async def test_a_removal_says_what_goes(project: Path, tools: ToolHarness, tmp_path: Path) -> None:
    place = Path((await create_worktree(project, "x")).path)
    commit(place, "b.txt", "b\n")
    (place / "new.txt").write_text("new")
    with pytest.raises(CommandError, match=r"1 uncommitted file \(new\.txt\) and 1 commit") as caught:
        await tools.run("git_worktree", action="remove", branch="x")
    assert isinstance(caught.value.data, dict) and len(caught.value.data["unsaved"]) == 2
    assert place.exists()
    question = await tools.assess("git_worktree", action="remove", branch="x", force=True)
    assert "loses 1 uncommitted file (new.txt)" in question.warnings
    removed = await tools.run("git_worktree", action="remove", branch="x", force=True)
    assert "Lost with it: 1 uncommitted file (new.txt) and 1 commit" in removed.text
    assert not place.exists()


async def test_a_copy_as_it_was_does_not_keep_a_worktree(project: Path, tools: ToolHarness) -> None:
    (project / ".worktreeinclude").write_text("notes.txt\n")
    run_git(project, "add", ".worktreeinclude")
    run_git(project, "commit", "-qm", "include")
    (project / "notes.txt").write_text("not ignored, not tracked\n")
    place = Path((await create_worktree(project, "x")).path)
    assert (place / "notes.txt").exists()
    await tools.run("git_worktree", action="remove", branch="x")
    assert not place.exists()
    assert (project / "notes.txt").exists()


async def test_what_cannot_be_told_is_not_taken_for_nothing(project: Path) -> None:
    place = Path((await create_worktree(project, "x")).path)
    (place / ".git").unlink()
    with pytest.raises(CommandError):
        await unsaved_work(place)
    assert await unsaved_work(project / "not there") == []


# Submodules


async def with_filled_submodule(tools: ToolHarness, tmp_path: Path) -> Path:
    """A worktree `x` with a submodule that was cloned into it; the submodule's folder."""
    run_git(tmp_path, "init", "-q", "-b", "main", "library")
    commit(tmp_path / "library", "b.txt", "b\n", "one")
    allowed = ("-c", "protocol.file.allow=always")
    run_git(tools.project, *allowed, "submodule", "add", "-q", str(tmp_path / "library"), "sub")
    run_git(tools.project, "commit", "-q", "-m", "with a submodule")
    await tools.run("git_worktree", action="create", branch="x")
    tree = Path((await tools.run("git_worktree", action="list")).data[1]["path"])
    run_git(tree, *allowed, "submodule", "update", "--init", "-q")
    return tree / "sub"


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ("edit", "1 uncommitted file in the submodule sub"),
        ("new", "1 uncommitted file in the submodule sub"),
        ("commit", "1 commit in the submodule sub that is on no remote"),
        ("stash", "in the submodule sub that are on no remote"),
    ],
)
async def test_what_is_lost_with_a_submodule_is_counted(
    tools: ToolHarness, tmp_path: Path, change: str, lost: str
) -> None:
    sub = await with_filled_submodule(tools, tmp_path)
    (sub / ("new.txt" if change == "new" else "b.txt")).write_text("changed\n")
    if change == "commit":
        run_git(sub, "commit", "-q", "-a", "-m", "two")
    if change == "stash":
        run_git(sub, "stash", "-q")
    with pytest.raises(CommandError, match="submodule") as refused:
        await tools.run("git_worktree", action="remove", branch="x")
    assert lost in str(refused.value)
    assert sub.exists()
    asked = await tools.assess("git_worktree", action="remove", branch="x", force=True)
    assert any(lost in warning for warning in asked.warnings) and not asked.inside
    done = await tools.run("git_worktree", action="remove", branch="x", force=True)
    assert lost in done.text
    assert not sub.exists()


async def test_a_worktree_with_a_clean_submodule_is_removed_without_force(tools: ToolHarness, tmp_path: Path) -> None:
    sub = await with_filled_submodule(tools, tmp_path)
    asked = await tools.assess("git_worktree", action="remove", branch="x", force=True)
    assert not any("loses" in warning for warning in asked.warnings)
    await tools.run("git_worktree", action="remove", branch="x")
    assert not sub.exists()
