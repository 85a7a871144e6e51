"""Worktrees as git lists them, valid branch names, and the branch that another grew from.

Never guesses: what git cannot say is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gshtui.commands.declaration import CommandError
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.git.git import GitAnswer, git

LIMIT = 60.0
"""Time limit of one git call, in seconds."""
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+/-]{0,199}")


class Worktree(msgspec.Struct, frozen=True):
    """One working tree, as git lists it."""

    path: str
    branch: str = ""
    commit: str = ""
    main: bool = False
    locked: bool = False
    gone: bool = False
    """Its folder no longer exists."""
    new_branch: bool = False
    """The branch was created with it."""
    notes: tuple[str, ...] = ()
    """Sentences a person should read about its creation."""

    @property
    def shown(self) -> str:
        """The path for people, sanitised."""
        return one_line(literal(self.path), limit=4096)


async def list_worktrees(folder: Path, limit: float = LIMIT) -> list[Worktree]:
    """List all worktrees of the folder's repository, the main one first. Raises `CommandError`: the folder is not in a
    repository.
    """
    answer = await git(folder, "worktree", "list", "--porcelain", "-z", timeout=limit)
    require_success(answer, "git cannot list the worktrees")
    trees: list[Worktree] = []
    for block in answer.out.split("\0\0"):
        tree = _tree(block, first=not trees)
        if tree.path:
            trees.append(tree)
    if not trees:
        raise CommandError("git cannot list the worktrees: it printed none.")
    return trees


def _tree(block: str, *, first: bool) -> Worktree:
    tree = Worktree("", main=first)
    for line in block.strip("\0").split("\0"):
        name, _, value = line.partition(" ")
        match name:
            case "worktree":
                tree = replace(tree, path=value)
            case "HEAD":
                tree = replace(tree, commit=value)
            case "branch":
                tree = replace(tree, branch=value.removeprefix("refs/heads/"))
            case "locked":
                tree = replace(tree, locked=True)
            case "prunable":
                tree = replace(tree, gone=True)
            case _:
                pass
    return tree


async def find_worktree(folder: Path, *, path: Path | None = None, branch: str = "", limit: float = LIMIT) -> Worktree:
    """Find the worktree at a path, on a branch or, with neither, the one that contains the folder.
    Raises `CommandError`: none matches.
    """
    trees = await list_worktrees(folder, limit)
    if path is None and not branch:
        top = await git(folder, "rev-parse", "--show-toplevel", timeout=limit)
        path = path_in(top, "git cannot say which worktree this is")
    for tree in trees:
        if (Path(tree.path).resolve() == path.resolve()) if path else (tree.branch == branch):
            return tree
    asked = one_line(literal(str(path or branch)))
    raise CommandError(
        f"There is no worktree {asked}.", hint=known_names("worktrees", (tree.shown for tree in trees[1:]))
    )


def is_branch_name(name: str) -> bool:
    """Return whether git accepts the name, using only characters that no shell or tool misreads."""
    if not _BRANCH.fullmatch(name) or ".." in name or "//" in name or "@{" in name or name in ("HEAD", "@"):
        return False
    return all(part and not part.startswith(".") and not part.endswith((".lock", ".")) for part in name.split("/"))


async def set_base(folder: Path, branch: str, base: str, limit: float = LIMIT) -> None:
    """Remember what a branch grew from; git forgets it with the branch."""
    await git(folder, "config", "--local", f"branch.{branch}.gshbase", base, timeout=limit)


async def index_of(folder: Path, limit: float = LIMIT) -> Path:
    """The index of the worktree at this folder; it need not exist."""
    where = await git(folder, "rev-parse", "--path-format=absolute", "--git-path", "index", timeout=limit)
    return path_in(where, "git cannot find its index")


@asynccontextmanager
async def copied_index(folder: Path, limit: float = LIMIT) -> AsyncGenerator[Path]:
    """A copy of the worktree's index that can be changed at will; removed after the block."""
    own = await index_of(folder, limit)
    with tempfile.TemporaryDirectory(prefix="gsh-index-") as name:
        index = Path(name) / "index"
        if await asyncio.to_thread(own.exists):
            await asyncio.to_thread(shutil.copyfile, own, index)
        yield index


