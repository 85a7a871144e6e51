"""Copying what `.worktreeinclude` names into a new worktree: files that git does not track, such as `.env`.

Refuses links, whatever leads out of either folder, and more than the limits below; never writes over a file. Called
when a worktree is made. The file has gitignore's syntax, which git itself reads.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

from gshtui.guard.sanitise import literal, one_line
from gshtui.tools.git import git
from gshtui.tools.worktrees.tree import LIMIT, count, must

NAME = ".worktreeinclude"
MOST_FILES = 20_000
MOST_BYTES = 2 << 30


@dataclass(slots=True)
class Copied:
    """What was copied, and a sentence for each thing that was not."""

    files: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])


async def named(main: Path, limit: float = LIMIT) -> list[str]:
    """The untracked files of the main tree that its `.worktreeinclude` names, relative; none without that file."""
    file = main / NAME
    if file.is_symlink() or not file.is_file():
        return []
    listing = ("ls-files", "-z", "--others", "--ignored", f"--exclude-from={NAME}")
    answer = await git(main, *listing, timeout=limit)
    must(answer, f"git cannot read {NAME}")
    # A folder with a slash is a repository of its own, and no file of this one.
    return [name for name in answer.out.split("\0") if name and not name.endswith("/")]


async def copy_included(main: Path, tree: Path, limit: float = LIMIT) -> Copied:
    """Copy what is named; never raises for a single file. Raises `CommandError` when git fails."""
    names = await named(main, limit)
    return await asyncio.to_thread(_copy, main, tree, names) if names else Copied()


def _copy(main: Path, tree: Path, names: list[str]) -> Copied:
    done = Copied()
    left = MOST_BYTES
    for name in names:
        if len(done.files) >= MOST_FILES or left <= 0:
            done.notes.append(
                f"{NAME} names too much: {count(len(names) - len(done.files), 'file')} of it "
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
    """The size of what was copied; `None` where there is something already."""
    found = source.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, "it is a link or no ordinary file")
    if found.st_size > left:
        raise OSError(0, f"it has {found.st_size:,} bytes")
    if os.path.lexists(target):
        return None
    # The branch may hold a link where the main tree has a folder.
    parent = target.parent
    parent.mkdir(parents=True, exist_ok=True)
    if not parent.resolve().is_relative_to(tree.resolve()):
        raise OSError(0, "a link leads out of the worktree")
    shutil.copy2(source, target, follow_symlinks=False)
    return found.st_size


def unchanged(main: Path, tree: Path, name: str) -> bool:
    """Whether the main tree has the very same file, so that nothing is lost with the worktree's."""
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
