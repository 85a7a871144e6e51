"""A worktree's changes against its base: listed, merged back, or written as a patch file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from gshtui.commands.declaration import CommandError
from gshtui.text.sanitise import literal, one_line
from gshtui.text.unified_diff import FilePatch, parse_diff
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import (
    LIMIT,
    Worktree,
    base_of,
    copied_index,
    count,
    list_worktrees,
    number_in,
    require_success,
)
from gshtui.tools.git.worktree_state import uncommitted_of

PLAIN = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--full-index"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"),
)

MOST_NEW = 100_000_000
"""Bytes of new files that are compared together; where there are more, the largest are only listed."""
_MOST_LEFT_OUT = 1_000
_MADE = ("__pycache__", "node_modules", ".egg-info", ".venv")
"""Folders that programs fill, whose files come last."""


class WorktreeChanges(msgspec.Struct, frozen=True):
    """A worktree's changes. `cut`: there are more than fit."""

    tree: Worktree
    base: str
    commit: str
    """Where branch and base diverge."""
    files: tuple[FilePatch, ...] = ()
    cut: bool = False

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def removed(self) -> int:
        return sum(file.removed for file in self.files)

    @property
    def summary(self) -> str:
        """`3 files, +12 −4, against main`."""
        more = ", and more than can be shown" if self.cut else ""
        return f"{count(len(self.files), 'file')}, +{self.added} −{self.removed}, against {self.base}{more}"

    def plain(self) -> dict[str, Any]:
        """The changes as data, for scripts and faces."""
        return {
            "path": self.tree.shown,
            "branch": self.tree.branch,
            "base": self.base,
            "commit": self.commit,
            "added": self.added,
            "removed": self.removed,
            "cut": self.cut,
            "files": [file.plain() for file in self.files],
        }


async def changes_of(tree: Worktree, base: str = "", limit: float = LIMIT) -> WorktreeChanges:
    """Return what the worktree has now that its base did not have where they diverged.

    With no base asked for and none known, it is compared with its last commit. Raises `CommandError`: there is no such
    base, or git cannot compare.
    """
    folder = Path(tree.path)
    try:
        against = await base_of(tree, base, limit)
        commit = await merge_base(tree, against, limit)
    except CommandError:
        if base:
            raise
        against, commit = await _last_commit(folder, limit)
    large = await _large_new_files(folder, limit)
    async with with_new_files(folder, limit, but=[file.path for file in large]) as index:
        answer = await git(folder, "diff", *PLAIN, commit, "--", timeout=limit, index=index)
    require_success(answer, f"git cannot compare {tree.shown} with {against}")
    text = answer.out.rpartition("\n")[0] if answer.cut else answer.out
    files = await asyncio.to_thread(parse_diff, text)
    ordered = sorted((*files, *large), key=lambda file: any(f"{name}/" in file.path for name in _MADE))
    return WorktreeChanges(tree, against, commit, tuple(ordered), answer.cut)


async def _large_new_files(folder: Path, limit: float) -> list[FilePatch]:
    """The new files that are not compared, the largest first: git would read each whole, whatever is in it."""
    listed = await git(folder, "ls-files", "--others", "--exclude-standard", "-z", timeout=limit)
    require_success(listed, "git cannot look at the new files")

    def look() -> list[FilePatch]:
        found: list[tuple[int, int, str]] = []
        for name in listed.out.split("\0"):
            with contextlib.suppress(OSError):
                about = os.lstat(os.path.join(folder, name))  # noqa: PTH118 - there may be many thousands
                found += [(about.st_size, about.st_mtime_ns, name)] if stat.S_ISREG(about.st_mode) else []
        total = sum(size for size, _, _ in found)
        large: list[FilePatch] = []
        for size, at, name in sorted(found, reverse=True)[:_MOST_LEFT_OUT]:
            if total <= MOST_NEW:
                break
            total -= size
            large.append(FilePatch(name, status="added", binary=True, index=f"{size} {at}", too_large=size))
        return large

    return await asyncio.to_thread(look)


async def _last_commit(folder: Path, limit: float) -> tuple[str, str]:
    """The last commit, or in a repository without one the empty tree; its name for people and its id."""
    head = await git(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}", timeout=limit)
    if head.code == 0:
        return "HEAD", head.out.strip()
    empty = await git(folder, "hash-object", "-t", "tree", os.devnull, timeout=limit)
    require_success(empty, "git cannot look at this repository")
    return "an empty repository", empty.out.strip()


async def merge_base(tree: Worktree, base: str, limit: float = LIMIT) -> str:
    """Return the commit where the worktree's branch and its base diverge."""
    answer = await git(Path(tree.path), "merge-base", "HEAD", base, timeout=limit)
    if answer.code == 1:
        return base  # no common ancestor: compare with the base as it is
    require_success(answer, f"git cannot find where {tree.shown} and {base} diverge")
    return answer.out.strip()


@asynccontextmanager
async def with_new_files(folder: Path, limit: float = LIMIT, *, but: Sequence[str] = ()) -> AsyncGenerator[Path]:
    """A copy of the worktree's index that includes untracked files, `but` these; removed after the block."""
    left_out = [f":(exclude,top,literal){name}" for name in but]
    async with copied_index(folder, limit) as index:
        added = await git(folder, "add", "--intent-to-add", "--", ":/", *left_out, timeout=limit, index=index)
        require_success(added, "git cannot look at the new files")
        yield index


class MergeResult(msgspec.Struct, frozen=True):
    """Result of a merge."""

    branch: str
    base: str
    into: str
    commits: int
    commit: str


