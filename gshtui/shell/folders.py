"""The folders of a project that are worth watching: those that git does not ignore, the nearest to the top first.

Owns the walk, bounded; refuses to follow links and to enter `.git`. Called by `files`, in a thread.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from gshtui.shell.git_rules import FILES, Rules, ignored, rules_above, rules_in

MOST_FOLDERS = 4_000
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
_LISTED = 2_000
"""Files of a new folder that are looked at."""


@dataclass(slots=True)
class Folders:
    """The folders of one look, with the rules that hold in each."""

    root: str
    """Real path of the project."""
    rules: dict[str, tuple[Rules, ...]] = field(default_factory=dict[str, tuple[Rules, ...]])
    """Path of a folder → rules, the outermost first."""
    cut: bool = False
    """There are more folders than are watched."""

    def wants(self, path: str, is_folder: bool) -> bool:
        """Whether a change of this path is worth telling."""
        folder, _, name = path.rpartition("/")
        rules = self.rules.get(folder)
        return rules is not None and name not in _NEVER and not ignored(path, is_folder, rules)

    def changes_rules(self, path: str) -> bool:
        """Whether this file says what is ignored."""
        return path.rpartition("/")[2] in FILES


def look(root: Path, most: int = MOST_FOLDERS) -> Folders:
    """The folders of a project as they are now.

    Raises:
        OSError: the project's folder cannot be read.
    """
    real = os.path.realpath(root)
    os.listdir(real)  # noqa: PTH208 - for its error
    found = Folders(real)
    level: list[tuple[str, tuple[Rules, ...]]] = [(real, rules_above(real))]
    while level:
        below: list[tuple[str, tuple[Rules, ...]]] = []
        for folder, above in level:
            if len(found.rules) >= most:
                found.cut = True
                return found
            try:
                with os.scandir(folder) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name)
            except OSError:
                continue
            rules = (*above, *rules_in(folder, entries))
            found.rules[folder] = rules
            below += [
                (entry.path, rules)
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and entry.name not in _NEVER
                and not ignored(entry.path, True, rules)
            ]
        level = below
    return found


def files_of(folders: Folders, new: set[str]) -> list[str]:
    """Files that stand in folders which nobody watched until now; bounded."""
    found: list[str] = []
    for folder in sorted(new):
        try:
            with os.scandir(folder) as scan:
                found += [
                    entry.path
                    for entry in scan
                    if not entry.is_dir(follow_symlinks=False) and folders.wants(entry.path, False)
                ]
        except OSError:
            continue
        if len(found) >= _LISTED:
            break
    return found[:_LISTED]
