"""Finish a worktree: its branch goes into the one it grew from, then the worktree and the branch are removed.

Everything is first done on paper: the merge is made as objects that no branch refers to. Conflicts and files in the way
are found there, while both sides are unchanged; then the base moves in one step, to a commit that contains its own.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from gshtui.commands.declaration import CommandError
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree import (
    Worktree,
    base_of,
    copied_index,
    count,
    delete_branch,
    index_of,
    list_worktrees,
    number_in,
    require_success,
)
from gshtui.tools.git.worktree_create import is_unchanged_copy
from gshtui.tools.git.worktree_setup import Consent, no_consent, run_teardown
from gshtui.tools.git.worktree_state import losing, remove_worktree, uncommitted_of

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandboxes import Sandboxes

How = Literal["merge", "squash", "rebase"]
"""merge: a fast-forward where that suffices, else a merge commit. squash: one commit. rebase: its commits, anew."""
_AGAIN = "Finish it again."


class FinishPlan(msgspec.Struct, frozen=True):
    """What finishing a worktree would do; nothing of it has been done."""

    tree: Worktree
    base: str
    into: Worktree | None
    """The worktree that has the base checked out; `None`: none has."""
    start: str
    """The commit that the base is at."""
    tip: str
    """The commit of the branch; one with the uncommitted files, on paper, where they are to be committed."""
    result: str
    """The commit that the base will be at."""
    commits: int
    """Commits of the branch that the base does not have."""
    uncommitted: tuple[str, ...] = ()
    """Files that are committed first."""
    lost: tuple[str, ...] = ()
    """What goes with the worktree and is not part of the merge, one phrase each."""
    same: tuple[str, ...] = ()
    """Files whose uncommitted changes in the base's worktree are exactly what the merge brings."""

    @property
    def text(self) -> str:
        """What will be done, in a sentence or two."""
        first = f"{count(len(self.uncommitted), 'uncommitted file')} will be committed. " if self.uncommitted else ""
        move = f"{count(self.commits, 'commit')} of {self.tree.branch} will be in {self.base}"
        kept = f"{self.base} already has everything of {self.tree.branch}"
        return f"{first}{move if self.commits else kept}; the worktree {self.tree.shown} and its branch are removed."


class FinishedWorktree(msgspec.Struct, frozen=True):
    """A finished worktree."""

    branch: str
    base: str
    path: str
    commits: int
    commit: str
    """Where the base is now."""
    tip: str
    """The last commit of the removed branch."""
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        are = "is" if self.commits == 1 else "are"
        done = f"{count(self.commits, 'commit')} of {self.branch} {are} in {self.base}, now at {self.commit[:8]}"
        same = f"Everything of {self.branch} was in {self.base} already"
        gone = f"the worktree {one_line(literal(self.path), 4096)} and the branch (at {self.tip[:8]}) are removed"
        return " ".join((f"{done if self.commits else same}; {gone}.", *self.notes))


async def plan_finish(
    tree: Worktree, *, base: str = "", how: How = "merge", message: str = "", commit: bool = False
) -> FinishPlan:
    """Do it all on paper.

    Args:
        base: the branch to merge into; empty: the one that the worktree's branch grew from.
        message: of the commit that is made: of the uncommitted files, of the merge, of the squashed commits.
        commit: uncommitted files are to be committed first.

    Raises `CommandError`: it cannot be finished, and why: uncommitted files, conflicts, files in the way.
    """
    if tree.main or tree.gone:
        what = "is the repository's main working tree" if tree.main else "no longer exists"
        raise CommandError(f"{tree.shown} {what}, so it cannot be finished.")
    if not tree.branch:
        raise CommandError(f"{tree.shown} is not on a branch.", hint="Create one there first: `git switch -c NAME`.")
    folder = Path(tree.path)
    against = await base_of(tree, base)
    start = await _commit_of(folder, f"refs/heads/{against}")
    if not start:
        raise CommandError(f"{against} is not a branch, so nothing can be merged into it.", hint="Name one: --into.")
    unmerged = await git(folder, "diff", "--name-only", "--diff-filter=U", "-z")
    if conflicts := [one_line(literal(name), limit=200) for name in unmerged.out.split("\0") if name]:
        raise CommandError(
            f"{tree.shown} is in the middle of a merge, with conflicts in {_listed(conflicts)}; nothing was merged.",
            hint="Resolve them there first.",
            data={"conflicts": conflicts},
        )
    names = tuple(await uncommitted_of(tree))
    if names and not commit:
        raise CommandError(
            f"{tree.shown} has {count(len(names), 'uncommitted file')} ({_listed(names)}); nothing was merged.",
            hint="Commit first, or let it be done: commit=true message=…, in a shell --commit -m MESSAGE.",
            data={"uncommitted": list(names)},
        )
    if names and not message.strip():
        raise CommandError("The commit needs a message.", hint="Add -m MESSAGE.")
    tip = await _commit_of(folder, "HEAD")
    if names:
        tip = await _paper_commit(tree, message)
    ahead = await git(folder, "rev-list", "--count", f"{start}..{tip}")
    commits = number_in(ahead, f"git cannot compare {tree.branch} with {against}")
    result = await _merged(folder, start, tip, tree.branch, against, how, message) if commits else start
    same: tuple[str, ...] = ()
    into = next((one for one in await list_worktrees(folder) if one.branch == against and not one.gone), None)
    if into is not None:
        same = await _must_be_free(into, start, result)
    lost = (await losing(tree)).changed_copies
    gone = (f"{count(len(lost), 'copied file that differs', 'copied files that differ')} ({_listed(lost)})",)
    return FinishPlan(tree, against, into, start, tip, result, commits, names, gone if lost else (), same)


