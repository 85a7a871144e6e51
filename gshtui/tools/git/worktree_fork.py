"""Fork a working tree: a second one on a new branch, with the same commit, index and files, uncommitted ones too.

The original is only read: its index is copied before git touches it, and files are copied byte for byte. Ignored files
stay where they are, except those that `.worktreeinclude` names.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
import threading
from pathlib import Path

from msgspec.structs import replace

from gshtui.commands.declaration import CommandError
from gshtui.system.processes.process_limits import make_folders
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import (
    Worktree,
    copied_index,
    count,
    discard_worktree,
    find_worktree,
    index_of,
    is_branch_name,
    list_worktrees,
    require_success,
    set_base,
)
from gshtui.tools.git.worktree_create import copy_included, ignore_inside, place_for

_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}


async def free_branch(folder: Path, wished: str) -> str:
    """The wished name, or the first of `wished-2`, `wished-3` … that no branch has. Raises `CommandError`: the folder
    is not in a repository, or the name is invalid.
    """
    if not is_branch_name(wished):
        raise CommandError(f"{wished[:80]!r} is not a valid branch name.", hint="Use letters, digits and - _ . / only.")
    listed = await git(folder, "for-each-ref", "--format=%(refname)", "refs/heads")
    require_success(listed, "git cannot list the branches")
    taken = {name.removeprefix("refs/heads/") for name in listed.out.split("\n")}

    def fits(name: str) -> bool:
        # A branch a/b keeps git from having a branch a, and the other way round.
        return not any(name == one or one.startswith(f"{name}/") or name.startswith(f"{one}/") for one in taken if one)

    number, name = 1, wished
    while not fits(name):
        number += 1
        name = f"{wished}-{number}"
        if number > len(taken) + 2:
            raise CommandError(f"A branch keeps git from having one named {wished}.", hint="Choose another name.")
    return name


async def fork_worktree(source: Path, branch: str, *, inside: bool = False) -> Worktree:
    """A new worktree on a new branch, equal to the one that contains `source`; what it lacks is in its `notes`.

    Args:
        inside: under `.gsh/worktrees` of the repository, instead of beside it.

    Raises `CommandError`: it cannot be made; nothing of it is left behind.
    """
    tree = await find_worktree(source)
    top = Path(tree.path)
    head = await git(top, "rev-parse", "--verify", "--quiet", "HEAD")
    if head.code:
        raise CommandError(f"{tree.shown} has no commit yet, so it cannot be forked.", hint="Commit something first.")
    commit = head.out.strip()
    if await free_branch(top, branch) != branch:
        raise CommandError(f"There is already a branch {branch}.", hint="Choose another name.")
    place = await asyncio.to_thread(place_for, top, branch, inside=inside)
    main = Path((await list_worktrees(top))[0].path)
    if inside:
        await asyncio.to_thread(ignore_inside, main)
    try:
        added = await git(top, "worktree", "add", "--no-checkout", "-b", branch, "--", str(place), commit)
        require_success(added, "git cannot create the worktree")
        notes = await _fill(top, place)
        await set_base(top, branch, tree.branch or commit)
        made = await find_worktree(top, path=place)
    except OSError as error:
        await asyncio.shield(discard_worktree(main, place, branch, commit))
        raise CommandError(f"Cannot copy the files of {tree.shown}: {error.strerror or error}.") from error
    except BaseException:
        await asyncio.shield(discard_worktree(main, place, branch, commit))
        raise
    return replace(made, path=str(place), new_branch=True, notes=tuple(notes))


async def _fill(top: Path, place: Path) -> list[str]:
    """Give the new worktree the index and the files of the original. Returns notes."""
    await _copy_index(top, place)
    staged = await git(top, "ls-files", "-z", "--stage")
    new = await git(top, "ls-files", "-z", "--others", "--exclude-standard")
    for answer in (staged, new):
        require_success(answer, "git cannot list the files")
        if answer.cut:
            raise CommandError("There are too many files to fork this worktree.", hint="Fork without a worktree.")
    names, modules = [name for name in new.out.split("\0") if name], list[str]()
    for entry in filter(None, staged.out.split("\0")):
        facts, _, name = entry.partition("\t")
        (modules if facts.startswith("160000") else names).append(name)
    names, inner = [name for name in names if not name.endswith("/")], [name for name in names if name.endswith("/")]
    stop = threading.Event()
    copying = asyncio.ensure_future(asyncio.to_thread(_copy_all, top, place, dict.fromkeys(names), modules, stop))
    try:
        await asyncio.shield(copying)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait([copying])  # what it would still write could not be taken back
        raise
    # The copies have other inode numbers; git compares their contents now instead of at every later look.
    await git(place, "update-index", "-q", "--really-refresh")
    notes = (await copy_included(top, place)).notes
    if modules:
        notes.append(f"{count(len(modules), 'submodule')} left empty; `git submodule update --init` fills them.")
    if inner:
        notes.append(
            f"{count(len(inner), 'repository', 'repositories')} within it not copied ({', '.join(inner[:3])})."
        )
    for name, what in _UNDER_WAY.items():
        where = await git(top, "rev-parse", "--path-format=absolute", "--git-path", name)
        if not where.code and os.path.lexists(where.out.removesuffix("\n")):
            notes.append(f"The {what} that is under way in the original is not under way in the fork.")
            break
    return notes


async def _copy_index(top: Path, place: Path) -> None:
    theirs = await index_of(place)
    async with copied_index(top) as index:
        if not await asyncio.to_thread(index.exists):
            return
        # A split index refers to a file beside the original; caches refer to the original's folder.
        whole = ("--no-split-index", "--no-untracked-cache", "--no-fsmonitor")
        require_success(await git(top, "update-index", *whole, index=index), "git cannot copy the index")
        await asyncio.to_thread(shutil.copyfile, index, theirs)


def _copy_all(top: Path, place: Path, names: dict[str, None], modules: list[str], stop: threading.Event) -> None:
    """Copy these files as they are now; one that is not there is deleted in the original, or just went away."""
    made: set[Path] = set()
    for name in names:
        if stop.is_set():
            return
        source, target = top / name, place / name
        try:
            kind = source.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)) or not _is_below(top, source.parent):
            continue  # a folder or a link to one has taken the place of what git knows
        if target.parent not in made:
            make_folders(target.parent)
            made.add(target.parent)
        with contextlib.suppress(FileNotFoundError):
            shutil.copy2(source, target, follow_symlinks=False)
    for name in modules:
        make_folders(place / name)


def _is_below(top: Path, folder: Path) -> bool:
    """Whether no part of the way to a folder is a link."""
    while folder != top:
        if folder.is_symlink():
            return False
        folder = folder.parent
    return True