async def delete_branch(folder: Path, branch: str, commit: str = "", limit: float = LIMIT) -> bool:
    """Delete a branch that no worktree has checked out, and what is configured for it; return whether it was deleted.
    `commit`: only if its tip is still this commit.
    """
    tip = (commit,) if commit else ()
    gone = await git(folder, "update-ref", "-d", f"refs/heads/{branch}", *tip, timeout=limit)
    if gone.code == 0:
        await git(folder, "config", "--local", "--remove-section", f"branch.{branch}", timeout=limit)
    return gone.code == 0


async def discard_worktree(
    project: Path, place: Path, branch: str = "", commit: str = "", limit: float = LIMIT
) -> None:
    """Take a worktree back that was never used: its folder, and its branch unless that has moved on from `commit`.

    Never raises: it runs where something else has failed, and that is what is reported. `branch`: empty: it was there
    before, and stays.
    """
    with contextlib.suppress(CommandError):
        await git(project, "worktree", "remove", "--force", "--force", "--", str(place), timeout=limit)
    await asyncio.to_thread(shutil.rmtree, place, True)
    with contextlib.suppress(CommandError):
        await git(project, "worktree", "prune", timeout=limit)
        if branch:
            await delete_branch(project, branch, commit, limit)


async def checked_out(folder: Path, limit: float = LIMIT) -> str:
    """The branch that is checked out where the folder is, also in a repository without a worktree; empty: none."""
    head = await git(folder, "symbolic-ref", "--quiet", "--short", "HEAD", timeout=limit)
    return head.out.strip() if head.code == 0 else ""


async def base_of(tree: Worktree, asked: str = "", limit: float = LIMIT) -> str:
    """Return what to compare a worktree with: the branch asked for, the one it was made from, or the main worktree's.
    Raises `CommandError`: no such branch or commit, or nothing to choose.
    """
    folder = Path(tree.path)
    for name in (asked,) if asked else await _bases(tree, limit):
        reference = f"{name}^{{commit}}"
        known = await git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", reference, timeout=limit)
        if known.code == 0:
            return name
        if asked:
            raise CommandError(
                f"There is no branch {one_line(literal(asked))} to compare with.", hint="Set base=BRANCH."
            )
    raise CommandError(f"It is unknown what to compare {tree.shown} with.", hint="Set base=BRANCH.")


async def _bases(tree: Worktree, limit: float) -> list[str]:
    folder = Path(tree.path)
    names: list[str] = []
    if tree.branch:
        kept = await git(folder, "config", "--local", "--get", f"branch.{tree.branch}.gshbase", timeout=limit)
        name = kept.out.strip()
        names += [name] if is_branch_name(name) else []
    main = (await list_worktrees(folder, limit))[0]
    names += [main.branch] if main.branch and not tree.main else []
    names += ["origin/HEAD", "main", "master"]
    return [name for name in names if name != tree.branch] or ["HEAD"]


def require_success(answer: GitAnswer, what: str) -> None:
    """Raise `CommandError` with git's own words if it failed."""
    if answer.code:
        raise CommandError(f"{what}: {answer.error or f'exit code {answer.code}'}.")


def number_in(answer: GitAnswer, what: str) -> int:
    """The number that git printed. Raises `CommandError` if it failed or printed anything else."""
    require_success(answer, what)
    text = answer.out.strip()
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise CommandError(f"{what}: it printed no number.")
    return int(text)


def path_in(answer: GitAnswer, what: str) -> Path:
    """The path that git printed. Raises `CommandError` if it failed or printed anything else."""
    require_success(answer, what)
    text = answer.out.removesuffix("\n")
    if not text.startswith("/") or "\0" in text:
        raise CommandError(f"{what}: it printed no path.")
    return Path(text)


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
