"""Bringing a worktree's work home: merged into its base, or as a patch file that applies anywhere else.

A merge that conflicts is taken back and told file by file; nothing half done stays. Called by the tool `git_worktree`.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.guard.sanitise import literal, one_line
from gshtui.tools.git import git
from gshtui.tools.worktrees.changes import PLAIN, parting, with_new_files
from gshtui.tools.worktrees.state import uncommitted_of
from gshtui.tools.worktrees.tree import LIMIT, Worktree, base_of, count, must, worktrees


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge came to."""

    branch: str
    base: str
    into: str
    commits: int
    commit: str


async def target_of(tree: Worktree, base: str = "", limit: float = LIMIT) -> Worktree:
    """The working tree that a merge would be made in: the one that has the base checked out.

    Raises:
        CommandError: there is none.
    """
    against = await base_of(tree, base, limit)
    for other in await worktrees(Path(tree.path), limit):
        if other.branch == against and not other.gone:
            return other
    hint = "Check it out in one of the worktrees, or use action=patch."
    raise CommandError(f"{against} is checked out nowhere, so nothing can be merged into it.", hint=hint)


async def merge(tree: Worktree, base: str = "", limit: float = LIMIT) -> Merged:
    """Merge the worktree's branch into its base, where that is checked out.

    Raises:
        CommandError: something is not committed on either side, there is nothing to merge, or it conflicts; then both
            are as they were.
    """
    if not tree.branch:
        raise CommandError(f"{tree.shown} is on no branch; make one there first.")
    target = await target_of(tree, base, limit)
    await _must_be_clean(tree, "commit it there first, or it would not be part of the merge", limit)
    await _must_be_clean(target, "commit or take away what is there first", limit, untracked=False)
    into = Path(target.path)
    waiting = await git(into, "rev-list", "--count", f"{target.branch}..{tree.branch}", "--", timeout=limit)
    must(waiting, f"git cannot compare {tree.branch} with {target.branch}")
    commits = int(waiting.out.strip() or 0)
    if not commits:
        raise CommandError(f"{tree.branch} has nothing that {target.branch} does not have.")
    words = ("--no-edit", "--no-stat", "-m", f"Merge branch '{tree.branch}'")
    answer = await git(into, "merge", *words, f"refs/heads/{tree.branch}", timeout=limit)
    if answer.code:
        await _take_back(tree, target, answer.error, limit)
    head = await git(into, "rev-parse", "HEAD", timeout=limit)
    return Merged(tree.branch, target.branch, target.path, commits, head.out.strip())


async def _must_be_clean(tree: Worktree, hint: str, limit: float, *, untracked: bool = True) -> None:
    if untracked:
        names = await uncommitted_of(tree, limit)
    else:
        changed = await git(Path(tree.path), "diff", "--name-only", "-z", "--no-ext-diff", "HEAD", "--", timeout=limit)
        must(changed, f"git cannot tell the state of {tree.shown}")
        names = [one_line(literal(name)) for name in changed.out.split("\0") if name]
    if names:
        listed = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        raise CommandError(
            f"{tree.shown} holds {count(len(names), 'file')} not committed ({listed}).",
            hint=f"{hint[:1].upper()}{hint[1:]}.",
        )


async def _take_back(tree: Worktree, target: Worktree, said: str, limit: float) -> None:
    """Undo a merge that failed, and say why. Always raises."""
    into = Path(target.path)
    unmerged = await git(into, "diff", "--name-only", "--diff-filter=U", "-z", timeout=limit)
    names = [one_line(literal(name), limit=200) for name in unmerged.out.split("\0") if name]
    begun = await git(into, "rev-parse", "--verify", "--quiet", "MERGE_HEAD", timeout=limit)
    if begun.code == 0:
        undone = await git(into, "merge", "--abort", timeout=limit)
        must(undone, f"The merge failed and {target.shown} is left in the middle of it: git cannot take it back")
    if names:
        listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise CommandError(
            f"{tree.branch} and {target.branch} conflict in {listed}; nothing was changed.",
            hint=f"Merge {target.branch} into {tree.branch} in {tree.shown}, resolve it there, and try again.",
            data={"conflicts": names},
        )
    raise CommandError(f"git cannot merge {tree.branch} into {target.branch}: {said or 'it did not say why'}.")


def patch_place(tree: Worktree, main: Worktree, at: Path | None = None) -> Path:
    """The file that a patch would be written to. Raises `CommandError` where something is there."""
    word = (tree.branch or tree.commit[:8]).replace("/", "-")
    root = Path(main.path)
    file = at or root.parent / f"{root.name}-{word}.patch"
    if os.path.lexists(file):
        raise CommandError(f"{one_line(literal(str(file)))} exists already.", hint="Give another path.")
    return file


async def write_patch(tree: Worktree, file: Path, base: str = "", limit: float = LIMIT) -> int:
    """Write all that the worktree holds against its base, committed or not, for `git apply`.

    Returns:
        The size in bytes.

    Raises:
        CommandError: there is nothing to write, the file exists, or it cannot be written.
    """
    against = await base_of(tree, base, limit)
    commit = await parting(tree, against, limit)
    folder = Path(tree.path)
    try:
        with tempfile.TemporaryDirectory(prefix=".gsh-patch-", dir=file.parent) as name:
            whole = Path(name) / "patch"
            async with with_new_files(folder, limit) as index:
                options = (*PLAIN, "--binary", f"--output={whole}")
                answer = await git(folder, "diff", *options, commit, "--", timeout=limit, index=index)
            must(answer, f"git cannot compare {tree.shown} with {against}")
            size = whole.stat().st_size
            if not size:
                raise CommandError(f"{tree.shown} holds nothing that {against} does not have.")
            await asyncio.to_thread(os.link, whole, file)  # never over a file, and whole or not at all
    except OSError as error:
        shown = one_line(literal(str(file)))
        raise CommandError(f"{shown} cannot be written: {error.strerror or error}.") from error
    return size