async def finish_worktree(
    plan: FinishPlan,
    *,
    how: How = "merge",
    message: str = "",
    teardown: Sequence[str] = (),
    consent: Consent = no_consent,
    agreed: bool = False,
    output: Path | None = None,
    sandboxes: Sandboxes | None = None,
) -> FinishedWorktree:
    """Do what was planned, if nothing has changed since.

    Args:
        teardown: command to run in the worktree before it is removed, only if `consent` (or `agreed`) allows it.
        output: folder that keeps the command's output.
        sandboxes: gives the sandbox that the command runs in; where none works it runs without.

    Raises `CommandError`: something has changed since, or a step failed. The message says what was done before.
    """
    tree, folder = plan.tree, Path(plan.tree.path)
    main = Path((await list_worktrees(folder))[0].path)
    now = await plan_finish(tree, base=plan.base, how=how, message=message, commit=bool(plan.uncommitted))
    if now.uncommitted:
        # The commit is there already, and so are its files: only the branch and the index follow.
        moved = await git(folder, "reset", "--quiet", "--mixed", now.tip)
        require_success(moved, "git cannot commit; nothing was merged")
    if now.commits:
        await _move(now)
    done = f"{tree.branch} is merged into {plan.base}, but {tree.shown} was not removed"
    notes: list[str] = []
    torn_down = False
    if left := await uncommitted_of(tree):
        raise CommandError(f"{done}: {_uncommitted(left)}.", hint=_AGAIN)
    if teardown:
        ran = await run_teardown(teardown, folder, consent, agreed=agreed, output=output, sandboxes=sandboxes)
        if ran.ran and not ran.ok:
            raise CommandError(f"{done}. {ran.note}", hint="Mend that and finish it again, or use --no-teardown.")
        torn_down = ran.ran
        notes.append(ran.note)
    try:
        left = await uncommitted_of(tree)
        if left and not torn_down:
            raise CommandError(_uncommitted(left))
        if left:  # by the command; a commit that no branch refers to keeps it for a while
            kept = await _paper_commit(tree, f"What the tear-down command of {tree.branch} left")
            notes.append(f"The tear-down command left {_listed(left)}, which `git show {kept[:8]}` shows.")
        if await _commit_of(folder, "HEAD") != now.tip:
            raise CommandError("a commit was added meanwhile")
        # Every commit and file is in the base now; what else would be lost, the plan has named.
        await remove_worktree(tree, main, force=True)
    except CommandError as error:
        raise CommandError(f"{done}: {error.message.rstrip('.')}.", hint=_AGAIN) from error
    if not await delete_branch(main, tree.branch, now.tip):
        notes.append(f"The branch {tree.branch} was kept, since it has moved on.")
    return FinishedWorktree(tree.branch, plan.base, tree.path, now.commits, now.result, now.tip, tuple(notes))


