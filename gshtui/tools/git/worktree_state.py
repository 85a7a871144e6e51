"""The state of a worktree, what would be lost with it, and its removal, which names exactly what was lost."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import CommandError
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import (
    LIMIT,
    Worktree,
    base_of,
    count,
    find_worktree,
    list_worktrees,
    number_in,
    require_success,
)
from gshtui.tools.git.worktree_create import included_names, is_unchanged_copy

_NAMED, _DEEP = 3, 5
"""Names that are listed; and how deep submodules of submodules are looked into."""


class WorktreeState(msgspec.Struct, frozen=True):
    """`uncommitted`: paths that are new or differ from the last commit. `unpushed`: commits that exist nowhere else."""

    uncommitted: tuple[str, ...] = ()
    unpushed: int = 0
    changed_copies: tuple[str, ...] = ()
    """Files copied in by `.worktreeinclude` that now differ from the main worktree's."""
    in_submodules: tuple[str, ...] = ()
    """What would be lost with its submodules, one phrase each."""
    base: str = ""
    ahead: int = 0
    behind: int = 0

    @property
    def losses(self) -> list[str]:
        """What would be lost with the worktree, one sentence each."""
        said: list[str] = []
        if self.uncommitted:
            said.append(f"{count(len(self.uncommitted), 'uncommitted file')} ({_names(self.uncommitted)})")
        if self.unpushed:
            said.append(
                f"{count(self.unpushed, 'commit')} that {_are(self.unpushed)} not on any other branch or remote"
            )
        if self.changed_copies:
            differ = count(len(self.changed_copies), "copied file that differs", "copied files that differ")
            said.append(f"{differ} from the main tree ({_names(self.changed_copies)})")
        return [*said, *self.in_submodules]


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


async def state_of(tree: Worktree, base: str = "", limit: float = LIMIT) -> WorktreeState:
    """Read the whole state. Raises `CommandError` if git cannot tell."""
    now = await losing(tree, limit)
    try:
        against = await base_of(tree, base, limit)
    except CommandError:
        if base:
            raise
        return now
    sides = ("rev-list", "--left-right", "--count", f"{against}...HEAD", "--")
    answer = await git(Path(tree.path), *sides, timeout=limit)
    require_success(answer, f"git cannot compare {tree.shown} with {against}")
    sizes = re.fullmatch(r"([0-9]{1,18})\s+([0-9]{1,18})\s*", answer.out)
    if sizes is None:
        raise CommandError(f"git cannot compare {tree.shown} with {against}: it printed no numbers.")
    return replace(now, base=against, ahead=int(sizes[2]), behind=int(sizes[1]))


async def losing(tree: Worktree, limit: float = LIMIT) -> WorktreeState:
    """Read the part of the state that would be lost with the worktree; empty if its folder is gone."""
    if tree.gone:
        return WorktreeState()
    copies = () if tree.main else tuple(await changed_copies_of(tree, limit))
    modules = [] if tree.main else await _lost_in_submodules(Path(tree.path), limit)
    return WorktreeState(
        tuple(await uncommitted_of(tree, limit)), await unpushed_of(tree, limit), copies, tuple(modules)
    )


async def _lost_in_submodules(folder: Path, limit: float, depth: int = _DEEP) -> list[str]:
    """What would be lost with each submodule that is filled: the repositories of a worktree's go with the worktree."""
    listed = await git(folder, "ls-files", "-z", "--stage", timeout=limit)
    require_success(listed, f"git cannot list what {folder.name} contains")
    names = [entry.partition("\t")[2] for entry in listed.out.split("\0") if entry.startswith("160000 ")]
    lost: list[str] = []
    for name in names:
        module = folder / name
        if not await asyncio.to_thread((module / ".git").exists):
            continue
        shown = one_line(literal(name), limit=100)
        status = await git(module, "status", "--porcelain", "-z", "--untracked-files=all", timeout=limit)
        require_success(status, f"git cannot tell the state of the submodule {shown}")
        if changed := sum(len(entry) > 3 for entry in status.out.split("\0")):
            lost.append(f"{count(changed, 'uncommitted file')} in the submodule {shown}")
        question = ("rev-list", "--count", "--all", "--not", "--remotes", "--tags")  # stashes are among all
        found = await git(module, *question, timeout=limit)
        if commits := number_in(found, f"git cannot count the commits of the submodule {shown}"):
            lost.append(f"{count(commits, 'commit')} in the submodule {shown} that {_are(commits)} on no remote")
        if depth > 1:
            lost += [f"{each} (in {shown})" for each in await _lost_in_submodules(module, limit, depth - 1)]
    return lost


