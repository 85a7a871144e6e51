"""Create a worktree: its place and branch, the untracked files copied into it, and its set-up command."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import CommandError
from gshtui.guard.policy import sensitive_paths
from gshtui.settings.git_info import find_project
from gshtui.system.processes.process_limits import make_folders
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import (
    LIMIT,
    Worktree,
    base_of,
    checked_out,
    count,
    delete_branch,
    discard_worktree,
    find_worktree,
    is_branch_name,
    require_success,
    set_base,
)
from gshtui.tools.git.worktree import list_worktrees as all_of
from gshtui.tools.git.worktree_setup import Consent, no_consent, run_setup

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandboxes import Sandboxes

NAME = ".worktreeinclude"
MOST_FILES = 20_000
MOST_BYTES = 2 << 30


class Copied(msgspec.Struct):
    """What was copied, and a sentence for each file that was not."""

    files: list[str] = msgspec.field(default_factory=list[str])
    notes: list[str] = msgspec.field(default_factory=list[str])


async def included_names(main: Path, limit: float = LIMIT) -> list[str]:
    """The main worktree's untracked files that its `.worktreeinclude` names, relative; none without that file."""
    file = main / NAME
    if file.is_symlink() or not file.is_file():
        return []
    listing = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={NAME}")
    answer = await git(main, *listing, timeout=limit)
    require_success(answer, f"git cannot read {NAME}")
    # A folder with a slash is a repository of its own, not a file of this one.
    return [name for name in answer.out.split("\0") if name and not name.endswith("/")]


async def copy_included(main: Path, tree: Path, limit: float = LIMIT) -> Copied:
    """Copy the named files; a single file never raises. Raises `CommandError` when git fails."""
    names = await included_names(main, limit)
    return await asyncio.to_thread(_copy, main, tree, names) if names else Copied()


def _copy(main: Path, tree: Path, names: list[str]) -> Copied:
    done = Copied()
    left = MOST_BYTES
    for name in names:
        if len(done.files) >= MOST_FILES or left <= 0:
            done.notes.append(
                f"{NAME} names too many files: {count(len(names) - len(done.files), 'file')} "
                f"{'was' if len(names) - len(done.files) == 1 else 'were'} not copied."
            )
            break
        source, target = main / name, tree / name
        try:
            size = _copy_one(source, target, tree, left)
        except OSError as error:
            done.notes.append(f"{_shown(name)} was not copied: {error.strerror or error}.")
            continue
        if size is not None:
            left -= size
            done.files.append(name)
    if len(done.notes) > 5:
        done.notes[5:] = [f"{count(len(done.notes) - 5, 'more file was', 'more files were')} not copied."]
    return done


def _copy_one(source: Path, target: Path, tree: Path, left: int) -> int | None:
    """Return the size of the copied file, or `None` if something is there already."""
    found = source.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is a link or not a regular file")
    if found.st_size > left:
        raise OSError(0, f"it has {found.st_size:,} bytes")
    if os.path.lexists(target):
        return None
    # The branch may have a link where the main worktree has a folder.
    parent = target.parent
    make_folders(parent)
    if not parent.resolve().is_relative_to(tree.resolve()):
        raise OSError(0, "a link leads out of the worktree")
    shutil.copy2(source, target, follow_symlinks=False)
    return found.st_size


def is_unchanged_copy(main: Path, tree: Path, name: str) -> bool:
    """Return whether the main worktree has the identical file, so that nothing is lost with the worktree's."""
    ours, theirs = tree / name, main / name
    try:
        if ours.is_symlink() or theirs.is_symlink():
            return False
        mine, other = ours.stat(), theirs.stat()
        if mine.st_size != other.st_size:
            return False
        if mine.st_mtime_ns == other.st_mtime_ns:
            return True  # as it was copied
        with ours.open("rb") as a, theirs.open("rb") as b:
            while block := a.read(1 << 20):
                if block != b.read(1 << 20):
                    return False
    except OSError:
        return False
    return True


def _shown(name: str) -> str:
    return one_line(literal(name), limit=200)


INSIDE = Path(".gsh") / "worktrees"
"""Where worktrees are kept in a repository, if not beside it."""


def place_for(cwd: Path, branch: str, *, inside: bool = False, at: Path | None = None) -> Path:
    """Return the real folder for a branch's worktree. Looks at the disk. Raises `CommandError`: there is no repository,
    the branch name is invalid, or the folder is in use or not writable.
    """
    if not branch:
        raise CommandError("create needs a branch.", hint="Give the name of a new or an existing branch.")
    if not is_branch_name(branch):
        raise CommandError(
            f"{one_line(literal(branch))} is not a valid branch name.", hint="Use letters, digits and - _ . / only."
        )
    project = find_project(cwd)
    if project.git_dir is None:
        raise CommandError(f"{cwd} is not in a git repository.", hint="Run git init first.")
    root = _main_root(project.root, project.git_dir) if project.worktree else project.root
    word = branch.replace("/", "-")
    chosen = at or (root / INSIDE / word if inside else root.parent / f"{root.name}-{word}")
    real = chosen.resolve()
    own = inside and at is None and real.is_relative_to(root.resolve() / INSIDE)
    if not own and (why := sensitive_paths.guarded(real)):
        raise CommandError(f"{one_line(literal(str(real)))} cannot hold a worktree.", hint=why)
    if real.exists() and (not real.is_dir() or any(real.iterdir())):
        hint = "Choose another path."
        raise CommandError(f"{one_line(literal(str(real)))} already exists and is not empty.", hint=hint)
    return real