async def _commit_of(folder: Path, name: str) -> str:
    answer = await git(folder, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return answer.out.strip() if answer.code == 0 else ""


def _uncommitted(names: Sequence[str]) -> str:
    return f"it has {count(len(names), 'uncommitted file')} ({_listed(names)})"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (" …" if len(names) > 8 else "")


async def _paper_commit(tree: Worktree, message: str) -> str:
    """A commit of all uncommitted files on top of the branch, which stays where it is."""
    folder = Path(tree.path)
    main = Path((await list_worktrees(folder))[0].path)
    new = await git(folder, "ls-files", "-z", "--others", "--exclude-standard")
    untracked = [name for name in new.out.split("\0") if name]
    copies = await asyncio.to_thread(lambda: [name for name in untracked if is_unchanged_copy(main, folder, name)])
    async with copied_index(folder) as index:
        added = await git(folder, "add", "--all", "--", ":/", index=index)
        require_success(added, "git cannot add the uncommitted files")
        for at in range(0, len(copies), 200):
            # What is untracked in the main worktree too, and the same, is no work of this one.
            some = [f":(top,literal){name}" for name in copies[at : at + 200]]
            # Forced, as it otherwise looks into submodules; the index is a copy.
            left = await git(folder, "rm", "--cached", "--force", "--quiet", "--", *some, index=index)
            require_success(left, "git cannot leave out the copied files")
        files = await git(folder, "write-tree", index=index)
        require_success(files, "git cannot write the uncommitted files")
    return await _commit_tree(folder, files.out.strip(), ("HEAD",), message)


async def _commit_tree(folder: Path, tree: str, parents: Sequence[str], message: str) -> str:
    words = [word for parent in parents for word in ("-p", parent)]
    made = await git(folder, "commit-tree", tree, *words, "-m", message)
    require_success(made, "git cannot commit")
    return made.out.strip()


async def _merged(folder: Path, start: str, tip: str, branch: str, base: str, how: How, message: str) -> str:
    """The commit that has both sides. Raises `CommandError` with the files that conflict."""
    forward = await git(folder, "merge-base", "--is-ancestor", start, tip)
    if forward.code == 0 and how == "merge":
        return tip
    tree = await _paper_merge(folder, start, tip, branch, base)
    if how == "rebase":
        return await _rebased(folder, start, tip, tree, branch, base)
    if how == "squash":
        return await _commit_tree(folder, tree, (start,), message or f"{branch}, squashed")
    return await _commit_tree(folder, tree, (start, tip), message or f"Merge branch '{branch}'")


async def _paper_merge(folder: Path, ours: str, theirs: str, branch: str, base: str) -> str:
    """The merged files, as a tree that nothing refers to yet."""
    words = ("merge-tree", "--write-tree", "-z", "--no-messages", "--name-only", "--allow-unrelated-histories")
    answer = await git(folder, *words, ours, theirs)
    tree, *names = [part for part in answer.out.split("\0") if part] or [""]
    if answer.code == 1 and tree:
        shown = [one_line(literal(name), limit=200) for name in names]
        raise CommandError(
            f"{branch} and {base} conflict in {_listed(shown)}; nothing was merged.",
            hint=f"Merge {base} into {branch} in its worktree, resolve it there, and finish it again.",
            data={"conflicts": shown},
        )
    if answer.code:
        said = "it needs git 2.38 or newer" if "usage" in answer.error else answer.error
        raise CommandError(f"git cannot test the merge of {branch} into {base}: {said}.")
    return tree


async def _rebased(folder: Path, start: str, tip: str, merged: str, branch: str, base: str) -> str:
    """The branch's commits on top of the base, one after the other, with their authors and words. `merged`: the files
    as a merge has them, which are also what must come out of this.
    """
    listed = await git(folder, "rev-list", "--reverse", "--topo-order", "--no-merges", f"{start}..{tip}")
    require_success(listed, f"git cannot list the commits of {branch}")
    at = start
    for commit in listed.out.split():
        parent = await _commit_of(folder, f"{commit}^")
        before = parent or await _empty_tree(folder)
        # Two commits that have only the parent's files in common: what they differ in is what is merged.
        root = await _commit_tree(folder, f"{before}^{{tree}}" if parent else before, (), "root")
        ours = await _commit_tree(folder, f"{at}^{{tree}}", (root,), "ours")
        theirs = await _commit_tree(folder, f"{commit}^{{tree}}", (root,), "theirs")
        tree = await _paper_merge(folder, ours, theirs, branch, base)
        same = await git(folder, "rev-parse", f"{at}^{{tree}}")
        if same.out.strip() == tree:
            continue  # the base has it already
        at = await _recommitted(folder, commit, tree, at)
    files = await git(folder, "rev-parse", f"{at}^{{tree}}")
    if files.out.strip() != merged:
        raise CommandError(
            f"A rebase of {branch} onto {base} would not keep what its merge commits changed; nothing was merged.",
            hint="Finish it without --rebase.",
        )
    return at


async def _empty_tree(folder: Path) -> str:
    made = await git(folder, "hash-object", "-t", "tree", "-w", os.devnull)
    require_success(made, "git cannot write")
    return made.out.strip()


async def _recommitted(folder: Path, commit: str, tree: str, parent: str) -> str:
    """The same commit with other files and another parent."""
    shown = await git(folder, "show", "-s", "--format=%an%x00%ae%x00%ad%x00%B", "--date=raw", commit)
    require_success(shown, f"git cannot read {commit[:8]}")
    name, email, date, message = shown.out.split("\0", 3)
    author = {"GIT_AUTHOR_NAME": name, "GIT_AUTHOR_EMAIL": email, "GIT_AUTHOR_DATE": date}
    made = await git(folder, "commit-tree", tree, "-p", parent, "-m", message.rstrip("\n"), env=author)
    require_success(made, "git cannot commit")
    return made.out.strip()


async def _must_be_free(into: Worktree, start: str, result: str) -> tuple[str, ...]:
    """Raise `CommandError` if the base's worktree has changes of its own in files that the merge changes.

    Returns:
        Files whose uncommitted changes there are exactly what the merge brings.
    """
    folder = Path(into.path)
    answers = [
        await git(folder, *words)
        for words in (
            ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", start, result, "--"),
            ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "HEAD", "--"),
            ("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--cached", "HEAD", "--"),
            ("ls-files", "-z", "--others"),
        )
    ]
    for answer in answers:
        require_success(answer, f"git cannot tell the state of {into.shown}")
    changed, *own = ({name for name in answer.out.split("\0") if name} for answer in answers)
    taken = own[0] | own[1] | own[2]
    clash = {name for name in changed if name in taken or any(one.startswith(f"{name}/") for one in taken)}
    clash |= {one for one in taken for name in changed if one.startswith(f"{name}/") or name.startswith(f"{one}/")}
    same = await _same_in(folder, sorted(clash), result) if clash else set[str]()
    if clash - same:
        shown = [one_line(literal(name), limit=200) for name in sorted(clash - same)]
        raise CommandError(
            f"{into.shown} has changes of its own in {_listed(shown)}; nothing was merged.",
            hint="Commit or remove them first.",
            data={"in_the_way": shown},
        )
    return tuple(sorted(same))


