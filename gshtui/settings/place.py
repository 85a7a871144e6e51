"""Where a folder is: the project's name and the git branch, from two small files at most.

Refuses to run git, and to fail: no branch is an answer. Called by the hub, and by the window for its first frame.
"""

from __future__ import annotations

from pathlib import Path


def project_name(cwd: Path) -> str:
    """The last part of the folder that holds `.git` above this one, or of this one; nothing in it steers a terminal."""
    return _shown((_git_folder(cwd) or cwd).name or str(cwd))


def branch(cwd: Path) -> str:
    """The branch that is checked out, or the beginning of a commit's hash; empty outside of git."""
    root = _git_folder(cwd)
    if root is None:
        return ""
    try:
        git = root / ".git"
        if git.is_file():  # a worktree or submodule: the file says where its folder is
            git = root / git.read_text("utf-8").removeprefix("gitdir:").strip()
        head = (git / "HEAD").read_text("utf-8")[:500].strip()
    except (OSError, UnicodeDecodeError):
        return ""
    return _shown(head.removeprefix("ref: refs/heads/")) if head.startswith("ref:") else _shown(head[:8])


def _git_folder(cwd: Path) -> Path | None:
    try:
        return next((folder for folder in (cwd, *cwd.parents) if (folder / ".git").exists()), None)
    except OSError:
        return None


def _shown(text: str) -> str:
    return "".join(letter if letter.isprintable() else "�" for letter in text)[:80]