def _main_root(root: Path, git_dir: Path) -> Path:
    """Return the main worktree of a linked one: new worktrees go beside the main one, whichever creates them."""
    if root.parent.parts[-2:] == INSIDE.parts:
        return root.parent.parent.parent
    main = git_dir.parent.parent  # <main>/.git/worktrees/<name>
    return main.parent if main.name == ".git" else root


async def create_worktree(
    project: Path,
    branch: str,
    *,
    inside: bool = False,
    at: Path | None = None,
    base: str = "",
    setup: Sequence[str] = (),
    consent: Consent = no_consent,
    agreed: bool = False,
    output: Path | None = None,
    sandboxes: Sandboxes | None = None,
    limit: float = LIMIT,
) -> Worktree:
    """Create a worktree for a branch, new or existing; anything else worth saying is in its `notes`.

    Args:
        project: a folder of the repository.
        inside: under `.gsh/worktrees` of the repository, instead of beside it.
        at: the folder for it, instead of either.
        base: what a new branch starts from; empty: what is checked out in `project`.
        setup: command to run in it, only if `consent` (or `agreed`) allows it.
        output: folder that keeps what the command prints.
        sandboxes: gives the sandbox that the command runs in.
        limit: seconds for one git call.

    Raises `CommandError`: it cannot be created; nothing of it is left behind.
    """
    place = await asyncio.to_thread(place_for, project, branch, inside=inside, at=at)
    trees = await all_of(project, limit)
    for tree in trees:
        if tree.branch == branch:
            raise CommandError(f"{branch} is already checked out at {tree.shown}.", hint="Work there.")
    main = Path(trees[0].path)
    if inside and at is None:
        await asyncio.to_thread(ignore_inside, main)
    name = f"refs/heads/{branch}"
    there = await git(project, "show-ref", "--verify", "--quiet", name, timeout=limit)
    if there.code not in (0, 1):
        require_success(there, "git cannot say which branches there are")
    new = there.code == 1
    start = await base_of(Worktree(str(project)), base, limit) if base and new else ""
    tip = (await git(project, "rev-parse", "--verify", "--quiet", f"{start or 'HEAD'}^{{commit}}", timeout=limit)).out
    notes: list[str] = []
    try:
        await _add(project, branch, place, start, new=new, limit=limit)
        made = await find_worktree(project, path=place, limit=limit)
        if new and (start := base or await checked_out(project, limit)):
            await set_base(project, branch, start, limit)
        copied = await copy_included(main, place, limit)
        if copied.files:
            notes.append(f"{count(len(copied.files), 'file')} of {NAME} copied.")
        notes += copied.notes
        if setup:
            ran = await run_setup(setup, place, consent, agreed=agreed, output=output, sandboxes=sandboxes)
            notes.append(ran.note)
    except BaseException:
        await asyncio.shield(_discard(project, place, branch if new else "", tip.strip(), limit))
        raise
    return replace(made, path=str(place), new_branch=new, notes=tuple(notes))


async def _discard(project: Path, place: Path, branch: str, tip: str, limit: float) -> None:
    """Take back what there is of it: git may have refused the folder, and made the branch before."""
    if (place / ".git").exists():
        await discard_worktree(project, place, branch, tip, limit)
    elif branch and tip:
        with contextlib.suppress(CommandError):
            await delete_branch(project, branch, tip, limit)


async def _add(project: Path, branch: str, place: Path, start: str, *, new: bool, limit: float) -> None:
    """Have git create it."""
    what = ("-b", branch, "--", str(place), *([start] if start else [])) if new else ("--", str(place), branch)
    require_success(await git(project, "worktree", "add", *what, timeout=limit), "git cannot create the worktree")


def ignore_inside(main: Path) -> None:
    """Keep git from treating the worktrees in the repository as its files."""
    folder = main / INSIDE
    try:
        make_folders(folder)
        if not folder.resolve().is_relative_to(main.resolve()):
            raise CommandError(
                f"{INSIDE} is a link that leads out of the repository.", hint="Remove it, or set place = 'beside'."
            )
        with (folder / ".gitignore").open("x", encoding="utf-8") as file:
            file.write("*\n")
    except FileExistsError:
        return
    except OSError as error:
        raise CommandError(f"Cannot create {INSIDE}: {error.strerror or error}.") from error
