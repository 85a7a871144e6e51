"""A folder's project and git branch, read from a few small files without running git.

Never raises: unreadable facts are left out.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec


def project_name(cwd: Path) -> str:
    """The name of the nearest folder upwards that contains `.git`, or of this folder; safe to print on a terminal."""
    return _shown((_git_folder(cwd) or cwd).name or str(cwd))


def branch(cwd: Path) -> str:
    """The branch that is checked out, or a short commit hash; empty outside git."""
    root = _git_folder(cwd)
    git_dir = _git_dir(root)[0] if root is not None else None
    return _shown(_branch(git_dir)) if git_dir is not None else ""


def _git_folder(cwd: Path) -> Path | None:
    try:
        return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    except OSError:
        return None


def _shown(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text)[:80]


_MOST = 4096


class Project(msgspec.Struct, frozen=True):
    """A project's root and what is known of its git state."""

    root: Path
    """Real path. Without a repository, the folder itself."""
    branch: str = ""
    """Branch, or the first characters of the commit when none is checked out; empty without a repository."""
    git_dir: Path | None = None
    """Where this worktree's HEAD is kept."""
    worktree: bool = False
    """Whether it is a linked worktree of a repository elsewhere."""


def find_project(folder: Path) -> Project:
    """Find the project around a folder: the nearest git worktree upwards, or the folder itself.

    A repository that contains the whole home folder (or the whole disk) does not make all of it one project.
    """
    folder = Path(os.path.realpath(folder))
    home = Path(os.path.realpath(os.path.expanduser("~")))  # noqa: PTH111 - Path.home() raises without a home
    for root in (folder, *folder.parents):
        git_dir, linked = _git_dir(root)
        if git_dir is None:
            continue
        if root != folder and home.is_relative_to(root):
            break
        return Project(root, _branch(git_dir), git_dir, linked)
    return Project(folder)


def tracked_files(cwd: Path) -> int:
    """How many files git tracks in the repository around this folder, as its index says; 0: none, or unknown."""
    root = _git_folder(cwd)
    git_dir = _git_dir(root)[0] if root is not None else None
    try:
        with (git_dir / "index" if git_dir is not None else Path(os.devnull)).open("rb") as index:
            head = index.read(12)
    except OSError:
        return 0
    return int.from_bytes(head[8:12], "big") if head[:4] == b"DIRC" else 0


def _git_dir(root: Path) -> tuple[Path | None, bool]:
    """Where the worktree's HEAD is, and whether the worktree is a linked one."""
    entry = root / ".git"
    if (entry / "HEAD").is_file():
        return entry, False
    line = _first_line(entry)
    if not line.startswith("gitdir: "):
        return None, False
    place = root / line.removeprefix("gitdir: ")
    if not (place / "HEAD").is_file():
        return None, False
    return Path(os.path.realpath(place)), place.parent.name == "worktrees"


def _branch(git_dir: Path) -> str:
    head = _first_line(git_dir / "HEAD")
    if head.startswith("ref: "):
        return head.removeprefix("ref: ").removeprefix("refs/heads/")
    return head[:8] if all(digit in "0123456789abcdef" for digit in head) else ""


def _first_line(file: Path) -> str:
    """The first line of a small ordinary file, or nothing."""
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            line = opened.readline(_MOST)
    except OSError:
        return ""
    text = line.decode("utf-8", "replace").strip()
    return text if text.isprintable() else ""
