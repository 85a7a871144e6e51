"""Worktrees forked and finished: equal to the original, and nothing is lost on the way back."""

import asyncio
import os
import random
import re
import stat
import sys
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.tools.git import worktree_fork
from gshtui.tools.git.worktree import find_worktree
from gshtui.tools.git.worktree_finish import How, finish_worktree, plan_finish
from gshtui.tools.git.worktree_fork import fork_worktree, free_branch
from tests.kit.storms import FULL, combined, seeds
from tests.real.test_worktree import commit, project, run_git, write_script

__all__ = ["project"]


def files_of(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every file, link and mode of a worktree, without git's own and other worktrees."""
    found: dict[str, tuple[str, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name.split("/")[0] in (".git", ".gsh"):
            continue
        if path.is_symlink():
            found[name] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            found[name] = ("x" if path.stat().st_mode & stat.S_IXUSR else "-", path.read_bytes())
    return found


def state_of(folder: Path) -> tuple[str, str, str]:
    """What git says of a worktree: its commit, its index, and what is uncommitted."""
    return (
        run_git(folder, "rev-parse", "HEAD"),
        run_git(folder, "ls-files", "--stage", "-v"),
        run_git(folder, "status", "--porcelain=v2", "-z", "--untracked-files=all"),
    )


NAMES = ("a.txt", "b/c.txt", "b/d e.txt", "ü", "-x", "deep/er/f", "line\nbreak", "\udce9t\udce9", "*", "g")


def disturb(folder: Path, dice: random.Random, times: int = 8) -> None:
    """Change, stage, delete, rename, link and add files at random."""
    for _ in range(times):
        name = dice.choice(NAMES)
        path = folder / name
        match dice.randrange(8):
            case 0 | 1 | 2:
                if path.is_symlink() or path.is_dir():
                    continue
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(dice.randbytes(dice.randrange(60)) + b"\n" * dice.randrange(3))
            case 3 if path.is_file() and not path.is_symlink():
                path.chmod(path.stat().st_mode ^ stat.S_IXUSR)
            case 4 if os.path.lexists(path) and not path.is_dir():
                path.unlink()
            case 5:
                run_git(folder, "add", "--all", "--", f":(literal){name}") if os.path.lexists(path) else None
            case 6 if not os.path.lexists(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.symlink_to(dice.choice(("a.txt", "/etc/passwd", "nowhere")))
            case 7 if path.is_file() and not path.is_symlink():
                run_git(folder, "add", "--intent-to-add", "--", f":(literal){name}")
            case _:
                pass


@pytest.mark.parametrize("seed", seeds(12))
async def test_a_fork_equals_the_original_which_stays_untouched(project: Path, seed: int) -> None:
    dice = random.Random(seed)
    (project / ".gitignore").write_text("ignored\n")
    (project / "ignored").write_text("stays here")
    run_git(project, "add", ".gitignore")
    disturb(project, dice)
    run_git(project, "add", "--all")
    run_git(project, "commit", "-q", "--allow-empty", "-m", "some")
    if seed % 3 == 0:
        run_git(project, "update-index", "--split-index")
    if seed % 4 == 0:
        run_git(project, "switch", "-q", "--detach")
    disturb(project, dice, 14)
    before = (files_of(project), state_of(project), run_git(project, "for-each-ref"))
    index = (project / ".git/index").read_bytes()
    made = await fork_worktree(project, "feat/fork", inside=bool(seed % 2))
    fork = Path(made.path)
    assert (project / ".git/index").read_bytes() == index
    assert (files_of(project), state_of(project)) == before[:2]
    wanted = {name: file for name, file in files_of(project).items() if name != "ignored"}
    assert files_of(fork) == wanted
    assert state_of(fork) == state_of(project)
    assert (made.branch, made.new_branch, made.notes) == ("feat/fork", True, ())
    await worktree_fork.discard_worktree(project, fork, "feat/fork")
    assert not fork.exists()
    assert run_git(project, "for-each-ref") == before[2]
    assert "feat/fork" not in (project / ".git/config").read_text()
    assert (files_of(project), state_of(project)) == before[:2]


@pytest.mark.parametrize("fault", ["copy", "cancel", "git"])
async def test_a_fork_that_fails_leaves_nothing(project: Path, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "new").write_text("new")
    before = (
        files_of(project),
        state_of(project),
        run_git(project, "for-each-ref"),
        run_git(project, "worktree", "list"),
    )

    async def fail(*_: object) -> list[str]:
        if fault == "copy":
            raise OSError(28, "No space left on device")
        raise asyncio.CancelledError if fault == "cancel" else CommandError("git did not answer within 60 s.")

    monkeypatch.setattr(worktree_fork, "_fill", fail)
    with pytest.raises((CommandError, asyncio.CancelledError)):
        await fork_worktree(project, "fork")
    after = (
        files_of(project),
        state_of(project),
        run_git(project, "for-each-ref"),
        run_git(project, "worktree", "list"),
    )
    assert after == before
    assert [path.name for path in project.parent.iterdir() if "fork" in path.name] == []


async def test_what_cannot_be_forked_is_said_before_anything_is_made(project: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    run_git(empty, "init", "-q", "-b", "main")
    with pytest.raises(CommandError, match="no commit yet"):
        await fork_worktree(empty, "x")
    with pytest.raises(CommandError, match="not a git repository"):
        await fork_worktree(tmp_path, "x")
    run_git(project, "branch", "taken/by")
    with pytest.raises(CommandError, match="already a branch main"):
        await fork_worktree(project, "main")
    assert await free_branch(project, "taken") == "taken-2"
    assert await free_branch(project, "main") == "main-2"
    assert run_git(project, "worktree", "list").count("\n") == 0


@pytest.mark.parametrize(("how", "seed"), combined(["merge", "squash", "rebase"], range(6 if FULL else 3)))
async def test_forks_are_finished_at_random_and_nothing_is_lost(project: Path, how: How, seed: int) -> None:
    """Two forks of a dirty tree work, commit or don't, and are finished; each refusal changes nothing at all."""
    dice = random.Random(seed)
    run_git(project, "config", "core.logAllRefUpdates", "always")
    disturb(project, dice, 4)
    run_git(project, "config", "core.quotePath", "false")
    finished = refused = 0
    forks = 5 if FULL else 2
    for number in range(forks):
        made = await fork_worktree(project, f"fork-{number}")
        fork, then = Path(made.path), files_of(project)
        for _ in range(dice.randrange(3)):
            disturb(fork, dice, 3)
            run_git(fork, "add", "--all")
            run_git(fork, "commit", "-q", "--allow-empty", "-m", f"work {dice.random()}")
        disturb(fork, dice, dice.randrange(3))
        if dice.randrange(2):  # the base moves on meanwhile
            disturb(project, dice, 2)
            if dice.randrange(3):
                run_git(project, "add", "--all")
                run_git(project, "commit", "-q", "--allow-empty", "-m", f"base {dice.random()}")
        tree = await find_worktree(project, branch=f"fork-{number}")
        before = [(files_of(one), state_of(one)) for one in (project, fork)], run_git(project, "for-each-ref")
        wants_commit = bool(dice.randrange(3))
        try:
            plan = await plan_finish(tree, how=how, message="the rest", commit=wants_commit)
        except CommandError as error:
            refused += 1
            assert "nothing was merged" in error.message
            named = error.data
            assert named, "it says which files"
            assert (
                [(files_of(one), state_of(one)) for one in (project, fork)],
                run_git(project, "for-each-ref"),
            ) == before
            run_git(fork, "add", "--all")
            run_git(fork, "commit", "-q", "--allow-empty", "-m", "kept")
            if dice.randrange(2):
                run_git(project, "add", "--all")
                run_git(project, "commit", "-q", "--allow-empty", "-m", "base")
            continue
        assert ([(files_of(one), state_of(one)) for one in (project, fork)], run_git(project, "for-each-ref")) == before
        theirs = files_of(fork)
        mine, base = files_of(project), run_git(project, "rev-parse", "main")
        done = await finish_worktree(plan, how=how, message="the rest")
        finished += 1
        assert not fork.exists() and not run_git(project, "branch", "--list", f"fork-{number}")
        assert run_git(project, "rev-parse", "main") == done.commit
        assert run_git(project, "rev-parse", "main^{tree}") == run_git(project, "rev-parse", f"{plan.result}^{{tree}}")
        assert run_git(project, "merge-base", base, "main") == base, "the base only ever moves on"
        now = files_of(project)
        changed = set(run_git(project, "diff", "--name-only", "-z", base, "main").split("\0"))
        assert {name: file for name, file in mine.items() if name not in changed and encoded(name) not in changed} == {
            name: file for name, file in now.items() if name not in changed and encoded(name) not in changed
        }, "what the merge does not change is as it was"
        for name, file in theirs.items():
            # It is there, unless the base has changed it too, in which case both sides' lines are merged.
            assert now.get(name) == file or mine.get(name) != then.get(name), name
    assert finished and finished + refused == forks


def encoded(name: str) -> str:
    """A name as `run_git` decodes it."""
    return os.fsencode(name).decode(errors="replace")


async def test_finish_commits_first_only_when_asked_and_tells_of_conflicts(project: Path) -> None:
    tree = await fork_worktree(project, "fork")
    fork = Path(tree.path)
    (fork / "a.txt").write_text("theirs\n")
    (fork / "new.txt").write_text("new\n")
    with pytest.raises(CommandError, match=r"2 uncommitted files \(a.txt, new.txt\); nothing was merged") as told:
        await plan_finish(tree)
    assert "--commit" in told.value.hint
    plan = await plan_finish(tree, commit=True, message="both")
    assert "2 uncommitted files will be committed" in plan.text
    commit(project, "a.txt", "ours\n")
    with pytest.raises(CommandError, match=r"conflict in a\.txt; nothing was merged") as told:
        await finish_worktree(plan, message="both")
    assert told.value.data == {"conflicts": ["a.txt"]}
    assert run_git(fork, "log", "--format=%s") == "one", "nothing was committed either"
    run_git(project, "reset", "-q", "--hard", "HEAD^")
    (project / "a.txt").write_text("dirty\n")
    with pytest.raises(CommandError, match=r"has changes of its own in a\.txt"):
        await finish_worktree(plan, message="both")
    run_git(project, "checkout", "-q", "a.txt")
    (project / "unrelated").write_text("stays\n")
    done = await finish_worktree(plan, message="both")
    assert (done.commits, done.commit) == (1, run_git(project, "rev-parse", "main"))
    assert (project / "a.txt").read_text() == "theirs\n" and (project / "unrelated").exists()
    assert run_git(project, "log", "-1", "--format=%s") == "both"
    assert not fork.exists() and run_git(project, "branch", "--list") == "* main"


async def test_a_base_that_is_checked_out_nowhere_is_moved_too(project: Path) -> None:
    run_git(project, "branch", "stage")
    tree = await fork_worktree(project, "fork")
    commit(Path(tree.path), "x", "x\n")
    done = await finish_worktree(await plan_finish(tree, base="stage"))
    assert run_git(project, "rev-parse", "stage") == done.commit
    assert run_git(project, "rev-parse", "main") != done.commit
    assert not (project / "x").exists()


@pytest.mark.parametrize("how", ["merge", "squash", "rebase"])
async def test_the_shape_of_history(project: Path, how: How) -> None:
    tree = await fork_worktree(project, "fork")
    fork = Path(tree.path)
    commit(fork, "x", "x\n", "first")
    run_git(fork, "commit", "-q", "--allow-empty", "--author", "B <b@example.org>", "-m", "empty")
    commit(fork, "y", "y\n", "second\n\nwith a body")
    commit(project, "z", "z\n", "base")
    await finish_worktree(await plan_finish(tree, how=how, message="all of it"), how=how, message="all of it")
    shape = run_git(project, "log", "--first-parent", "--format=%s").split("\n")
    assert (
        shape
        == {
            "merge": ["all of it", "base", "one"],
            "squash": ["all of it", "base", "one"],
            "rebase": ["second", "first", "base", "one"],
        }[how]
    )
    assert len(run_git(project, "log", "-1", "--format=%p").split()) == (2 if how == "merge" else 1)
    assert {"x", "y", "z"} <= set(files_of(project))


async def test_the_tear_down_command_runs_only_with_consent_and_its_output_is_kept(
    project: Path, tmp_path: Path
) -> None:
    tree = await fork_worktree(project, "fork")
    fork = Path(tree.path)
    output = tmp_path / "output"
    ok = tmp_path / "ok"
    lines = ("import os, sys", "print('down', os.getcwd())", f"os.path.exists({str(ok)!r}) or sys.exit(3)")
    script = write_script(tmp_path, "; ".join((*lines, "open('left by it', 'w').write('dumped')")))
    commit(fork, "x", "x\n")
    plan = await plan_finish(tree)
    with pytest.raises(CommandError, match=r"is merged into main, but .* failed with exit code 3") as told:
        await finish_worktree(plan, teardown=script, agreed=True, output=output)
    assert f"Its last output: down {fork}. Its output is in " in told.value.message
    assert fork.is_dir() and (project / "x").exists()
    ok.touch()
    done = await finish_worktree(await plan_finish(tree), teardown=script, agreed=True, output=output)
    assert done.commits == 0 and "Everything of fork was in main already" in done.text and "succeeded" in done.text
    told_of = re.search(r"left left by it, which `git show (\w+)` shows", done.text)
    assert told_of is not None and not fork.exists(), "what the command leaves keeps no worktree, and is not lost"
    assert run_git(project, "show", f"{told_of[1]}:left by it") == "dumped"
    assert [f"down {fork}" in path.read_text() for path in output.iterdir()] == [True, True]
    tree = await fork_worktree(project, "fork")
    done = await finish_worktree(await plan_finish(tree), teardown=(sys.executable, "-c", "raise SystemExit(1)"))
    assert "was not run: nobody approved it" in done.text