async def changed_copies_of(tree: Worktree, limit: float = LIMIT) -> list[str]:
    """Ignored files that `.worktreeinclude` names and that differ from the main worktree's, for people."""
    main, folder = Path((await list_worktrees(Path(tree.path), limit))[0].path), Path(tree.path)
    names = await included_names(main, limit)
    if not names:
        return []
    ignored = await git(folder, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", timeout=limit)
    ours = set(ignored.out.split("\0"))
    there = [name for name in names if name in ours]
    differing = await asyncio.to_thread(lambda: [name for name in there if not is_unchanged_copy(main, folder, name)])
    return [one_line(literal(name), limit=200) for name in differing]


async def uncommitted_of(tree: Worktree, limit: float = LIMIT) -> list[str]:
    """Paths, for people. Excludes copies that are identical in the main worktree."""
    folder = Path(tree.path)
    status = await git(folder, "status", "--porcelain", "-z", "--untracked-files=all", timeout=limit)
    require_success(status, f"git cannot tell the state of {tree.shown}")
    names: list[str] = []
    main = Path((await list_worktrees(folder, limit))[0].path)
    entries = iter(status.out.split("\0"))
    for entry in entries:
        if not entry:
            continue
        kind, name = entry[:2], entry[3:]
        if "R" in kind or "C" in kind:
            next(entries, "")  # the path before a rename
        if kind == "??" and not tree.main and await asyncio.to_thread(is_unchanged_copy, main, folder, name):
            continue
        names.append(one_line(literal(name), limit=200))
    return names


async def unpushed_of(tree: Worktree, limit: float = LIMIT) -> int:
    """Count commits that are in no other branch, under no tag and on no remote."""
    others = (f"--exclude={tree.branch}", "--branches") if tree.branch else ("--branches",)
    question = ("rev-list", "--count", "HEAD", "--not", *others, "--remotes", "--tags")
    answer = await git(Path(tree.path), *question, timeout=limit)
    return number_in(answer, f"git cannot count the commits of {tree.shown}")


async def losses_of(tree: Worktree, limit: float = LIMIT) -> list[str]:
    """What would be lost with the worktree, one phrase each; nothing if everything exists elsewhere."""
    return (await losing(tree, limit)).losses


async def unsaved_work(folder: Path) -> list[str]:
    """Uncommitted or unpushed work in the worktree at this folder, one sentence each. Raises `CommandError`: git cannot
    tell, which does not mean that there is none.
    """
    if not folder.is_dir():
        return []
    tree = await find_worktree(folder, limit=LIMIT)
    where = tree.branch or tree.shown
    return [f"Its worktree {where} has {loss}." for loss in await losses_of(tree)]


class RemovedWorktree(msgspec.Struct, frozen=True):
    """A removed worktree. `lost`: what existed nowhere else, one phrase each."""

    tree: Worktree
    lost: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        gone = f" Lost with it: {' and '.join(self.lost)}." if self.lost else ""
        kept = f" The branch {self.tree.branch} is kept." if self.tree.branch else ""
        return f"Removed the worktree at {self.tree.shown}.{gone}{kept}"


async def remove_worktree(tree: Worktree, cwd: Path, *, force: bool = False, limit: float = LIMIT) -> RemovedWorktree:
    """Remove it. `cwd`: the caller's folder; `force`: even if something is lost.

    Raises `CommandError`: it must not be removed, or git cannot; it is then still there.
    """
    if tree.main:
        raise CommandError(f"{tree.shown} is the repository's main working tree and cannot be removed.")
    if cwd.resolve().is_relative_to(Path(tree.path).resolve()):
        raise CommandError(f"{tree.shown} is your current folder; it can only be removed from another one.")
    lost = tuple(await losses_of(tree, limit))
    if lost and not force:
        raise CommandError(
            f"{tree.shown} has {' and '.join(lost)}.",
            hint="Commit and push, or set force=true to lose it.",
            data={"path": tree.path, "branch": tree.branch, "unsaved": list(lost)},
        )
    main = Path((await list_worktrees(cwd, limit))[0].path)
    if tree.gone:
        require_success(await git(main, "worktree", "prune", timeout=limit), "git cannot drop the worktree")
        return RemovedWorktree(tree)
    forced = ("--force",) if force else ()
    answer = await git(main, "worktree", "remove", *forced, "--", tree.path, timeout=limit)
    if answer.code and not force and not await losses_of(tree, limit):
        # git counts a copy that is identical in the main worktree as a loss; we do not.
        answer = await git(main, "worktree", "remove", "--force", "--", tree.path, timeout=limit)
    require_success(answer, "git cannot remove the worktree")
    return RemovedWorktree(tree, lost)