async def merge_target(tree: Worktree, base: str = "", limit: float = LIMIT) -> Worktree:
    """Return the worktree to merge into: the one that has the base checked out. Raises `CommandError`: none has."""
    against = await base_of(tree, base, limit)
    for other in await list_worktrees(Path(tree.path), limit):
        if other.branch == against and not other.gone:
            return other
    hint = "Check it out in one of the worktrees, or use action=patch."
    raise CommandError(f"{against} is not checked out anywhere, so nothing can be merged into it.", hint=hint)


async def merge_worktree(tree: Worktree, base: str = "", limit: float = LIMIT) -> MergeResult:
    """Merge the worktree's branch into its base, where that is checked out. Raises `CommandError`: either side has
    uncommitted changes, there is nothing to merge, or it conflicts; both sides are then unchanged.
    """
    if not tree.branch:
        raise CommandError(f"{tree.shown} is not on a branch; create one there first.")
    target = await merge_target(tree, base, limit)
    await _must_be_clean(tree, "commit it there first, or it would not be part of the merge", limit)
    await _must_be_clean(target, "commit or remove its changes first", limit, untracked=False)
    into = Path(target.path)
    waiting = await git(into, "rev-list", "--count", f"{target.branch}..{tree.branch}", "--", timeout=limit)
    commits = number_in(waiting, f"git cannot compare {tree.branch} with {target.branch}")
    if not commits:
        raise CommandError(f"{tree.branch} has nothing that {target.branch} does not have.")
    words = ("--no-edit", "--no-stat", "-m", f"Merge branch '{tree.branch}'")
    answer = await git(into, "merge", *words, f"refs/heads/{tree.branch}", timeout=limit)
    if answer.code:
        await _take_back(tree, target, answer.error, limit)
    head = await git(into, "rev-parse", "HEAD", timeout=limit)
    return MergeResult(tree.branch, target.branch, target.path, commits, head.out.strip())


async def _must_be_clean(tree: Worktree, hint: str, limit: float, *, untracked: bool = True) -> None:
    if untracked:
        names = await uncommitted_of(tree, limit)
    else:
        changed = await git(Path(tree.path), "diff", "--name-only", "-z", "--no-ext-diff", "HEAD", "--", timeout=limit)
        require_success(changed, f"git cannot tell the state of {tree.shown}")
        names = [one_line(literal(name)) for name in changed.out.split("\0") if name]
    if names:
        listed = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        raise CommandError(
            f"{tree.shown} has {count(len(names), 'uncommitted file')} ({listed}).",
            hint=f"{hint[:1].upper()}{hint[1:]}.",
        )


async def _take_back(tree: Worktree, target: Worktree, said: str, limit: float) -> None:
    """Undo a failed merge and raise the reason."""
    into = Path(target.path)
    unmerged = await git(into, "diff", "--name-only", "--diff-filter=U", "-z", timeout=limit)
    names = [one_line(literal(name), limit=200) for name in unmerged.out.split("\0") if name]
    begun = await git(into, "rev-parse", "--verify", "--quiet", "MERGE_HEAD", timeout=limit)
    if begun.code == 0:
        undone = await git(into, "merge", "--abort", timeout=limit)
        require_success(undone, f"The merge failed, and {target.shown} is left in the middle of it: git cannot undo it")
    if names:
        listed = ", ".join(names[:8]) + (" …" if len(names) > 8 else "")
        raise CommandError(
            f"{tree.branch} and {target.branch} conflict in {listed}; nothing was changed.",
            hint=f"Merge {target.branch} into {tree.branch} in {tree.shown}, resolve it there, and try again.",
            data={"conflicts": names},
        )
    raise CommandError(f"git cannot merge {tree.branch} into {target.branch}: {said or 'it gave no reason'}.")


def patch_place(tree: Worktree, main: Worktree, at: Path | None = None) -> Path:
    """Return the file to write a patch to. Raises `CommandError` if it already exists."""
    word = (tree.branch or tree.commit[:8]).replace("/", "-")
    root = Path(main.path)
    file = at or root.parent / f"{root.name}-{word}.patch"
    if os.path.lexists(file):
        raise CommandError(f"{one_line(literal(str(file)))} already exists.", hint="Choose another path.")
    return file


async def write_patch(tree: Worktree, file: Path, base: str = "", limit: float = LIMIT) -> int:
    """Write all of the worktree's changes against its base, committed or not, for `git apply`.

    Returns:
        The size in bytes.

    Raises `CommandError`: there is nothing to write, the file exists, or it cannot be written.
    """
    against = await base_of(tree, base, limit)
    commit = await merge_base(tree, against, limit)
    folder = Path(tree.path)
    try:
        with tempfile.TemporaryDirectory(prefix=".gsh-patch-", dir=file.parent) as name:
            whole = Path(name) / "patch"
            async with with_new_files(folder, limit) as index:
                options = (*PLAIN, "--binary", f"--output={whole}")
                answer = await git(folder, "diff", *options, commit, "--", timeout=limit, index=index)
            require_success(answer, f"git cannot compare {tree.shown} with {against}")
            size = whole.stat().st_size
            if not size:
                raise CommandError(f"{tree.shown} has no changes against {against}.")
            await asyncio.to_thread(os.link, whole, file)  # never overwrite a file; write all of it or nothing
    except OSError as error:
        shown = one_line(literal(str(file)))
        raise CommandError(f"Cannot write {shown}: {error.strerror or error}.") from error
    return size
