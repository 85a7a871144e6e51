"""The one next step for the folder in which a window is opened, where there is a better one than just to begin.

Reads what a listing of the folder and git's index say, and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from gshtui.settings import git_info
from gshtui.text.sanitise import one_line

LARGE = 20_000
"""Tracked files from which on a repository is large."""
_NOTHING = frozenset({".git", ".DS_Store"})


def from_home(cwd: Path, environ: Mapping[str, str]) -> str:
    """The folder's path, from `~` where it is in your home."""
    home = environ.get("HOME", "").rstrip("/")
    inside = home and f"{cwd}/".startswith(f"{home}/")
    return one_line(f"~{str(cwd)[len(home) :]}" if inside else str(cwd), 400)


def first_step(cwd: Path, environ: Mapping[str, str]) -> str:
    """What is special here, and in a line of its own what to do; empty: nothing is special. Blocks."""
    home = environ.get("HOME", "")
    if home and os.path.realpath(cwd) == os.path.realpath(home):
        return "File changes are not shown in your home folder.\nStart in a project: cd PROJECT, then gsh-tui."
    try:
        with os.scandir(cwd) as listed:
            is_empty = all(entry.name in _NOTHING for entry in listed)
    except PermissionError:
        return "This folder cannot be listed.\nStart in one that you may read."
    except OSError:
        return ""
    if is_empty:
        return "This folder is empty. Say what to build here."
    files = git_info.tracked_files(cwd)
    if files >= LARGE:
        return f"{files:,} files are tracked here.\nName the part you mean with @FOLDER, or start gsh-tui in it."
    if environ.get("SSH_CONNECTION"):
        return "You are connected by SSH.\nIf the line drops, gsh-tui -c continues here."
    return ""
