"""What a worktree holds against its base: committed, uncommitted and new files together, as files and hunks.

Changes nothing: new files are looked at through an index of our own. Called for `action=diff`, and by the patch.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gshtui.tools.git import git
from gshtui.tools.worktrees.patch import FileChange, files_of
from gshtui.tools.worktrees.tree import LIMIT, Worktree, base_of, count, must

PLAIN = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--full-index"),
    *("--src-prefix=a/", "--dst-prefix=b/", "--submodule=short"),
)


@dataclass(frozen=True, slots=True)
class Changes:
    """A worktree's changes. `cut`: there is more than could be taken."""

    tree: Worktree
    base: str
    commit: str
    """Where branch and base part."""
    files: tuple[FileChange, ...] = ()
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
        """As data for scripts and faces."""
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


async def changes_of(tree: Worktree, base: str = "", limit: float = LIMIT) -> Changes:
    """What the worktree holds now that its base did not when they parted.

    Raises:
        CommandError: there is no base, or git cannot compare.
    """
    against = await base_of(tree, base, limit)
    commit = await parting(tree, against, limit)
    folder = Path(tree.path)
    async with with_new_files(folder, limit) as index:
        answer = await git(folder, "diff", *PLAIN, commit, "--", timeout=limit, index=index)
    must(answer, f"git cannot compare {tree.shown} with {against}")
    text = answer.out.rpartition("\n")[0] if answer.cut else answer.out
    files = await asyncio.to_thread(files_of, text)
    return Changes(tree, against, commit, tuple(files), answer.cut)


async def parting(tree: Worktree, base: str, limit: float = LIMIT) -> str:
    """The commit where the worktree's branch and its base part."""
    answer = await git(Path(tree.path), "merge-base", "HEAD", base, timeout=limit)
    if answer.code == 1:
        return base  # no common past: compare with the base as it is
    must(answer, f"git cannot say where {tree.shown} and {base} part")
    return answer.out.strip()


@asynccontextmanager
async def with_new_files(folder: Path, limit: float = LIMIT) -> AsyncGenerator[Path]:
    """A copy of the worktree's index that knows its untracked files too; gone behind the block."""
    where = await git(folder, "rev-parse", "--path-format=absolute", "--git-path", "index", timeout=limit)
    must(where, "git cannot say where its index is")
    with tempfile.TemporaryDirectory(prefix="gsh-index-") as name:
        index = Path(name) / "index"
        own = Path(where.out.removesuffix("\n"))
        if own.exists():
            await asyncio.to_thread(shutil.copyfile, own, index)
        added = await git(folder, "add", "--intent-to-add", "--", ":/", timeout=limit, index=index)
        must(added, "git cannot look at the new files")
        yield index
