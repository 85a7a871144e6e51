"""Taking a worktree away, and saying exactly what went with it.

Refuses while something in it is nowhere else, unless told to; never the main tree, never where one stands. The branch
is always kept. Called by the tool `git_worktree`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gshtui.commands.declaration import CommandError
from gshtui.tools.git import git
from gshtui.tools.worktrees.state import losses_of
from gshtui.tools.worktrees.tree import LIMIT, Worktree, must, worktrees


@dataclass(frozen=True, slots=True)
class Removed:
    """What was taken away. `lost`: what was nowhere else, a phrase each."""

    tree: Worktree
    lost: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        gone = f" Gone with it: {' and '.join(self.lost)}." if self.lost else ""
        kept = f" The branch {self.tree.branch} is kept." if self.tree.branch else ""
        return f"Removed the worktree at {self.tree.shown}.{gone}{kept}"


async def remove_worktree(tree: Worktree, cwd: Path, *, force: bool = False, limit: float = LIMIT) -> Removed:
    """Remove it.

    Args:
        cwd: where the caller stands.
        force: also when something is lost.

    Raises:
        CommandError: it must not be removed, or git cannot; then it is still there.
    """
    if tree.main:
        raise CommandError(f"{tree.shown} is the repository's main working tree and cannot be removed.")
    if cwd.resolve().is_relative_to(Path(tree.path).resolve()):
        raise CommandError(f"{tree.shown} is where you work; it can be removed from another folder only.")
    lost = tuple(await losses_of(tree, limit))
    if lost and not force:
        raise CommandError(
            f"{tree.shown} holds {' and '.join(lost)}.",
            hint="Commit and push it, or set force=true to give it up.",
            data={"path": tree.path, "branch": tree.branch, "unsaved": list(lost)},
        )
    main = Path((await worktrees(cwd, limit))[0].path)
    if tree.gone:
        must(await git(main, "worktree", "prune", timeout=limit), "git cannot forget the worktree")
        return Removed(tree)
    forced = ("--force",) if force else ()
    answer = await git(main, "worktree", "remove", *forced, "--", tree.path, timeout=limit)
    if answer.code and not force and not await losses_of(tree, limit):
        # A copy that the main tree has just so is no loss to us, but one to git.
        answer = await git(main, "worktree", "remove", "--force", "--", tree.path, timeout=limit)
    must(answer, "git cannot remove the worktree")
    return Removed(tree, lost)