async def _same_in(folder: Path, names: Sequence[str], commit: str) -> set[str]:
    """Those of the names at which the worktree has exactly what the commit has."""
    async with copied_index(folder) as index:
        await _stage(folder, names, index)
        words = ("diff", "--cached", "--name-only", "-z", "--no-renames", commit, "--")
        staged = await git(folder, *words, index=index)
        require_success(staged, "git cannot compare the files")
    return set(names) - {name for name in staged.out.split("\0") if name}


async def _stage(folder: Path, names: Sequence[str], index: Path | None = None) -> None:
    """Bring an index up to the worktree at these names."""
    for at in range(0, len(names), 200):
        some = [f":(top,literal){name}" for name in names[at : at + 200]]
        # Names that are neither in the index nor on disk match nothing, and need nothing.
        await git(folder, "add", "--all", "--force", "--", *some, index=index)


async def _move(plan: FinishPlan) -> None:
    """Bring the base to the result; either all of it or nothing."""
    failed = f"git cannot bring {plan.base} to the merged commit; nothing was merged"
    if plan.into is None:
        reference = f"refs/heads/{plan.base}"
        words = ("update-ref", "-m", f"finish {plan.tree.branch}", reference, plan.result, plan.start)
        require_success(await git(Path(plan.tree.path), *words), failed)
        return
    folder = Path(plan.into.path)
    async with copied_index(folder) as before:
        await _stage(folder, plan.same)  # for git, what is not staged is in the way even where it is the same
        moved = await git(folder, "merge", "--ff-only", "--no-stat", "--quiet", plan.result)
        if moved.code and plan.same:
            await asyncio.to_thread(shutil.copyfile, before, await index_of(folder))
    require_success(moved, failed)
